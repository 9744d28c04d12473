/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* What the LPC1768 has beyond board.h: the pin for an oscilloscope, its MAC's rings, the copying DMA, the copy loops. */
#ifndef LPC1768_H
#define LPC1768_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define BOARD_PIN 1u /* P0.0 */

#define EMAC_BUFFER_BYTES 1528u /* a frame with one tag and its FCS, rounded up to 8 bytes */
#define EMAC_TX_SLOTS 9u /* one more than can be in use */
#define EMAC_RX_SLOTS 4u

void board_pin(bool up);

/* Sleep until the serial line has sent all except the last byte of its FIFO. */
void board_uart_flush(void);

/* The low 32 bits of the clock. */
uint32_t board_ticks(void);

/* Start MAC and PHY, and return the address. False where no PHY answers. */
bool emac_init(uint8_t address[6]);

/* Empty both rings, with this many usable transmit descriptors: 2 to 8. Returns the slots of the transmit ring; 0: the MAC's
 * reset did not end. */
uint32_t emac_open(uint32_t descriptors);

/* Whether there is a link; follows its speed and duplex. Asks the PHY, which takes some 50 us. */
bool emac_link(void);

/* Whether the link was up ever since the last call: the PHY latches a loss (IEEE 802.3, 22.2.4.2). */
bool emac_link_held(void);

/* Loop sent frames back, with nothing on the wire. */
void emac_loopback(bool on);

uint8_t *emac_buffer(uint32_t slot);
void emac_describe(uint32_t slot, size_t length);
void emac_start(uint32_t slot);
uint32_t emac_held(void);

/* The oldest good frame, in place, without FCS; 0 if there is none. It stays until emac_done(). */
size_t emac_frame(uint8_t **frame);
void emac_done(void);

/* Send the oldest frame from the slot without a copy: slot and received frame swap their buffers. Then call
 * emac_done(). The slot must be free. */
void emac_swap(uint32_t slot, size_t length);

struct emac_counters {
	uint32_t error_frames; /* with a wrong FCS or a symbol, or longer than a buffer */
	uint32_t no_buffer_events; /* the receive ring was full, or the MAC could not write in time */
	uint32_t underruns; /* of the transmitter */
};

/* Since emac_open(). */
const struct emac_counters *emac_counters(void);

/* Copy by the general purpose DMA, by words: both addresses must be aligned to words, and up to three more bytes are
 * written. */
void gpdma_init(void);
void gpdma_start(uint8_t *to, const uint8_t *from, size_t count);
bool gpdma_busy(void);

/* The copy loops. They round the count up to whole halfwords or words. */
void board_copy_halfwords(uint8_t *to, const uint8_t *from, size_t count);
void board_copy_pointer(uint8_t *to, const uint8_t *from, size_t count);
void board_copy_words(uint8_t *to, const uint8_t *from, size_t count);

/* The loop of `copied`: by halfwords, unless the build names another. */
#ifndef BOARD_COPY
#define BOARD_COPY board_copy_halfwords
#define BOARD_COPY_NAME "halfwords"
#endif

#endif
