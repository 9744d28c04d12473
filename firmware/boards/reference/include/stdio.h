/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* lwIP includes this header but, without its debug texts, uses nothing of it. */
