/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The C library that lwIP needs, for a compiler without one; memory.c has the functions. */
#ifndef REFERENCE_STRING_H
#define REFERENCE_STRING_H

#include <stddef.h>

void *memcpy(void *restrict to, const void *restrict from, size_t count);
void *memmove(void *to, const void *from, size_t count);
void *memset(void *to, int byte, size_t count);
int memcmp(const void *one, const void *other, size_t count);
size_t strlen(const char *text);
int strncmp(const char *one, const char *other, size_t count);

#endif
