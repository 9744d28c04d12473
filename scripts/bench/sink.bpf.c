// SPDX-License-Identifier: MIT OR GPL-2.0-only
/* Takes every frame without reading it: the receiver of a generator whose frames are not checked. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

SEC("xdp")
int sink(struct xdp_md *ctx)
{
	return XDP_DROP;
}

char wl_license[] SEC("license") = "Dual MIT/GPL";
