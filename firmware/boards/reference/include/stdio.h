/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lwIP includes it and, without its debug texts, uses nothing of it. */
