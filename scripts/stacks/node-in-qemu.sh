#!/usr/bin/env bash
# Measures another project's system with the node linked in, as node:, in QEMU: scripts/stacks/node-in-qemu.sh
# nuttx|freertos-plus-tcp [measure OPTIONS… | stages OPTIONS…]. By default it measures UDP and TCP in each direction and an
# echo.
#
# It runs the image that NUTTX=FOLDER scripts/stacks/nuttx.sh node or FREERTOS_PLUS_TCP=FOLDER FREERTOS_KERNEL=FOLDER
# scripts/stacks/freertos-plus-tcp.sh node built. Run it as root: node and tester are joined by a TAP in a namespace of their own, and
# no frame leaves the machine.
set -euo pipefail
WIRELAB_SAY=node-in-qemu
# shellcheck source=scripts/stacks/console-common.sh
. "$(dirname "${BASH_SOURCE[0]}")/console-common.sh"

tap="tap,id=u0,ifname=tap0,script=no,downscript=no"
case "${1:-}" in
    nuttx)
        system=(qemu-system-riscv64 -M "virt,aclint=on" -cpu rv64 -bios none -m 256M -global virtio-mmio.force-legacy=false
            -netdev "$tap" -device "virtio-net-device,netdev=u0,bus=virtio-mmio-bus.0,mac=02:00:0a:4d:00:02")
        typed=("ifconfig eth0 10.77.0.2 netmask 255.255.255.0" "ifup eth0" "wl_node 10.77.0.2 &")
        ;;
    freertos-plus-tcp)
        system=(qemu-system-arm -M mps2-an385 -nic "$tap,mac=02:00:0a:4d:00:02")
        typed=()
        ;;
    *) die "no known system is named; fix: name nuttx or freertos-plus-tcp" ;;
esac
elf=$stacks_out/$1-node.elf
[ -f "$elf" ] || die "$elf does not exist; fix: run scripts/stacks/$1.sh node"
shift
have "${system[0]}" || die "${system[0]} is not installed; fix: run scripts/setup.sh test stacks"
find_wirelab
tap_namespace node

console=$(mktemp -d)
mkfifo "$console/keys"
# Not by the function in_namespace: ending its shell would leave the virtual machine running.
ip netns exec "$namespace" "${system[@]}" -display none -monitor none -serial stdio -kernel "$elf" <"$console/keys" >"$console/log" 2>&1 &
machine=$!
exec 3>"$console/keys"
trap 'kill "$machine"; wait "$machine" || true; ip netns del "$namespace"; rm -r "$console"' EXIT
for line in "${typed[@]}"; do
    sleep 1
    echo "$line" >&3
done
for _ in {1..30}; do
    in_namespace ping -q -c 1 -W 1 10.77.0.2 >/dev/null && break
done || true
in_namespace ping -q -c 1 -W 1 10.77.0.2 >/dev/null ||
    { cat "$console/log" >&2; die "the node does not answer; fix: see its console above"; }

case "${1:-}" in
    stages | measure) in_namespace "$wirelab" "$1" node:10.77.0.2 "${@:2}" ;;
    *)
        status=0
        for trials in "udp4 --datagram 1470 --load 2M --direction rx,tx" "tcp4 --direction rx,tx" "udp4 --datagram 64 --load 500pps --direction echo"; do
            # shellcheck disable=SC2086
            in_namespace "$wirelab" measure node:10.77.0.2 --time 1s --layer $trials "$@" || status=$?
        done
        exit "$status"
        ;;
esac
