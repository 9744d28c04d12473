#!/usr/bin/env bash
# The main job on real frames, in private network namespaces: from the limit to the report, in about a minute.
set -euo pipefail
# shellcheck source=scripts/lib/env.sh
. "$(dirname "$0")/lib/env.sh"
cd "$WIRELAB_TREE"

OUT="${1:-out}"
SIZES=66,438,810,1182,1498
LAB="demo-$$"
WIRELAB="${CARGO_TARGET_DIR:-target}/release/wirelab"
# Seconds of each step on two idle cores; the time left is computed from them.
TAKES=(1 14 8 2 6 11 3 1 1)
mkdir -p "$OUT"
rm -f "$OUT"/{link,max,buffers,board,capture}.json "$OUT"/{capture.pcapng,busy.txt}

wirelab() { scripts/as-root.sh "$WIRELAB" "$@"; }

idle_ticks() { awk '/^cpu /{print $5 + $6}' /proc/stat; }

# Measures how many cores other work takes while the demo is idle. On a busy host a loss or a missed rate is not judged.
other_work() {
    local before after
    sleep 0.3
    before=$(idle_ticks)
    sleep 0.5
    after=$(idle_ticks)
    awk -v idle="$((after - before))" -v cores="$(nproc)" -v hertz="$(getconf CLK_TCK)" \
        'BEGIN { busy = cores - idle / hertz / 0.5; print (busy > 0 ? busy : 0) }' >>"$OUT/busy.txt"
}

number=0 planned=0
say_step() {
    local left=0 seconds
    for seconds in "${TAKES[@]:number}"; do left=$((left + seconds)); done
    # A host that was slower so far is expected to stay slower.
    if [ "$planned" -gt 0 ] && [ "$SECONDS" -gt "$planned" ]; then left=$((left * SECONDS / planned)); fi
    planned=$((planned + TAKES[number])) number=$((number + 1))
    printf '\n== [%s of %s, about %s s left] %s\n' "$number" "${#TAKES[@]}" "$left" "$1"
}

# Status 1 means a failed figure, which demo-check.py judges later; any other failure ends the demo.
judged_later() { "$@" || [ $? -eq 1 ]; }

step() {
    say_step "$1"
    printf '   wirelab %s\n\n' "${*:2}"
    judged_later wirelab "${@:2}"
}

step "What a link of 100 Mbit/s can carry" limits --rate 100M --payload 46,1500 --cpu 100M

other_work
step "Four port pairs, full duplex, at a link rate of 100 Mbit/s" \
    measure lab:4 --payload "$SIZES" --direction both --rate 100M --load max --time 500ms \
    -o "$OUT/link.json"

other_work
step "The same sizes at this host's highest rate, on one pair" \
    measure lab:1 --payload "$SIZES" --load max --time 500ms -o "$OUT/max.json"

other_work
step "50 frames of length 1514, each kind of buffers 200 times" \
    measure lab:1 --length 1514 --frames 50 --buffers prefilled,copied,copied-ahead,in-place \
    --no-ceiling -o "$OUT/buffers.json"

other_work
step "A capture, written from frames that crossed a veth pair" lab up "$LAB"
trap 'wirelab lab down "$LAB" >/dev/null 2>&1 || true' EXIT
wirelab receive "$LAB-node/n0" --write "$OUT/capture.pcapng" --idle 500ms --time 30s --sent 5000 &
receiver=$!
# The receiver must listen before the first frame is sent. It creates its capture file when it listens.
for _ in $(seq 100); do
    [ -s "$OUT/capture.pcapng" ] && break
    sleep 0.05
done
sleep 0.2
judged_later wirelab send "$LAB-tester/t0" --length 1514 --frames 5000 --load 20kpps
judged_later wait "$receiver"
wirelab lab down "$LAB"
trap - EXIT

# Firmware on an emulated board, if QEMU and the compiler for the firmware are installed.
missing=
for tool in qemu-system-arm arm-none-eabi-gcc cmake ninja; do
    have "$tool" || missing="$missing $tool"
done
if [ -z "$missing" ]; then
    CARGO_TARGET_DIR="$WIRELAB_TREE/target" scripts/firmware.sh zynq7000 >/dev/null
    other_work
    step "Real firmware on an emulated Zynq-7000 with lwIP: echoes, and the time of each stage" \
        measure board:zynq7000 --layer udp4 --length 64,256,1024 --direction echo,rx,tx --load 500pps --frames 512 \
        --no-ceiling -o "$OUT/board.json"
    step "The same stages in instructions, the same on every host" \
        stages board:zynq7000 --length 64,256,1024 --count 512
else
    say_step "No emulated board, because programs are missing:$missing; fix: run scripts/setup.sh test"
    number=$((number + 1))
fi

other_work
step "The judge: has every frame arrived, and is it correct?" verify --sent 5000 "$OUT/capture.pcapng"
judged_later wirelab verify --sent 5000 "$OUT/capture.pcapng" --json >"$OUT/capture.json"

step "One page of all results" report "$OUT/link.json" "$OUT/max.json" "$OUT/buffers.json" \
    --title "Ethernet performance of this host's veth pairs" -o "$OUT/report.html" -o "$OUT/report.json"
# wirelab wrote the files as root; the calling user gets them.
scripts/as-root.sh chown -R "$(id -u):$(id -g)" "$OUT"
scripts/demo-check.py "$OUT"
printf '\nDone in %s s: %s/report.json is the results file, and the page is\n%s/report.html\n' \
    "$SECONDS" "$OUT" "$(cd "$OUT" && pwd)"
