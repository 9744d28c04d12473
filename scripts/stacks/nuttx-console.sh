#!/usr/bin/env bash
# Measures an unmodified NuttX in QEMU through its console: scripts/stacks/nuttx-console.sh [ELF] [OPTIONS OF measure…].
# It fills the whole page by default. ELF is a NuttX for QEMU's RISC-V machine `virt` with iperf (rv-virt:netnsh64), by
# default target/stacks/nuttx.elf, which scripts/stacks/nuttx.sh builds from its sources. Run it as root: NuttX and tester
# are joined by a TAP in a namespace of their own, and no frame leaves the machine.
set -euo pipefail
WIRELAB_SAY=nuttx-console
# shellcheck source=scripts/stacks/console-common.sh
. "$(dirname "${BASH_SOURCE[0]}")/console-common.sh"

elf=$stacks_out/nuttx.elf
case "${1:-}" in
    -* | "") ;;
    *) elf=$1; shift ;;
esac
[ -f "$elf" ] || die "$elf does not exist; fix: run NUTTX=FOLDER scripts/stacks/nuttx.sh"
elf=$(realpath "$elf")
needs qemu-system-riscv64 qemu-system-misc
find_wirelab
tap_namespace nuttx

qemu="qemu-system-riscv64 -M virt,aclint=on -cpu rv64 -bios none -m 256M -display none -monitor none -serial stdio"
qemu+=" -kernel '$elf' -global virtio-mmio.force-legacy=false -netdev tap,id=u0,ifname=tap0,script=no,downscript=no"
qemu+=" -device virtio-net-device,netdev=u0,bus=virtio-mmio-bus.0,mac=02:00:0a:4d:00:02"
in_namespace "$wirelab" measure iperf:10.77.0.2 --console "exec:exec $qemu" --profile nuttx "$@"
