#!/usr/bin/env bash
# Builds espressif/iperf-cmd on ESP-IDF's target linux, and measures it through its console:
# ESP_IDF=FOLDER IPERF_CMD=FOLDER scripts/stacks/esp-idf-console.sh [OPTIONS OF measure…]. The folders are checkouts of
# github.com/espressif/esp-idf and github.com/espressif/iperf-cmd; tried with 6.2 and 1.0.2. Without them it measures the
# previous build. Run it as root: the program has a namespace of its own.
#
# On this target the sockets are those of Linux: this tests Espressif's console and iperf, not its network stack. Signals of its
# scheduler interrupt the system calls of a client, so that only the servers give figures (--direction rx).
set -euo pipefail
WIRELAB_SAY=esp-idf-console
# shellcheck source=scripts/stacks/console-common.sh
. "$(dirname "${BASH_SOURCE[0]}")/console-common.sh"

build=$stacks_out/build-esp-idf
log=$build/build.log

# The example for Linux without lwIP, and what its sources have of lwIP alone.
adapt() {
    local app=$build/iperf-cmd/apps/linux_target
    cat >"$build/without-lwip.h" <<'H'
#ifndef WITHOUT_LWIP_H
#define WITHOUT_LWIP_H
#ifndef __ASSEMBLER__
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#define inet_ntoa_r(address, text, size) inet_ntop(AF_INET, &(address), text, size)
#define ip4_addr_isany(address) ((address)->addr == 0)
#endif
#endif
H
    echo CONFIG_LWIP_ENABLE=n >"$app/sdkconfig.defaults"
    sed -i 's/^#error.*//; /uart_config/d; s/^    ESP_ERROR_CHECK(esp_console_start_repl/    &/' "$app/main/main.c"
    sed -i 's/^    \/\* Register iperf command \*\//    ESP_ERROR_CHECK(esp_console_new_repl_stdio(\&repl_config, \&repl));\n&/' "$app/main/main.c"
    sed -i 's/ console lwip/ console iperf-cmd/' "$app/main/CMakeLists.txt"
    sed -i 's|^include(|set(EXTRA_COMPONENT_DIRS ../../iperf ../../iperf-cmd)\ninclude(|' "$app/CMakeLists.txt"
    sed -i 's|#include "sdkconfig.h"|&\n#include "freertos/FreeRTOS.h"\n#include "freertos/task.h"|' "$build/iperf-cmd/iperf/iperf_private.h"
}

build_it() {
    sources ESP_IDF tools/cmake/project.cmake github.com/espressif/esp-idf
    sources IPERF_CMD apps/linux_target/main/main.c github.com/espressif/iperf-cmd
    needs cmake cmake
    needs ninja ninja-build
    [ -e /usr/include/bsd/string.h ] || die "libbsd is not installed; fix: install the package libbsd-dev"
    mkdir -p "$build"
    : >"$log"
    copy "$IPERF_CMD" "$build/iperf-cmd"
    adapt
    [ -x "$build/venv/bin/python" ] || logged "$log" "the environment of Python" python3 -m venv "$build/venv"
    logged "$log" "what ESP-IDF's build needs of PyPI" "$build/venv/bin/pip" install -q \
        -r "$ESP_IDF/tools/requirements/requirements.core.txt"
    IDF_PATH=$(realpath "$ESP_IDF")
    export IDF_PATH IDF_TARGET=linux IDF_COMPONENT_MANAGER=0 IDF_PYTHON_ENV_PATH=$build/venv PATH=$build/venv/bin:$PATH
    ESP_IDF_VERSION=$(sed -n 's/^set(IDF_VERSION_M.*OR \([0-9]*\))/\1/p' "$IDF_PATH/tools/cmake/version.cmake" | paste -sd.)
    export ESP_IDF_VERSION
    rm -rf "$build/out"
    CFLAGS="-DLWIP_IPV4=1 -DLWIP_IPV6=0 -include $build/without-lwip.h" logged "$log" "ESP-IDF's target linux" cmake -GNinja \
        -S "$build/iperf-cmd/apps/linux_target" -B "$build/out" -DIDF_TARGET=linux -DPYTHON_DEPS_CHECKED=1 -DESP_PLATFORM=1
    logged "$log" "ESP-IDF's target linux" ninja -C "$build/out"
    image esp-idf-linux "$build/out/linux_target.elf" "ESP-IDF $ESP_IDF_VERSION $(revision "$ESP_IDF"), its target linux" \
        "espressif/iperf-cmd $(revision "$IPERF_CMD")" "$(cc --version | head -n 1)"
}

[ -z "${ESP_IDF:-}" ] || build_it
elf=$stacks_out/esp-idf-linux.elf
[ -f "$elf" ] ||
    die "$elf does not exist; fix: ESP_IDF=FOLDER IPERF_CMD=FOLDER with the sources of github.com/espressif/esp-idf and iperf-cmd"
find_wirelab
lab=espidf$$
"$wirelab" lab up "$lab" >/dev/null
trap '"$wirelab" lab down "$lab" >/dev/null' EXIT
ip netns exec "$lab-tester" "$wirelab" measure iperf:198.18.0.1 --console "exec:exec ip netns exec $lab-node $elf" \
    --profile esp-idf "$@"
