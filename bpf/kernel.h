/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The fields of the kernel's structures that the tracing programs read; the loader finds their offsets by BTF
 * (CO-RE), so only their names are written here.
 */
#ifndef WIRELAB_KERNEL_H
#define WIRELAB_KERNEL_H

#include "device.h"

typedef struct {
	__s64 counter;
} CO_RE atomic64_t;

struct sock_common {
	unsigned short skc_family;
	__u16 skc_num;
	possible_net_t skc_net;
	atomic64_t skc_cookie;
} CO_RE;

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
} CO_RE;

struct sk_buff {
	struct net_device *dev;
	struct sock *sk;
	unsigned int len;
	unsigned int data_len;
	unsigned char *head;
	unsigned char *data;
} CO_RE;

struct socket {
	struct sock *sk;
} CO_RE;

struct inode {
	unsigned short i_mode;
} CO_RE;

struct file {
	struct inode *f_inode;
	void *private_data; /* of a socket: struct socket */
} CO_RE;

struct fdtable {
	struct file **fd;
} CO_RE;

struct files_struct {
	struct fdtable *fdt;
} CO_RE;

struct task_struct {
	int pid;
	struct files_struct *files;
} CO_RE;

/* Each architecture has other names for a system call's number and its first two arguments. */
struct pt_regs___x86 {
	unsigned long di;
	unsigned long si;
	unsigned long orig_ax;
} CO_RE;

struct pt_regs___arm64 {
	__u64 regs[31];
	__u64 orig_x0;
	__s32 syscallno;
} CO_RE;

/* The file descriptor of the system call. */
static __always_inline __u32 first_argument(const void *regs)
{
	const struct pt_regs___x86 *x86 = regs;
	const struct pt_regs___arm64 *arm64 = regs;

	if (bpf_core_field_exists(x86->di))
		return (__u32)BPF_CORE_READ(x86, di);
	if (bpf_core_field_exists(arm64->orig_x0))
		return (__u32)BPF_CORE_READ(arm64, orig_x0);
	return 0;
}

/* The buffer into which the system call receives, or the list of buffers. */
static __always_inline __u64 second_argument(const void *regs)
{
	const struct pt_regs___x86 *x86 = regs;
	const struct pt_regs___arm64 *arm64 = regs;

	if (bpf_core_field_exists(x86->si))
		return BPF_CORE_READ(x86, si);
	if (bpf_core_field_exists(arm64->regs))
		return BPF_CORE_READ(arm64, regs[1]);
	return 0;
}

#define wl_field(type, field) __builtin_preserve_field_info(((type *)0)->field, BPF_FIELD_BYTE_OFFSET)

/* Whether this kernel lets a program read its memory directly (bpf_rdonly_cast, Linux 6.2); otherwise each read is a
 * function call, at least two deep, which is most of the cost of a point. User space tests this, and writes it before
 * the load. */
const volatile __u32 casts SEC(".rodata.casts");

extern void *bpf_rdonly_cast(const void *obj, __u32 btf_id) __ksym __weak;

#define wl_cast(type, pointer)                                                                               \
	((type *)bpf_rdonly_cast((const void *)(pointer), bpf_core_type_id_kernel(type)))
/* One field of a kernel structure, or a field of a field. */
#define WL_READ(type, pointer, field)                                                                        \
	(casts ? wl_cast(type, pointer)->field : BPF_CORE_READ((type *)(pointer), field))

/* Memory without a type, at most 192 bytes: a kernel structure that contains only numbers. */
struct rtnl_link_stats64 {
	__u64 words[24];
};
#define wl_words(pointer)                                                                                    \
	((const void *)bpf_rdonly_cast((const void *)(pointer),                                              \
				       bpf_core_type_id_kernel(struct rtnl_link_stats64)))

struct wl_linear {
	__u32 len;
	__u32 data_len;
};

struct wl_bounds {
	__u64 head;
	__u64 data;
};

/* The fields `len` and `data_len` at once if they are adjacent. */
static __always_inline void wl_read_linear(struct wl_linear *to, const struct sk_buff *skb)
{
	if (casts) {
		skb = wl_cast(struct sk_buff, skb);
		to->len = skb->len;
		to->data_len = skb->data_len;
		return;
	}
	if (wl_field(struct sk_buff, data_len) == wl_field(struct sk_buff, len) + 4) {
		bpf_core_read(to, sizeof(*to), &skb->len);
		return;
	}
	bpf_core_read(&to->len, 4, &skb->len);
	bpf_core_read(&to->data_len, 4, &skb->data_len);
}

static __always_inline void wl_read_bounds(struct wl_bounds *to, const struct sk_buff *skb)
{
	if (casts) {
		skb = wl_cast(struct sk_buff, skb);
		to->head = (__u64)skb->head;
		to->data = (__u64)skb->data;
		return;
	}
	if (wl_field(struct sk_buff, data) == wl_field(struct sk_buff, head) + 8) {
		bpf_core_read(to, sizeof(*to), &skb->head);
		return;
	}
	bpf_core_read(&to->head, 8, &skb->head);
	bpf_core_read(&to->data, 8, &skb->data);
}

#endif
