/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* What the tracing programs read of the kernel's structures; the loader finds the fields' places by BTF (CO-RE), so
 * that only their names are written here.
 */
#ifndef WIRELAB_KERNEL_H
#define WIRELAB_KERNEL_H

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

struct sock_common {
	unsigned short skc_family;
	__u16 skc_num;
	possible_net_t skc_net;
} CO_RE;

struct sock {
	struct sock_common __sk_common;
} CO_RE;

struct sk_buff {
	struct net_device *dev;
	unsigned int len;
	unsigned int data_len;
	unsigned char *head;
	unsigned char *data;
} CO_RE;

struct task_struct {
	int pid;
} CO_RE;

/* Each architecture has names of its own for a system call's number and its second argument. */
struct pt_regs___x86 {
	unsigned long si;
	unsigned long orig_ax;
} CO_RE;

struct pt_regs___arm64 {
	__u64 regs[31];
	__s32 syscallno;
} CO_RE;

#define wl_field(type, field) __builtin_preserve_field_info(((type *)0)->field, BPF_FIELD_BYTE_OFFSET)

struct wl_linear {
	__u32 len;
	__u32 data_len;
};

struct wl_bounds {
	__u64 head;
	__u64 data;
};

/* The neighbours `len` and `data_len` at once where they are neighbours. */
static __always_inline void wl_read_linear(struct wl_linear *to, const struct sk_buff *skb)
{
	if (wl_field(struct sk_buff, data_len) == wl_field(struct sk_buff, len) + 4) {
		bpf_core_read(to, sizeof(*to), &skb->len);
		return;
	}
	bpf_core_read(&to->len, 4, &skb->len);
	bpf_core_read(&to->data_len, 4, &skb->data_len);
}

static __always_inline void wl_read_bounds(struct wl_bounds *to, const struct sk_buff *skb)
{
	if (wl_field(struct sk_buff, data) == wl_field(struct sk_buff, head) + 8) {
		bpf_core_read(to, sizeof(*to), &skb->head);
		return;
	}
	bpf_core_read(&to->head, 8, &skb->head);
	bpf_core_read(&to->data, 8, &skb->data);
}

#endif
