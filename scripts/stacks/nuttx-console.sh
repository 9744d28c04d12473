#!/usr/bin/env bash
# Measures an unmodified NuttX in QEMU through its console: scripts/stacks/nuttx-console.sh [ELF] [OPTIONS OF measure…].
# It fills the whole page by default. ELF is a NuttX for QEMU's RISC-V machine `virt` with iperf (rv-virt:netnsh64), by
# default target/stacks/nuttx.elf, which scripts/stacks/nuttx.sh builds from its sources. Run it as root: NuttX and tester
# are joined by a TAP in a namespace of their own, and no frame leaves the machine.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

die() { echo "nuttx-console: $1; fix: $2" >&2; exit 2; }
elf=target/stacks/nuttx.elf
case "${1:-}" in
    -* | "") ;;
    *) elf=$1; shift ;;
esac
[ -f "$elf" ] || die "there is no $elf" "build it: NUTTX=FOLDER scripts/stacks/nuttx.sh, or name your own as the first argument"
elf=$(realpath "$elf")
command -v qemu-system-riscv64 >/dev/null || die "qemu-system-riscv64 is not installed" "apt install qemu-system-misc"
wirelab=${WIRELAB:-target/debug/wirelab}
[ -x "$wirelab" ] || wirelab=$(command -v wirelab) || die "there is no wirelab" "make build, or name it: WIRELAB=PATH"
wirelab=$(realpath "$wirelab")

name=nuttx-$$
ip netns add "$name" 2>/dev/null || die "this user cannot make a network namespace" "run it as root"
trap 'ip netns del "$name"' EXIT
in_namespace() { ip netns exec "$name" "$@"; }
in_namespace ip link set lo up
in_namespace ip tuntap add dev tap0 mode tap
# By this address wirelab knows that the node behind it is emulated, so that its figures say so.
in_namespace ip link set tap0 address 02:57:4c:37:00:01
in_namespace ip addr add 10.77.0.1/24 dev tap0
in_namespace ip link set tap0 up

qemu="qemu-system-riscv64 -M virt,aclint=on -cpu rv64 -bios none -m 256M -display none -monitor none -serial stdio"
qemu+=" -kernel '$elf' -global virtio-mmio.force-legacy=false -netdev tap,id=u0,ifname=tap0,script=no,downscript=no"
qemu+=" -device virtio-net-device,netdev=u0,bus=virtio-mmio-bus.0,mac=02:00:0a:4d:00:02"
in_namespace "$wirelab" measure iperf:10.77.0.2 --console "exec:exec $qemu" --profile nuttx "$@"
