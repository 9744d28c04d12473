#!/usr/bin/env bash
# Measures FreeRTOS+TCP's iperf3 task in QEMU, with FreeRTOS+CLI as its console: scripts/stacks/freertos-console.sh [OPTIONS OF
# measure…]. The image is the one of scripts/stacks/freertos-plus-tcp.sh cli. Run it as root: board and tester are joined by a TAP in
# a namespace of their own, and no frame leaves the machine.
set -euo pipefail
WIRELAB_SAY=freertos-console
# shellcheck source=scripts/stacks/console-common.sh
. "$(dirname "${BASH_SOURCE[0]}")/console-common.sh"

elf=$stacks_out/freertos-plus-tcp-cli.elf
[ -f "$elf" ] || die "$elf does not exist; fix: run scripts/stacks/freertos-plus-tcp.sh cli"
needs qemu-system-arm qemu-system-arm
find_wirelab
tap_namespace freertos
qemu="qemu-system-arm -M mps2-an385 -display none -serial mon:stdio -kernel '$elf'"
qemu+=" -nic tap,ifname=tap0,script=no,downscript=no,mac=02:00:0a:4d:00:02"
in_namespace "$wirelab" measure iperf3:10.77.0.2:5001 --console "exec:exec $qemu" --profile freertos "$@"
