/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Runs the generated instructions and prints what they left. */
#include <stdint.h>

void write_text(const char *text);
uint32_t *generated(uint32_t *results);

static uint32_t results[7000];
static char line[10];

int main(void)
{
	const uint32_t *end = generated(results);

	for (const uint32_t *word = results; word < end; word++) {
		for (int n = 0; n < 8; n++) {
			line[n] = "0123456789abcdef"[*word >> (28 - 4 * n) & 15];
		}
		line[8] = '\n';
		write_text(line);
	}
	return 0;
}
