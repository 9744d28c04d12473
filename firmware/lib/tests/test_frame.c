/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The test frame against spec/vectors, and against every damage of a frame. */
#include "tap.h"
#include "wirelab/frame.h"

static const uint8_t node[6] = { 0x02, 0x57, 0x4C, 0, 0, 2 }, tester[6] = { 0x02, 0x57, 0x4C, 0, 0, 1 };
static const struct wl_flow known = { .source_known = true, .source = { 0x02, 0x57, 0x4C, 0, 0, 1 } };
static const char *vectors_path;

static const char *verdict_name(enum wl_verdict verdict)
{
	static const char *const names[] = { "foreign", "header_corrupt", "truncated",
					     "stale",	"corrupted",	  "good" };

	return names[verdict];
}

/* CRC-32 of IEEE 802.3, bit by bit. */
static uint32_t crc32(const uint8_t *bytes, size_t count)
{
	uint32_t crc = 0xFFFFFFFF;

	while (count-- > 0) {
		crc ^= *bytes++;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xEDB88320 : crc >> 1;
	}
	return ~crc;
}

static uint32_t step(uint32_t x)
{
	return x & 0x80000000 ? ((x ^ 0x62) << 1) | 1 : x << 1;
}

static void the_stream_is_that_of_single_steps(void)
{
	uint32_t x = 0xFFFFFFFF;
	uint8_t word[4];

	for (uint32_t at = 0; at < WL_START_WORDS; at++) {
		wl_lfsr_fill(at, word, 4);
		if (!CHECK(((uint32_t)word[0] << 24 | word[1] << 16 | word[2] << 8 | word[3]) == x))
			return;
		EQUAL(wl_lfsr_find(word, 4), at);
		for (int n = 0; n < 32; n++)
			x = step(x);
	}
}

/* "header NAME VERDICT FLAGS STREAM SEQUENCE TIME LFSR HEADER_HEX BYTES CRC32 LFSR_HEX|-" */
static void check_header_vector(char *rest, int *count)
{
	char name[80], verdict[20], header_hex[40], lfsr_hex[200];
	unsigned flags, stream, lfsr, bytes, crc;
	unsigned long long time;
	uint32_t sequence;
	uint8_t data[WL_HEADER_BYTES + WL_LFSR_MAX_BYTES], built[sizeof data];
	struct wl_header header, read;

	if (!CHECK(sscanf(rest, "%79s %19s %u %u %u %llu %u %39s %u %x %199s", name, verdict, &flags, &stream,
			  &sequence, &time, &lfsr, header_hex, &bytes, &crc, lfsr_hex) == 11))
		return;
	++*count;
	header = (struct wl_header){ (uint8_t)flags, (uint8_t)stream, sequence, time, (uint16_t)lfsr };
	EQUAL(tap_hex(header_hex, data, WL_HEADER_BYTES), WL_HEADER_BYTES);
	wl_lfsr_fill(sequence, data + WL_HEADER_BYTES, lfsr);
	if (strcmp(verdict, "good") == 0) {
		EQUAL(crc32(data + WL_HEADER_BYTES, lfsr), crc);
		EQUAL(wl_frame_data(&header, built, sizeof built), WL_HEADER_BYTES + lfsr);
		CHECK(memcmp(built, data, WL_HEADER_BYTES + lfsr) == 0);
		EQUAL(wl_frame_data(&header, built, WL_HEADER_BYTES + lfsr - 1), 0);
	} else if (bytes > 0) {
		EQUAL(tap_hex(lfsr_hex, data + WL_HEADER_BYTES, bytes), bytes);
	}
	if (!CHECK(strcmp(verdict_name(wl_data_judge(data, WL_HEADER_BYTES + bytes, &known, true, &read)),
			  verdict) == 0))
		printf("# vector %s\n", name);
	if (strcmp(verdict, "header_corrupt") != 0)
		CHECK(read.sequence == sequence && read.stream == stream && read.flags == flags &&
		      read.time_ns == time);
}

