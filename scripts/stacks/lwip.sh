#!/usr/bin/env bash
# Builds lwIP 2.2.1 for QEMU's mps2-an385, with the boards' driver of the LAN9118 and the echo of firmware/stacks: its raw
# interface into target/stacks/lwip-raw.elf, and, where FREERTOS_KERNEL=FOLDER names a checkout of
# github.com/FreeRTOS/FreeRTOS-Kernel, its sockets into target/stacks/lwip-sockets.elf. In place of the echo,
# target/stacks/lwip-client.elf has a client that gets its address by DHCP and sends; target/stacks/lwip-iperf.elf has lwIP's
# own iperf (lwiperf). lwIP itself is fetched by the lock file of firmware/third_party/lwip.
set -euo pipefail
WIRELAB_SAY=lwip
# shellcheck source=scripts/stacks/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
# shellcheck source=scripts/lib/lwip.sh
. "$(dirname "${BASH_SOURCE[0]}")/../lib/lwip.sh"

main() {
    local lwip
    if [ -n "${FREERTOS_KERNEL:-}" ]; then
        sources FREERTOS_KERNEL portable/GCC/ARM_CM3/port.c github.com/FreeRTOS/FreeRTOS-Kernel
    fi
    lwip=$(lwip_folder) || die "the sources of lwIP cannot be fetched; fix: allow access to crates.io"
    cortex_m3 lwip-raw -DLWIP="$lwip"
    image lwip-raw "$built" "lwIP 2.2.1, the raw interface, no operating system" "$(cortex_m3_compiler)" \
        "$cortex_m3_flags" "firmware/glue/lwip/port/lwipopts.h, checksums of the port (one's complement in words of 32 bits)"
    cortex_m3 lwip-client -DLWIP="$lwip"
    image lwip-client "$built" "lwIP 2.2.1, the raw interface, DHCP, a sender of datagrams" "$(cortex_m3_compiler)" \
        "$cortex_m3_flags" "as lwip-raw, with LWIP_DHCP"
    cortex_m3 lwip-iperf -DLWIP="$lwip"
    image lwip-iperf "$built" "lwIP 2.2.1, src/apps/lwiperf as contrib/examples/lwiperf starts it" "$(cortex_m3_compiler)" \
        "$cortex_m3_flags" "firmware/glue/lwip/port/lwipopts.h, checksums of the port"
    if [ -z "${FREERTOS_KERNEL:-}" ]; then
        say "lwIP's sockets are left out; fix: FREERTOS_KERNEL=FOLDER with the sources of github.com/FreeRTOS/FreeRTOS-Kernel"
        return 0
    fi
    cortex_m3 lwip-sockets -DLWIP="$lwip" -DFREERTOS_KERNEL="$(realpath "$FREERTOS_KERNEL")"
    image lwip-sockets "$built" "lwIP 2.2.1, sockets, FreeRTOS-Kernel $(revision "$FREERTOS_KERNEL")" "$(cortex_m3_compiler)" \
        "$cortex_m3_flags" "firmware/stacks/lwip/sockets/lwipopts.h, core locking, tick of 1 ms, checksums of the port"
}

main "$@"
