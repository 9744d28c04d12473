/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Feeds files of a corpus, and damaged copies of each, to an entry for libFuzzer: replay NAME FILE… */
#include "../tests/tap.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

#define COPIES 400

/* From a buffer of exactly that size, so that a read beyond it is found. */
static void feed(const uint8_t *bytes, size_t count)
{
	uint8_t *copy = malloc(count ? count : 1);

	if (!copy)
		abort();
	memcpy(copy, bytes, count);
	LLVMFuzzerTestOneInput(copy, count);
	free(copy);
}

static void replay(const char *path, int *files)
{
	static uint8_t bytes[65536], damaged[65536];
	FILE *file = fopen(path, "rb");
	size_t count;

	CHECK(file != NULL);
	if (!file)
		return;
	count = fread(bytes, 1, sizeof bytes, file);
	fclose(file);
	++*files;
	feed(bytes, count);
	for (int copy = 0; copy < COPIES && count > 0; copy++) {
		size_t length = copy % 4 ? count : 1 + random_below((uint32_t)count);

		memcpy(damaged, bytes, length);
		for (size_t n = random_below(4); n > 0; n--)
			damaged[random_below((uint32_t)length)] = (uint8_t)random_below(256);
		damaged[random_below((uint32_t)length)] ^= (uint8_t)(1 << random_below(8));
		feed(damaged, length);
	}
}

int main(int argc, char **argv)
{
	int files = 0;

	tap_good = true;
	for (int n = 2; n < argc; n++)
		replay(argv[n], &files);
	CHECK(files > 0);
	printf("%sok 1 - corpus of %s\n1..1\n", tap_good ? "" : "not ", argc > 1 ? argv[1] : "nothing");
	return !tap_good;
}
