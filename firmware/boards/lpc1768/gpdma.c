/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Memory to memory by the general purpose DMA (UM10360 31). Channel 7 has the lowest priority, as the manual requires for such
 * transfers (31.4.1.7). */
#include "lpc1768.h"
#include "registers.h"

void gpdma_init(void)
{
	PCONP |= PCONP_GPDMA;
	DMACCONFIG = 1;
	DMACINTTCCLEAR = DMA_CHANNEL_7;
	DMACINTERRCLR = DMA_CHANNEL_7;
}

void gpdma_start(uint8_t *to, const uint8_t *from, size_t count)
{
	DMACINTTCCLEAR = DMA_CHANNEL_7;
	DMACINTERRCLR = DMA_CHANNEL_7;
	DMACC7SRCADDR = (uint32_t)from;
	DMACC7DESTADDR = (uint32_t)to;
	DMACC7LLI = 0;
	DMACC7CONTROL = DMA_WORDS | (uint32_t)(count + 3) / 4;
	DMACC7CONFIG = 1; /* memory to memory, no interrupts */
}

bool gpdma_busy(void)
{
	return (DMACENBLDCHNS & DMA_CHANNEL_7) != 0;
}
