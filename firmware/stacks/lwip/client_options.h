/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lwIP's options of the client, beside those of the boards. */
#undef LWIP_DHCP
#define LWIP_DHCP 1
/* No other host is on the wire. */
#define LWIP_DHCP_DOES_ACD_CHECK 0