/* "frame NAME VERDICT HEX" */
static void check_frame_vector(char *rest, int *count)
{
	char name[80], verdict[20];
	int at;
	uint8_t frame[10000];
	struct wl_header header;
	size_t length;

	if (!CHECK(sscanf(rest, "%79s %19s %n", name, verdict, &at) == 2))
		return;
	++*count;
	length = tap_hex(rest + at, frame, sizeof frame);
	if (!CHECK(strcmp(verdict_name(wl_frame_judge(frame, length, &known, &header)), verdict) == 0))
		printf("# frame %s: %s\n", name,
		       verdict_name(wl_frame_judge(frame, length, &known, &header)));
}

static void every_vector_gives_what_it_says(void)
{
	static char line[40000];
	FILE *file = fopen(vectors_path, "r");
	int headers = 0, frames = 0;

	CHECK(file != NULL);
	if (!file)
		return;
	while (fgets(line, sizeof line, file)) {
		if (strncmp(line, "header ", 7) == 0)
			check_header_vector(line + 7, &headers);
		else if (strncmp(line, "frame ", 6) == 0)
			check_frame_vector(line + 6, &frames);
	}
	fclose(file);
	CHECK(headers >= 60);
	CHECK(frames >= 5);
}

static enum wl_verdict judge(const uint8_t *frame, size_t length)
{
	struct wl_header header;

	return wl_frame_judge(frame, length, &known, &header);
}

static void each_damaged_bit_gets_its_name(void)
{
	struct wl_header header = { .stream = 3, .sequence = 4097 };
	uint8_t frame[128];
	size_t at = WL_ETHERNET_HEADER_BYTES;

	EQUAL(wl_frame_ethernet(&header, node, tester, frame, sizeof frame), sizeof frame);
	EQUAL(judge(frame, sizeof frame), WL_GOOD);
	for (size_t bit = 12 * 8; bit < 8 * sizeof frame; bit++) {
		enum wl_verdict wanted = bit < 8 * at			    ? WL_FOREIGN
					 : bit < 8 * (at + WL_HEADER_BYTES) ? WL_HEADER_CORRUPT
									    : WL_CORRUPTED;

		frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
		EQUAL(judge(frame, sizeof frame), wanted);
		frame[bit / 8] ^= (uint8_t)(1 << bit % 8);
	}
	for (size_t length = 0; length < sizeof frame; length++)
		EQUAL(judge(frame, length), length < at			    ? WL_FOREIGN
					    : length < at + WL_HEADER_BYTES ? WL_HEADER_CORRUPT
									    : WL_TRUNCATED);
	for (size_t byte = 6; byte < 12; byte++) {
		frame[byte] ^= 1;
		frame[at] ^= 1;
		EQUAL(judge(frame, sizeof frame), WL_FOREIGN); /* a wrong magic from a stranger */
		frame[at] ^= 1;
		frame[byte] ^= 1;
	}
}

static void content_of_others_is_stale(void)
{
	struct wl_header header = { .sequence = 100 };
	uint8_t frame[128], *lfsr = frame + WL_ETHERNET_HEADER_BYTES + WL_HEADER_BYTES;

	wl_frame_ethernet(&header, node, tester, frame, sizeof frame);
	for (uint32_t other = 0; other < WL_START_WORDS; other += 13) {
		wl_lfsr_fill(other, lfsr, header.lfsr_bytes);
		EQUAL(judge(frame, sizeof frame), other == 100 ? WL_GOOD : WL_STALE);
		lfsr[header.lfsr_bytes - 1] ^= 1;
		EQUAL(judge(frame, sizeof frame), WL_CORRUPTED);
	}
	/* Bytes that change from one stream to another belong to neither. */
	wl_lfsr_fill(50, lfsr, header.lfsr_bytes);
	wl_lfsr_fill(100, lfsr + 48, header.lfsr_bytes - 48u);
	EQUAL(judge(frame, sizeof frame), WL_CORRUPTED);
}

