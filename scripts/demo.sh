#!/usr/bin/env bash
# The main job on real frames, in private network namespaces: from the limit to the report, in under two minutes.
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
. "$(dirname "$0")/lib/env.sh"
cd "$WIRELAB_TREE"

OUT="${1:-out}"
SIZES=66,438,810,1182,1498
LAB="demo-$$"
mkdir -p "$OUT"

wirelab() { scripts/as-root.sh target/release/wirelab "$@"; }
step() { printf '\n== %s\n   wirelab %s\n\n' "$1" "${*:2}"; wirelab "${@:2}"; }

step "What a link of 100 Mbit/s can carry" limits --rate 100M --payload 46,1500 --cpu 100M

step "Four port pairs, full duplex, at a link rate of 100 Mbit/s" \
    measure lab:4 --payload "$SIZES" --direction both --rate 100M --load max --time 2s \
    -o "$OUT/link.json"

step "The same sizes as fast as this host can, on one pair" \
    measure lab:1 --payload "$SIZES" --load max --time 1s -o "$OUT/max.json"

step "50 frames of length 1514, each kind of buffers 200 times" \
    measure lab:1 --length 1514 --frames 50 --buffers prefilled,copied,copied-ahead,in-place \
    --no-ceiling -o "$OUT/buffers.json"

step "A capture, written from frames that crossed a veth pair" lab up "$LAB"
trap 'wirelab lab down "$LAB" >/dev/null 2>&1 || true' EXIT
rm -f "$OUT/capture.pcapng"
wirelab receive "$LAB-node/n0" --write "$OUT/capture.pcapng" --idle 500ms --time 30s --sent 5000 &
receiver=$!
# The receiver must listen before the first frame; its capture exists from then on.
for _ in $(seq 100); do
    [ -s "$OUT/capture.pcapng" ] && break
    sleep 0.05
done
sleep 0.2
wirelab send "$LAB-tester/t0" --length 1514 --frames 5000 --load 20kpps
wait "$receiver"
wirelab lab down "$LAB"
trap - EXIT

# Firmware on an emulated board, where QEMU and the compiler for it are here.
rm -f "$OUT/board.json"
missing=
for tool in qemu-system-arm arm-none-eabi-gcc cmake ninja; do
    have "$tool" || missing="$missing $tool"
done
if [ -z "$missing" ]; then
    CARGO_TARGET_DIR="$WIRELAB_TREE/target" scripts/firmware.sh zynq7000 >/dev/null
    # A loss on a busy host is a figure here; demo-check.py says what must hold.
    step "Real firmware on an emulated Zynq-7000 with lwIP: echoes, and where the time goes" \
        measure board:zynq7000 --layer udp4 --length 64,256,1024 --direction echo,rx,tx --load 500pps --frames 512 \
        --no-ceiling -o "$OUT/board.json" || true
    step "The same stages in instructions, the same on every host" \
        stages board:zynq7000 --length 64,256,1024 --count 512
else
    printf '\n== No emulated board: there is no%s (scripts/setup.sh test installs them)\n' "$missing"
fi

step "The judge: is every frame there and right?" verify --sent 5000 "$OUT/capture.pcapng"

step "One page of all of it" report "$OUT/link.json" "$OUT/max.json" "$OUT/buffers.json" \
    --title "Ethernet performance of this host's veth pairs" -o "$OUT/report.html" -o "$OUT/report.json"
# Written as root, owned by whoever called.
scripts/as-root.sh chown -R "$(id -u):$(id -g)" "$OUT"
scripts/demo-check.py "$OUT"
printf '\nDone: %s/report.html is the page, %s/report.json the results file.\n' "$OUT" "$OUT"
