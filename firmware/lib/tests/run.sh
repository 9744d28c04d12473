#!/usr/bin/env bash
# Builds the firmware library for the host, with AddressSanitizer and UBSan, and runs its tests: one stream of TAP.
set -uo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
tree="$here/../../.."
build="${WIRELAB_FIRMWARE_BUILD:-$tree/target/firmware/host}"
points=0

# Passes a program's points on with new numbers, and adds a failure if it failed or had fewer points than planned.
run() {
    local name=$1 line planned='' seen=0 status=unknown
    shift
    while IFS= read -r line; do
        case "$line" in
            1..*) planned=${line#1..} ;;
            ok\ * | not\ ok\ *)
                points=$((points + 1)) seen=$((seen + 1))
                echo "${line%%ok *}ok $points - $name: ${line#* - }"
                ;;
            "status "*) status=${line#status } ;;
            *) echo "# $line" ;;
        esac
    done < <("$build/$name" "$@" 2>&1; echo "status $?")
    if [ "$status" != 0 ] || [ "$seen" != "$planned" ]; then
        points=$((points + 1))
        echo "not ok $points - $name ends with status $status after $seen of ${planned:-unknown} tests"
    fi
}

# The size of a module for a processor in firmware/README.md.
shown() {
    awk -F '|' -v module="$1" -v cpu="$2" '
        function plain(cell) { cell = tolower(cell); gsub(/[ ,+-]|plus/, "", cell); return cell }
        plain($2) == "module" && plain($3) ~ /^cortex/ { for (i = 3; i < NF; i++) if (plain($i) == plain(cpu)) column = i }
        column && $2 ~ "^ (the application \\()?`?" module "`?[ ,)]" { print plain($column); exit }
    ' "$here/../../README.md"
}

# Whether a size agrees with the README: exactly with the compiler that it names, else within 5 %.
agrees() {
    local total=$1 shown=$2 compiler=$3 apart
    apart=$((total > shown ? total - shown : shown - total))
    case "$("$compiler" -dumpfullversion)" in
        12.2.*) [ "$apart" = 0 ] ;;
        *) [ $((apart * 20)) -le "$shown" ] ;;
    esac
}

# Compiles each module for a microcontroller without a warning, and compares its size there (-Os) with the README.
cross() {
    local cpu=$1 compiler=$2 module file total objects most name readme
    shift 2
    points=$((points + 1))
    if ! command -v "$compiler" >/dev/null; then
        echo "ok $points - compiles for $cpu # SKIP $compiler: $compiler is not installed"
        return
    fi
    mkdir -p "$build/$cpu"
    for module in 'frame_*' capture capture_cost load echo scenario identify blast blast_frame 'control_*' 'iperf_*' app; do
        objects=()
        for file in $(sources "$module"); do
            objects+=("$build/$cpu/$(basename "$file" .c).o")
            if ! "$compiler" "$@" -std=c11 -Os -ffreestanding -Wall -Wextra -Wpedantic -Wconversion -Werror \
                -I"$here/../include" -I"$here/../../app" -c "$file" -o "${objects[-1]}"; then
                echo "not ok $points - $cpu: $file"
                return
            fi
        done
        read -r -a total <<<"$("${compiler%gcc}size" -t "${objects[@]}" | tail -n 1)"
        # The promised sizes: iperf below 6 KB, capture below 600 bytes.
        case "$cpu $module" in
            'cortex-m3 iperf_*') most=5999 ;;
            'cortex-m3 capture') most=599 ;;
            *) most=99999 ;;
        esac
        if [ "${total[0]}" -gt "$most" ]; then
            echo "not ok $points - $cpu: $module takes ${total[0]} bytes, more than $most"
            return
        fi
        name=${module%_\*}
        readme=$(shown "$name" "$cpu")
        if ! agrees "${total[0]}" "${readme:-0}" "$compiler"; then
            echo "not ok $points - $cpu: $name takes ${total[0]} bytes, and firmware/README.md shows ${readme:-nothing}"
            return
        fi
        echo "# $cpu, $name: ${total[0]} bytes of code and constants, $((total[1] + total[2])) bytes of RAM"
    done
    echo "ok $points - every module compiles for $cpu, and takes as much as the README shows"
}

# The files of a module.
sources() {
    # The name of a module may be a pattern, so it is not quoted.
    # shellcheck disable=SC2086
    case "$1" in
        app) echo "$here"/../../app/app_*.c "$here/../../app/pace.c" ;;
        *) echo "$here"/../src/$1.c ;;
    esac
}

main() {
    mkdir -p "$build"
    if ! { cmake -S "$here/.." -B "$build" -DWL_TESTS=ON && cmake --build "$build" -j 2; } >"$build/log" 2>&1; then
        tail -n 30 "$build/log" | sed 's/^/# /'
        echo "Bail out! the firmware library does not build; fix: correct the errors above"
        exit 1
    fi
    python3 "$here/vectors.py" "$tree/spec/vectors/test-frame.json" >"$build/test-frame.txt" || exit 1
    run test_frame "$build/test-frame.txt"
    run test_frame_window "$build/test-frame.txt"
    run test_track
    run test_track_wide
    run test_track_small
    run test_capture
    run test_capture_off
    run test_load
    run test_echo
    run test_scenario
    run test_identify
    run test_blast
    run test_blast_frame
    run test_probes
    run test_memory
    run test_line "$tree/spec/vectors/node-control.txt"
    run test_line_ipv4 "$tree/spec/vectors/node-control.txt"
    run test_control
    run test_control_udp
    run test_secret
    run test_serial
    run test_app
    run test_proof
    run test_unit
    run replay_control control_line "$tree"/fuzz/corpus/control_line/* "$tree"/fuzz/corpus/control_server/* \
        "$here"/../fuzz/corpus/control/*
    run test_iperf_udp
    run test_iperf_tcp
    run test_iperf_forged
    run test_iperf_older
    run replay_iperf iperf2 "$tree"/fuzz/corpus/iperf2_header/* "$tree"/fuzz/corpus/iperf2_receiver/* "$here"/../fuzz/corpus/iperf/*
    run replay_frame test_frame "$tree"/fuzz/corpus/test_frame/*
    run replay_echo echo "$tree"/fuzz/corpus/test_frame/*
    run replay_app app "$here"/../fuzz/corpus/app/*
    run replay_identify identify "$tree"/fuzz/corpus/test_frame/*
    for cpu in cortex-m0plus cortex-m3 cortex-a9 cortex-r5; do
        cross "$cpu" "arm-none-eabi-gcc" -mcpu="$cpu" -mthumb
    done
    cross rv32imac "riscv64-unknown-elf-gcc" -march=rv32imac -mabi=ilp32
    echo "1..$points"
}

main
