#!/usr/bin/env bash
# Runs every entry of the firmware library in libFuzzer with sanitizers, for SECONDS (30) each; stops at the first failure.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
lib=firmware/lib app=firmware/app corpus=fuzz/corpus
build="${CARGO_TARGET_DIR:-target}/firmware/fuzz"
seconds=${1:-30}
options=(-g -O1 "-fsanitize=fuzzer,address,undefined" -fno-sanitize-recover=all "-I$lib/include" "-I$lib/tests" "-I$app")

# entry "FUZZ-FILE CORPUS…" SOURCE…: builds the entry from the sources, and runs it.
fuzz() {
    local words
    read -ra words <<<"$1"
    local entry=${words[0]} name
    shift
    name=$(basename "$entry" .c)
    echo "firmware: $name for $seconds s"
    # New inputs go to a scratch corpus: those of the repository are chosen by hand and stay small.
    mkdir -p "$build/corpus/$name"
    clang "${options[@]}" "$@" "$entry" -o "$build/$name"
    "$build/$name" "$build/corpus/$name" "${words[@]:1}" -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 \
        -artifact_prefix="$build/$name-" -print_final_stats=1
}

if ! echo 'int LLVMFuzzerTestOneInput(void) { return 0; }' |
    { mkdir -p "$build" && clang -x c -fsanitize=fuzzer - -o "$build/there" 2>/dev/null; }; then
    echo "firmware: NOT FUZZED: clang or its libFuzzer is missing; fix: install clang and its libclang-rt-dev"
    exit 0
fi
fuzz "$lib/fuzz/fuzz_frame.c $corpus/test_frame" "$lib"/src/frame_*.c
fuzz "$lib/fuzz/fuzz_echo.c $corpus/test_frame" "$lib/src/echo.c"
fuzz "$lib/fuzz/fuzz_identify.c $corpus/test_frame" "$lib/src/identify.c"
fuzz "$lib/fuzz/fuzz_control.c $corpus/control_line $corpus/control_server $lib/fuzz/corpus/control" "$lib"/src/control_*.c
fuzz "$lib/fuzz/fuzz_iperf.c $lib/fuzz/corpus/iperf" "$lib"/src/iperf_*.c
fuzz "$app/tests/fuzz_app.c $lib/fuzz/corpus/app" -DWL_LFSR_WINDOW=1 -DWL_TRACK_EXTENT=0 "$app"/app_{proof,trial,start,send,blast}.c \
    "$app"/app_{receive,report}.c "$app/pace.c" "$lib"/src/{blast,blast_frame,capture,capture_cost,echo}.c \
    "$lib"/src/frame_*.c "$lib"/src/control_*.c
