/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* Registers of the LPC1768 that this board uses, by their names in NXP UM10360 (chapter in brackets), and of the
 * Cortex-M3 (ARM DDI 0403). */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <stdint.h>

#define REG(address) (*(volatile uint32_t *)(address))
#define REG8(address) (*(volatile uint8_t *)(address))

/* System control (3, 4) */
#define FLASHCFG REG(0x400FC000u)
#define PLL0CON REG(0x400FC080u)
#define PLL0CFG REG(0x400FC084u)
#define PLL0STAT REG(0x400FC088u)
#define PLL0FEED REG(0x400FC08Cu)
#define PCONP REG(0x400FC0C4u)
#define CCLKCFG REG(0x400FC104u)
#define CLKSRCSEL REG(0x400FC10Cu)
#define SCS REG(0x400FC1A0u)
#define PCLKSEL0 REG(0x400FC1A8u)
#define PCONP_GPDMA (1u << 29)
#define PCONP_ENET (1u << 30)
#define SCS_OSCEN (1u << 5)
#define SCS_OSCSTAT (1u << 6)
#define PLL0_ENABLE 1u
#define PLL0_CONNECT 2u
#define PLL0STAT_CONNECTED (1u << 25)
#define PLL0STAT_LOCKED (1u << 26)

/* Pins (8, 9) */
#define PINSEL0 REG(0x4002C000u)
#define PINSEL2 REG(0x4002C008u)
#define PINSEL3 REG(0x4002C00Cu)
#define FIO0DIR REG(0x2009C000u)
#define FIO0SET REG(0x2009C018u)
#define FIO0CLR REG(0x2009C01Cu)

/* UART0 (14) */
#define U0RBR REG(0x4000C000u)
#define U0THR REG(0x4000C000u)
#define U0DLL REG(0x4000C000u)
#define U0IER REG(0x4000C004u)
#define U0DLM REG(0x4000C004u)
#define U0IIR REG(0x4000C008u)
#define U0FCR REG(0x4000C008u)
#define U0LCR REG(0x4000C00Cu)
#define U0LSR REG(0x4000C014u)
#define U0FDR REG(0x4000C028u)
#define U0IER_RBR 1u
#define U0IER_THRE 2u
#define U0LSR_RDR 1u
#define U0LSR_OE 2u
#define U0LSR_THRE (1u << 5)
#define U0FIFO_BYTES 16

/* TIMER0 (21) */
#define T0IR REG(0x40004000u)
#define T0TCR REG(0x40004004u)
#define T0TC REG(0x40004008u)
#define T0PR REG(0x4000400Cu)
#define T0MCR REG(0x40004014u)
#define T0MR0 REG(0x40004018u)
#define T0MR1 REG(0x4000401Cu)
#define T0MR2 REG(0x40004020u)

/* Ethernet (10) */
#define MAC1 REG(0x50000000u)
#define MAC2 REG(0x50000004u)
#define IPGT REG(0x50000008u)
#define IPGR REG(0x5000000Cu)
#define CLRT REG(0x50000010u)
#define MAXF REG(0x50000014u)
#define SUPP REG(0x50000018u)
#define MCFG REG(0x50000020u)
#define MCMD REG(0x50000024u)
#define MADR REG(0x50000028u)
#define MWTD REG(0x5000002Cu)
#define MRDD REG(0x50000030u)
#define MIND REG(0x50000034u)
#define SA0 REG(0x50000040u)
#define SA1 REG(0x50000044u)
#define SA2 REG(0x50000048u)
#define ENET_COMMAND REG(0x50000100u)
#define RXDESCRIPTOR REG(0x50000108u)
#define RXSTATUS REG(0x5000010Cu)
#define RXDESCRIPTORNUMBER REG(0x50000110u)
#define RXPRODUCEINDEX REG(0x50000114u)
#define RXCONSUMEINDEX REG(0x50000118u)
#define TXDESCRIPTOR REG(0x5000011Cu)
#define TXSTATUS REG(0x50000120u)
#define TXDESCRIPTORNUMBER REG(0x50000124u)
#define TXPRODUCEINDEX REG(0x50000128u)
#define TXCONSUMEINDEX REG(0x5000012Cu)
#define RXFILTERCTRL REG(0x50000200u)
#define ENET_INTSTATUS REG(0x50000FE0u)
#define ENET_INTENABLE REG(0x50000FE4u)
#define ENET_INTCLEAR REG(0x50000FE8u)

#define MAC1_RECEIVE (1u << 0)
#define MAC1_PASS_ALL (1u << 1)
#define MAC1_LOOPBACK (1u << 4)
#define MAC1_RESETS 0xCF00u /* transmit, receive, their control sublayers, random, soft */
#define MAC2_FULL_DUPLEX (1u << 0)
#define MAC2_CRC (1u << 4)
#define MAC2_PAD (1u << 5)
#define SUPP_100M (1u << 8)
#define MCFG_CLOCK_44 (10u << 2)
#define MCFG_RESET (1u << 15)
#define MCMD_READ 1u
#define MIND_BUSY 1u
#define ENET_RX_ENABLE (1u << 0)
#define ENET_TX_ENABLE (1u << 1)
#define ENET_RESETS (7u << 3) /* registers, transmit, receive */
#define ENET_RMII (1u << 9)
#define ENET_FULL_DUPLEX (1u << 10)
#define RXFILTER_BROADCAST (1u << 1)
#define RXFILTER_OWN (1u << 5)
#define INT_RX_OVERRUN (1u << 0)
#define INT_RX_ERROR (1u << 1)
#define INT_RX_DONE (1u << 3)
#define INT_TX_UNDERRUN (1u << 4)
#define RX_INTERRUPT (1u << 31) /* control word; the rest is the size less one */
#define RX_SIZE 0x7FFu /* status word: the frame with its FCS, less one */
#define RX_CRC_ERROR (1u << 23)
#define RX_SYMBOL_ERROR (1u << 24)
#define RX_ALIGNMENT_ERROR (1u << 27)
#define RX_OVERRUN (1u << 28)
#define RX_NO_DESCRIPTOR (1u << 29)
#define RX_LAST (1u << 30)
#define TX_LAST (1u << 30) /* control word; the rest is the size less one */

/* General purpose DMA (31); a channel's registers lie 32 bytes apart */
#define DMACINTTCCLEAR REG(0x50004008u)
#define DMACINTERRCLR REG(0x50004010u)
#define DMACENBLDCHNS REG(0x5000401Cu)
#define DMACCONFIG REG(0x50004030u)
#define DMACC7SRCADDR REG(0x500041E0u)
#define DMACC7DESTADDR REG(0x500041E4u)
#define DMACC7LLI REG(0x500041E8u)
#define DMACC7CONTROL REG(0x500041ECu)
#define DMACC7CONFIG REG(0x500041F0u)
#define DMA_CHANNEL_7 (1u << 7)
/* Bursts of four and words on both sides, both addresses count up; the rest is the number of words. */
#define DMA_WORDS (1u << 12 | 1u << 15 | 2u << 18 | 2u << 21 | 1u << 26 | 1u << 27)

/* Cortex-M3 */
#define NVIC_ISER0 REG(0xE000E100u)
#define SCB_VTOR REG(0xE000ED08u)
#define SCB_AIRCR REG(0xE000ED0Cu)
#define AIRCR_RESET 0x05FA0004u

enum interrupt { TIMER0_INTERRUPT = 1, UART0_INTERRUPT = 5, ENET_INTERRUPT = 28, INTERRUPTS = 35 };

#endif
