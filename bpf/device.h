/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The fields of a network device that a program reads; the loader finds their offsets by BTF (CO-RE). */
#ifndef WIRELAB_DEVICE_H
#define WIRELAB_DEVICE_H

#include <linux/bpf.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#define CO_RE __attribute__((preserve_access_index))

struct ns_common {
	unsigned int inum;
} CO_RE;

struct net {
	struct ns_common ns;
} CO_RE;

typedef struct {
	struct net *net;
} CO_RE possible_net_t;

struct net_device {
	int ifindex;
	possible_net_t nd_net;
} CO_RE;

#endif