static void sizes_have_limits(void)
{
	static uint8_t frame[10000];
	struct wl_header header = { .sequence = 7 };
	size_t largest = WL_ETHERNET_HEADER_BYTES + WL_HEADER_BYTES + WL_LFSR_MAX_BYTES;

	EQUAL(wl_frame_ethernet(&header, node, tester, frame, 59), 0);
	EQUAL(wl_frame_ethernet(&header, node, tester, frame, largest + 1), 0);
	EQUAL(wl_frame_ethernet(&header, node, tester, frame, 60), 60);
	EQUAL(header.lfsr_bytes, 28);
	EQUAL(wl_frame_ethernet(&header, node, tester, frame, largest), largest);
	EQUAL(judge(frame, largest), WL_GOOD);
	header.lfsr_bytes = WL_LFSR_MAX_BYTES + 1;
	EQUAL(wl_frame_data(&header, frame, sizeof frame), 0);
	wl_header_write(&header, frame);
	EQUAL(wl_data_judge(frame, sizeof frame, &known, true, &header), WL_CORRUPTED);
}

static void streams_and_versions_of_others_are_foreign(void)
{
	struct wl_header header = { .stream = 3, .sequence = 1, .lfsr_bytes = 8 }, read;
	struct wl_flow flow = { .stream_known = true, .stream = 4 };
	uint8_t data[WL_HEADER_BYTES + 8];

	wl_frame_data(&header, data, sizeof data);
	EQUAL(wl_data_judge(data, sizeof data, &flow, true, &read), WL_FOREIGN);
	flow.stream = 3;
	EQUAL(wl_data_judge(data, sizeof data, &flow, true, &read), WL_GOOD);
	data[2] += 0x10; /* version 2, and the checksum that belongs to it */
	data[16] -= 0x10;
	EQUAL(wl_data_judge(data, sizeof data, &flow, true, &read), WL_FOREIGN);
	EQUAL(wl_data_judge(data, 17, &flow, false, &read), WL_FOREIGN);
}

/* Each field of the headers in front is checked: the change and its place. */
static void other_packets_are_foreign(void)
{
	static const struct {
		size_t at;
		uint8_t value;
		enum wl_verdict verdict;
	} changes[] = {
		{ 14, 0x65, WL_FOREIGN }, /* IP version 6 under the EtherType of 4 */
		{ 14, 0x44, WL_FOREIGN }, /* a header of 16 bytes */
		{ 14, 0x4F, WL_FOREIGN }, /* one that leads past the end */
		{ 20, 0x20, WL_FOREIGN }, /* the first of several fragments */
		{ 21, 0x01, WL_FOREIGN }, /* a later fragment */
		{ 20, 0x40, WL_GOOD }, /* "don't fragment" is none */
		{ 23, 6, WL_FOREIGN }, /* TCP */
		{ 37, 0x8C, WL_FOREIGN }, /* another port */
		{ 39, 7, WL_FOREIGN }, /* a datagram shorter than its header */
		{ 39, 8 + 18, WL_TRUNCATED }, /* it is the datagram's length that counts */
		{ 39, 8 + 17, WL_HEADER_CORRUPT },
	};
	struct wl_header header = { .sequence = 5, .lfsr_bytes = 20 };
	uint8_t frame[80] = { [6] = 0x02, 0x57, 0x4C, 0, 0, 1, [12] = 0x08, [14] = 0x45, [23] = 17 };

	frame[36] = WL_UDP_PORT >> 8;
	frame[37] = WL_UDP_PORT & 255;
	frame[39] = 8 + 38;
	EQUAL(wl_frame_data(&header, frame + 42, 38), 38);
	EQUAL(judge(frame, sizeof frame), WL_GOOD);
	for (size_t n = 0; n < sizeof changes / sizeof changes[0]; n++) {
		uint8_t before = frame[changes[n].at];

		frame[changes[n].at] = changes[n].value;
		EQUAL(judge(frame, sizeof frame), changes[n].verdict);
		frame[changes[n].at] = before;
	}
}

int main(int argc, char **argv)
{
	vectors_path = argc > 1 ? argv[1] : "";
	wl_lfsr_init();
	RUN(the_stream_is_that_of_single_steps);
	RUN(every_vector_gives_what_it_says);
	RUN(each_damaged_bit_gets_its_name);
	RUN(content_of_others_is_stale);
	RUN(sizes_have_limits);
	RUN(other_packets_are_foreign);
	RUN(streams_and_versions_of_others_are_foreign);
	return tap_end();
}
