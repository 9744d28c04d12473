/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* Frames that reached their application: the result of a receiving system call, read from the memory that it filled. */
#ifndef WIRELAB_STAGES_CALLS_H
#define WIRELAB_STAGES_CALLS_H

#include "stages.h"

/* When the thread got a CPU after the frame was ready, which means that it had slept. */
static __always_inline void take_wake(const struct wl_cap_cfg *cfg, const struct wl_slot *slot, __u32 state,
				      __u32 tid, __u32 sequence)
{
	__u32 at = tid & (WL_THREADS - 1);
	__u8 stream = (__u8)state;
	struct wl_run *run;

	if (state & WL_SLOT_COPIED)
		return;
	run = bpf_map_lookup_elem(&runs, &at);
	if (run && run->tid == tid && state & WL_SLOT_STACK && run->ns >= slot->since_ns)
		wl_capture(cfg, WL_IN_COPY, stream, sequence, run->ns);
	else
		wl_count_unmatched(WL_IN_COPY);
}

/* The result of a receiving system call. */
struct returned {
	__u64 at; /* of the list of messages */
	__u64 now;
	__u32 fd;
};

#define WL_S_IFMT 0170000 /* linux/stat.h */
#define WL_S_IFSOCK 0140000

/* Whether the descriptor of this thread's process is the flow's socket, as far as known. A socket of another network
 * namespace is not, though it may receive the same headers. A file that is not a socket may pass on a socket's data. */
static __always_inline int is_of_socket(const struct wl_cap_cfg *cfg, __u32 fd)
{
	const struct files_struct *files;
	const struct fdtable *table;
	const struct inode *inode;
	const void *file = 0;
	const struct sock *sk;

	files = WL_READ(struct task_struct, bpf_get_current_task(), files);
	table = WL_READ(struct files_struct, files, fdt);
	if (bpf_probe_read_kernel(&file, sizeof(file), WL_READ(struct fdtable, table, fd) + fd))
		return 0;
	inode = WL_READ(struct file, file, f_inode);
	if ((WL_READ(struct inode, inode, i_mode) & WL_S_IFMT) != WL_S_IFSOCK)
		return !cfg->socket;
	file = WL_READ(struct file, file, private_data);
	sk = WL_READ(struct socket, file, sk);
	if (known.net && (__u64)WL_READ(struct sock, sk, __sk_common.skc_net.net) != known.net)
		return 0;
	return is_socket(cfg, sk);
}

/* A system call returns with `len` bytes at `base`: if they are a frame in flight, it has arrived. */
static __always_inline void take_return(const struct wl_cap_cfg *cfg, const struct returned *call, __u64 base,
					__s64 len)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid(), sequence, state;
	struct wl_slot *slot;
	struct wl_header h;
	__u8 type[2];

	if (len < WL_HEADER_LEN || bpf_probe_read_user(&h, WL_HEADER_LEN, (void *)base))
		return;
	if (cfg->ethernet && h.magic != WL_MAGIC_LE && len >= WL_ETHERNET_HEADER + WL_HEADER_LEN) {
		if (bpf_probe_read_user(type, 2, (void *)(base + 12)) || wl_be16(type) != WL_ETHERTYPE ||
		    bpf_probe_read_user(&h, WL_HEADER_LEN, (void *)(base + WL_ETHERNET_HEADER)))
			return;
	}
	if (h.magic != WL_MAGIC_LE || !wl_is_right(&h))
		return;
	sequence = bpf_ntohl(h.sequence);
	slot = wl_slot_of(h.stream, sequence);
	if (!slot || !wl_slot_is(slot, h.stream, sequence) || !is_of_socket(cfg, call->fd))
		return;
	state = __sync_fetch_and_or(&slot->state, WL_SLOT_GONE);
	if (state & WL_SLOT_GONE)
		return;
	if (!(state & WL_SLOT_STACK)) {
		wl_count_unseen(WL_IN_STACK);
		wl_count_unseen(WL_IN_SOCKET);
	}
	if (known.reader != tid) /* it shares its cache line with fields that every frame reads */
		known.reader = tid;
	take_wake(cfg, slot, state, tid, sequence);
	wl_capture(cfg, WL_IN_CALL, h.stream, sequence, call->now);
	wl_cost(WL_IN_CALL, sequence, call->now);
}

/* struct user_msghdr (56 bytes, msg_iov at 16) and struct mmsghdr (64 bytes, msg_len at 56) of 64-bit programs. */
#define WL_MSG_IOV 16
#define WL_MMSG_LEN 56
#define WL_MMSG_SIZE 64
#define WL_MMSG_MOST 1024

static __always_inline __u64 base_of_message(__u64 message)
{
	__u64 vector = 0, base = 0;

	bpf_probe_read_user(&vector, 8, (void *)(message + WL_MSG_IOV));
	bpf_probe_read_user(&base, 8, (void *)vector);
	return base;
}

static long take_message(__u32 i, struct returned *call)
{
	const struct wl_cap_cfg *cfg = wl_cap_config();
	__u64 message = call->at + i * WL_MMSG_SIZE;
	__u32 len = 0;

	if (!cfg)
		return 1;
	bpf_probe_read_user(&len, 4, (void *)(message + WL_MMSG_LEN));
	take_return(cfg, call, base_of_message(message), len);
	return 0;
}

static __always_inline int on_return(__u32 does, const void *regs, __s64 result)
{
	const struct wl_cap_cfg *cfg = wl_cap_config();
	struct returned call = { .now = bpf_ktime_get_ns() };
	__u64 base = 0;

	if (!cfg || !cfg->on || result <= 0)
		return 0;
	call.at = second_argument(regs);
	call.fd = first_argument(regs);
	switch (does) {
	case WL_CALL_BUFFER:
		take_return(cfg, &call, call.at, result);
		break;
	case WL_CALL_VECTOR:
		bpf_probe_read_user(&base, 8, (void *)call.at);
		take_return(cfg, &call, base, result);
		break;
	case WL_CALL_MESSAGE:
		take_return(cfg, &call, base_of_message(call.at), result);
		break;
	case WL_CALL_MESSAGES:
		bpf_loop(result < WL_MMSG_MOST ? result : WL_MMSG_MOST, take_message, &call, 0);
		break;
	}
	return 0;
}

#endif
