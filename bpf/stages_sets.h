/* SPDX-License-Identifier: MIT OR GPL-2.0-only */
/* The two sets of programs: the kernel place of each function in stages.bpf.c. Names begin with st_raw_, or with
 * st_fn_ and st_fx_, by which user space chooses, and have at most 15 characters, the kernel's limit.
 */
#ifndef WIRELAB_STAGES_SETS_H
#define WIRELAB_STAGES_SETS_H

#define ARG(type, n) ((type)ctx[n])
#define PLACE(section, name, action)                                                                         \
	SEC(section) int name(__u64 *ctx)                                                                    \
	{                                                                                                    \
		return action;                                                                               \
	}

PLACE("raw_tp/netif_receive_skb", st_raw_stack, on_stack(ARG(const struct sk_buff *, 0)))
PLACE("raw_tp/sk_data_ready", st_raw_ready, on_ready(ARG(const struct sock *, 0)))
PLACE("raw_tp/sched_waking", st_raw_waking, on_waking(WL_READ(struct task_struct, ctx[0], pid)))
PLACE("raw_tp/kfree_skb", st_raw_drop, on_dropped(ARG(const struct sk_buff *, 0)))
PLACE("raw_tp/skb_copy_datagram_iovec", st_raw_copy, on_copy(ARG(const struct sk_buff *, 0)))
PLACE("raw_tp/net_dev_queue", st_raw_queue,
      on_sent(ARG(const struct sk_buff *, 0), WL_READ(struct sk_buff, ctx[0], dev), WL_OUT_QUEUE))
PLACE("raw_tp/net_dev_start_xmit", st_raw_xmit,
      on_sent(ARG(const struct sk_buff *, 0), ARG(const struct net_device *, 1), WL_OUT_DRIVER))
PLACE("raw_tp/softirq_entry", st_raw_irq, on_softirq(ctx[0], 1))
PLACE("raw_tp/softirq_exit", st_raw_irqend, on_softirq(ctx[0], 0))
PLACE("raw_tp/napi_poll", st_raw_poll, on_polled(ctx[1]))
PLACE("raw_tp/sched_switch", st_raw_run, on_run(WL_READ(struct task_struct, ctx[2], pid)))

static __always_inline __u32 call_of(__u64 number)
{
	return number < WL_SYSCALLS ? calls[number] : WL_CALL_OTHER;
}

static __always_inline __u64 number_of(const void *regs)
{
	const struct pt_regs___x86 *x86 = regs;
	const struct pt_regs___arm64 *arm64 = regs;

	if (bpf_core_field_exists(x86->orig_ax))
		return BPF_CORE_READ(x86, orig_ax);
	if (bpf_core_field_exists(arm64->syscallno))
		return BPF_CORE_READ(arm64, syscallno);
	return WL_SYSCALLS;
}

SEC("raw_tp/sys_enter")
int st_raw_enter(__u64 *ctx)
{
	return call_of(ctx[1]) == WL_CALL_SEND ? on_send(1) : 0;
}

/* The number is read here again: a reader may have slept in its call since before this was attached. */
SEC("raw_tp/sys_exit")
int st_raw_exit(__u64 *ctx)
{
	const void *regs = (const void *)ctx[0];
	__u32 call = call_of(number_of(regs));

	if (call == WL_CALL_OTHER)
		return 0;
	if (call == WL_CALL_SEND)
		return on_send(0);
	return on_return(call, regs, (__s64)ctx[1]);
}

/* Functions, and typed tracepoints if they are as good. */
PLACE("tp_btf/netif_receive_skb", st_fn_stack, on_stack(ARG(const struct sk_buff *, 0)))
PLACE("fentry/sock_def_readable", st_fn_ready, on_ready(ARG(const struct sock *, 0)))
PLACE("tp_btf/kfree_skb", st_fn_drop, on_dropped(ARG(const struct sk_buff *, 0)))
PLACE("fexit/__skb_recv_udp", st_fn_taken, on_copy(ARG(const struct sk_buff *, 4)))
PLACE("tp_btf/skb_copy_datagram_iovec", st_fn_copy, on_copy(ARG(const struct sk_buff *, 0)))
PLACE("tp_btf/net_dev_queue", st_fn_queue,
      on_sent(ARG(const struct sk_buff *, 0), WL_READ(struct sk_buff, ctx[0], dev), WL_OUT_QUEUE))
PLACE("tp_btf/net_dev_start_xmit", st_fn_xmit,
      on_sent(ARG(const struct sk_buff *, 0), ARG(const struct net_device *, 1), WL_OUT_DRIVER))
PLACE("tp_btf/softirq_entry", st_fn_irq, on_softirq(ctx[0], 1))
PLACE("tp_btf/softirq_exit", st_fn_irqend, on_softirq(ctx[0], 0))
PLACE("tp_btf/napi_poll", st_fn_poll, on_polled(ctx[1]))
/* The system calls themselves, whose functions take the registers; the functions that they call may have been
 * inlined. */
#define RECEIVES(name, does)                                                                                 \
	PLACE("fexit/__x64_sys_" #name, st_fn_##name, on_return(does, (const void *)ctx[0], (__s64)ctx[1]))
#define SENDS(name)                                                                                          \
	PLACE("fentry/__x64_sys_" #name, st_fn_##name, on_send(1))                                           \
	PLACE("fexit/__x64_sys_" #name, st_fx_##name, on_send(0))

RECEIVES(recvfrom, WL_CALL_BUFFER)
RECEIVES(read, WL_CALL_BUFFER)
RECEIVES(readv, WL_CALL_VECTOR)
RECEIVES(recvmsg, WL_CALL_MESSAGE)
RECEIVES(recvmmsg, WL_CALL_MESSAGES)
SENDS(sendto)
SENDS(sendmsg)
SENDS(sendmmsg)
SENDS(write)
SENDS(writev)

#endif
