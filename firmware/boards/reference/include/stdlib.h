/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* The one function that lwIP uses: it reads the number of an interface's name. */
#ifndef REFERENCE_STDLIB_H
#define REFERENCE_STDLIB_H

int atoi(const char *text);

#endif
