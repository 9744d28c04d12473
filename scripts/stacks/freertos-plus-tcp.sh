#!/usr/bin/env bash
# Builds FreeRTOS+TCP for QEMU's mps2-an385, with its own driver of the LAN9118 and the echo of firmware/stacks, into
# target/stacks/freertos-plus-tcp.elf: FREERTOS_PLUS_TCP=FOLDER FREERTOS_KERNEL=FOLDER scripts/stacks/freertos-plus-tcp.sh [node|cli].
# With `node` it is target/stacks/freertos-plus-tcp-node.elf, with the node of firmware/glue/freertos-tcp in place of the echo; with `cli`
# target/stacks/freertos-plus-tcp-cli.elf, with the command line of FREERTOS=FOLDER (github.com/FreeRTOS/FreeRTOS) and the iperf
# task of IPERF_TASK=FOLDER (plus/Common/Utilities of github.com/htibosch/freertos_plus_projects).
# Both of these have the driver with the patch of firmware/stacks/freertos, because a TCP sender loses acknowledgements without
# it. The echo, whose instructions are published, has the unchanged driver. The folders are checkouts of github.com/FreeRTOS;
# without FREERTOS_KERNEL it is FreeRTOS-Kernel beside the other.
set -euo pipefail
WIRELAB_SAY=freertos-plus-tcp
# shellcheck source=scripts/stacks/common.sh
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

main() {
    sources FREERTOS_PLUS_TCP source/FreeRTOS_IP.c github.com/FreeRTOS/FreeRTOS-Plus-TCP
    FREERTOS_KERNEL=${FREERTOS_KERNEL:-$FREERTOS_PLUS_TCP/../FreeRTOS-Kernel}
    sources FREERTOS_KERNEL portable/GCC/ARM_CM3/port.c github.com/FreeRTOS/FreeRTOS-Kernel
    local name=freertos-plus-tcp more=() driver="its own driver"
    case "${1:-}" in
        node | cli) name=$name-$1 ;;
        ?*) die "unknown image '$1'; fix: name node, cli or none" ;;
    esac
    if [ "${1:-}" = cli ]; then
        sources FREERTOS FreeRTOS-Plus/Source/FreeRTOS-Plus-CLI/FreeRTOS_CLI.c github.com/FreeRTOS/FreeRTOS
        sources IPERF_TASK iperf_task_v3_0h.c "github.com/htibosch/freertos_plus_projects, its folder plus/Common/Utilities"
        more+=(-DFREERTOS="$(realpath "$FREERTOS")" -DIPERF_TASK="$(realpath "$IPERF_TASK")")
    fi
    if [ -n "${1:-}" ]; then
        mended=$stacks_out/smsc9220_eth_drv.c
        mkdir -p "$stacks_out"
        driver="its own driver, mended by firmware/stacks/freertos/smsc9220_eth_drv.patch"
        logged "$stacks_out/patch.log" "the driver, to which its patch does not fit," patch -s -o "$mended" \
            "$FREERTOS_PLUS_TCP/source/portable/NetworkInterface/MPS2_AN385/ether_lan9118/smsc9220_eth_drv.c" \
            "$WIRELAB_TREE/firmware/stacks/freertos/smsc9220_eth_drv.patch"
        more+=(-DLAN9118_DRIVER="$mended")
    fi
    cortex_m3 "$name" "${more[@]}" -DFREERTOS_KERNEL="$(realpath "$FREERTOS_KERNEL")" \
        -DFREERTOS_PLUS_TCP="$(realpath "$FREERTOS_PLUS_TCP")"
    image "$name" "$built" \
        "FreeRTOS+TCP $(revision "$FREERTOS_PLUS_TCP"), FreeRTOS-Kernel $(revision "$FREERTOS_KERNEL")" \
        "$(cortex_m3_compiler)" "$cortex_m3_flags" \
        "defaults of FreeRTOSIPConfig.h, IPv4 alone, BufferAllocation_2, heap_4, tick of 1 ms, UDP checksums on, calls that copy, $driver"
}

main "$@"
