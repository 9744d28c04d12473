/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The application's data: LFSR parts in local SRAM, as the frames of AN11053. The parts of successive sequences overlap except
 * for a word, so one stream of words serves a stretch of sequences. The next stretch is computed when it begins, which takes
 * about 0.2 ms once in 256 frames. */
#include "node.h"

#define SEQUENCES 256u
#define MOST_WORDS (WL_LFSR_MAX_BYTES / 4u)
#define WORDS (SEQUENCES + MOST_WORDS - 1)

static uint32_t words[WORDS];
static uint32_t first; /* sequence that begins at words[0], modulo 4096; a multiple of SEQUENCES */

static void compute(uint32_t from)
{
	/* In pieces, because an LFSR part has a longest length. The last piece begins with a sequence of the stretch, because
	 * the stream goes on behind start word 4095. */
	static const uint32_t begins[] = { 0, SEQUENCES / 2, SEQUENCES - 1, WORDS };

	first = from;
	for (unsigned n = 0; n < 3; n++)
		wl_lfsr_fill(from + begins[n], (uint8_t *)(words + begins[n]),
			     4 * (begins[n + 1] - begins[n]));
}

void application_data_init(void)
{
	compute(0);
}

/* A receiver moves only to the next stretch, so that invented sequences do not make it compute. */
const uint8_t *application_data_ready(uint32_t sequence)
{
	uint32_t at = sequence % WL_START_WORDS;

	if (at == (first + SEQUENCES) % WL_START_WORDS && node.trial.asked.direction != WL_TRANSMIT &&
	    node.trial.asked.direction != WL_BOTH)
		compute(at);
	return at - first < SEQUENCES ? (const uint8_t *)(words + (at - first)) : 0;
}

const uint8_t *application_data(void *context, uint32_t sequence, size_t count)
{
	uint32_t at = sequence % WL_START_WORDS;

	(void)context;
	(void)count;
	if (at - first >= SEQUENCES)
		compute(at - at % SEQUENCES);
	return (const uint8_t *)(words + (at - first));
}
