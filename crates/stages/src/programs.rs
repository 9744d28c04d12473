//! The tracing programs of both sets: what each is called, where in the kernel it sits, and which point it takes.

use crate::point::Point;
use crate::tracer::ProbeSet;

/// One program of `bpf/stages_sets.h`.
pub struct Program {
    /// Its name in the object.
    pub name: &'static str,
    /// The tracepoint to attach it to; `None` for programs that know their place by the kernel's types.
    pub tracepoint: Option<&'static str>,
    /// What stands in on a kernel that lacks its place.
    pub instead: Option<&'static Program>,
}

const fn raw(name: &'static str, tracepoint: &'static str) -> Program {
    Program {
        name,
        tracepoint: Some(tracepoint),
        instead: None,
    }
}

const fn typed(name: &'static str) -> Program {
    Program {
        name,
        tracepoint: None,
        instead: None,
    }
}

/// `sk_data_ready` came with Linux 6.3. On older kernels only the reader that sleeps is seen to be woken.
const READY: Program = Program {
    instead: Some(&WAKING),
    ..raw("st_raw_ready", "sk_data_ready")
};

const WAKING: Program = raw("st_raw_waking", "sched_waking");

const RAW: [Program; 12] = [
    raw("st_raw_stack", "netif_receive_skb"),
    READY,
    raw("st_raw_drop", "kfree_skb"),
    raw("st_raw_copy", "skb_copy_datagram_iovec"),
    raw("st_raw_run", "sched_switch"),
    raw("st_raw_enter", "sys_enter"),
    raw("st_raw_exit", "sys_exit"),
    raw("st_raw_queue", "net_dev_queue"),
    raw("st_raw_xmit", "net_dev_start_xmit"),
    raw("st_raw_irq", "softirq_entry"),
    raw("st_raw_irqend", "softirq_exit"),
    raw("st_raw_poll", "napi_poll"),
];

const TYPED: [Program; 25] = [
    typed("st_fn_stack"),
    typed("st_fn_ready"),
    typed("st_fn_drop"),
    typed("st_fn_taken"),
    typed("st_fn_copy"),
    typed("st_fn_queue"),
    typed("st_fn_xmit"),
    typed("st_fn_irq"),
    typed("st_fn_irqend"),
    typed("st_fn_poll"),
    typed("st_fn_recvfrom"),
    typed("st_fn_read"),
    typed("st_fn_readv"),
    typed("st_fn_recvmsg"),
    typed("st_fn_recvmmsg"),
    typed("st_fn_sendto"),
    typed("st_fn_sendmsg"),
    typed("st_fn_sendmmsg"),
    typed("st_fn_write"),
    typed("st_fn_writev"),
    typed("st_fx_sendto"),
    typed("st_fx_sendmsg"),
    typed("st_fx_sendmmsg"),
    typed("st_fx_write"),
    typed("st_fx_writev"),
];

/// Whether a set has a program of this name.
pub fn has(set: ProbeSet, name: &str) -> bool {
    let is = |program: &Program| program.name == name;
    let instead = |program: &Program| program.instead.is_some_and(is);
    of(set).iter().any(|p| is(p) || instead(p))
}

/// The programs of a set, in the order in which they are attached.
pub fn of(set: ProbeSet) -> &'static [Program] {
    match set {
        ProbeSet::Raw => &RAW,
        ProbeSet::Fentry => &TYPED,
    }
}

/// What in the kernel stands behind a point: the function or tracepoint that is watched.
pub const fn function(set: ProbeSet, point: Point) -> &'static str {
    match (point, set) {
        (Point::InWire, _) => "the time in the test header",
        (Point::InInterrupt, _) => "softirq_entry, napi_poll",
        (Point::InDriver, _) => "XDP program",
        (Point::InStack, _) => "netif_receive_skb",
        (Point::InSocket, ProbeSet::Raw) => "sk_data_ready",
        (Point::InSocket, ProbeSet::Fentry) => "sock_def_readable",
        (Point::InCopy, ProbeSet::Raw) => "skb_copy_datagram_iovec, sched_switch",
        (Point::InCopy, ProbeSet::Fentry) => "__skb_recv_udp, skb_copy_datagram_iovec",
        (Point::InCall, ProbeSet::Raw) => "sys_exit",
        (Point::InCall, ProbeSet::Fentry) => {
            "__x64_sys_recvfrom, …recvmsg, …recvmmsg, …read, …readv"
        }
        (Point::OutCall, ProbeSet::Raw) => "sys_enter",
        (Point::OutCall, ProbeSet::Fentry) => {
            "__x64_sys_sendto, …sendmsg, …sendmmsg, …write, …writev"
        }
        (Point::OutQueue, _) => "net_dev_queue",
        (Point::OutDriver, _) => "net_dev_start_xmit",
        (Point::OutWire, _) => "seen on the other end",
    }
}

/// What a system call does to frames, by its number, as `enum wl_call` of `bpf/stages.h` counts it.
pub fn calls() -> [u8; 512] {
    let mut calls = [0; 512];
    let known = [
        (libc::SYS_sendto, 1),
        (libc::SYS_sendmsg, 1),
        (libc::SYS_sendmmsg, 1),
        (libc::SYS_write, 1),
        (libc::SYS_writev, 1),
        (libc::SYS_recvfrom, 2),
        (libc::SYS_read, 2),
        (libc::SYS_readv, 3),
        (libc::SYS_recvmsg, 4),
        (libc::SYS_recvmmsg, 5),
    ];
    for (number, does) in known {
        calls[number as usize] = does;
    }
    calls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_keeps_the_whole_name_of_each_program() {
        for set in [ProbeSet::Raw, ProbeSet::Fentry] {
            for program in of(set) {
                assert!(program.name.len() <= 15, "{}", program.name);
                assert_eq!(program.tracepoint.is_some(), set == ProbeSet::Raw);
            }
        }
    }
}
