#!/usr/bin/env bash
# Installs the missing packages and tools that a target of the Makefile needs: scripts/setup.sh [--dry-run] GROUP…
# Groups: build test long bench check fuzz dist stacks. If nothing is missing, it downloads nothing and needs no root.
set -euo pipefail
WIRELAB_SAY=setup
# shellcheck source=scripts/lib/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"
# shellcheck source=scripts/lib/setup-rust.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/setup-rust.sh"
# shellcheck source=scripts/lib/setup-pypi.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/setup-pypi.sh"
# shellcheck source=scripts/lib/setup-simpy.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/setup-simpy.sh"
# shellcheck source=scripts/lib/setup-dist.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/setup-dist.sh"
# shellcheck source=scripts/lib/setup-hdl.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/setup-hdl.sh"
# shellcheck source=scripts/lib/setup-flows.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/setup-flows.sh"
# shellcheck source=scripts/lib/setup-grafana.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/setup-grafana.sh"
# shellcheck source=scripts/lib/setup-web.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/setup-web.sh"

# group | package | how to see that it is there | without it
packages() {
    cat <<'TABLE'
build|gcc|cmd:cc|!nothing can be linked
build|libc6-dev|file:/usr/include/stdlib.h|!nothing can be linked
build|make|cmd:make|!libbpf is not built
build|pkg-config|cmd:pkg-config|!libelf and zlib are not found
build|clang|cmd:clang|!the eBPF programs are not built
build|llvm|cmd:llvm-strip|!the eBPF programs are not built
build|libbpf-dev|file:/usr/include/bpf/bpf_helpers.h|!the eBPF programs are not built
build|linux-libc-dev|file:/usr/include/linux/bpf.h|!the eBPF programs are not built
build|libelf-dev|file:/usr/include/libelf.h|!libbpf is not built
build|zlib1g-dev|file:/usr/include/zlib.h|!libbpf is not built
build|nodejs|cmd:node|!the page's program is not bundled
build|npm|cmd:npm|!the page's packages are not installed
build|iproute2|cmd:ip|!there are no network namespaces to work in
build|git|cmd:git|results do not name the revision
build|ca-certificates|file:/etc/ssl/certs/ca-certificates.crt|!cargo cannot fetch crates
test|python3|cmd:python3|!the test runner does not start
test|python3-jsonschema|file:/usr/lib/python3/dist-packages/jsonschema/__init__.py|!the schema of results files is not tested
test|cmake|cmd:cmake|!the firmware library is not built
test|ninja-build|cmd:ninja|!the boards' images are not built
test|gcc-arm-none-eabi|cmd:arm-none-eabi-gcc|the firmware library is not compiled for microcontrollers
test|libnewlib-arm-none-eabi|file:/usr/lib/arm-none-eabi/newlib/libc.a|!the boards' images are not linked
test|qemu-system-arm|cmd:qemu-system-arm|tests on emulated boards are skipped
test|gcc-riscv64-unknown-elf|cmd:riscv64-unknown-elf-gcc|!the reference node's image is not linked
test|ghdl-mcode|cmd:ghdl-mcode|!the hardware is neither simulated nor translated
test|g++|cmd:c++|!the translated hardware is not compiled
test|perl|cmd:perl|!Verilator does not start
test|python3-venv|python:ensurepip|!the hardware's tools cannot be installed
test|iputils-ping|cmd:ping|!boards are not pinged
test|postgresql|cmd:pg_ctlcluster|the store is not tested on PostgreSQL
test|netsniff-ng|cmd:trafgen|tests beside trafgen are skipped
test|iperf|cmd:iperf|tests beside iperf 2 are skipped
test|iperf3|cmd:iperf3|tests beside iperf3 are skipped
test|chromium|cmd:chromium|the page is not tested in a browser
test|tshark|cmd:tshark|the captures of hardware are not judged by tshark
long|qemu-system-x86|cmd:qemu-system-x86_64|tests on Linux 6.1 are skipped
long|u-boot-qemu|file:/usr/lib/u-boot/qemu_arm/u-boot.bin|the profile of U-Boot is not tried with one
long|tcl|cmd:tclsh|!the constraint files of the blocks are not tested
bench|python3|cmd:python3|!the figures are not evaluated
bench|python3-venv|python:ensurepip|SimPy is left out of the comparison
bench|netsniff-ng|cmd:trafgen|!there is nothing to compare with
bench|iperf|cmd:iperf|iperf 2 is left out of the comparison
bench|iperf3|cmd:iperf3|iperf3 is left out of the comparison
bench|sockperf|cmd:sockperf|sockperf is left out of the comparison
bench|xdp-tools|cmd:xdp-trafficgen|xdp-trafficgen is left out of the comparison
dist|python3-venv|python:ensurepip|!maturin cannot be installed
check|python3|cmd:python3|!the checks do not start
check|clang-format|cmd:clang-format|!the C sources are not checked
check|cppcheck|cmd:cppcheck|!the firmware library is not checked
check|shellcheck|cmd:shellcheck|!the scripts are not checked
stacks|qemu-system-misc|cmd:qemu-system-riscv64|!NuttX does not run
stacks|kconfig-frontends-nox|cmd:kconfig-conf|!NuttX is not configured
stacks|genromfs|cmd:genromfs|!NuttX is not built
stacks|patch|cmd:patch|!NuttX is not built
stacks|qemu-system-x86|cmd:qemu-system-i386|Zephyr does not run
stacks|device-tree-compiler|cmd:dtc|Zephyr is not built
stacks|gcc-multilib|file:/usr/lib32/crt1.o|Zephyr is not built
stacks|libbsd-dev|file:/usr/include/bsd/string.h|ESP-IDF's target linux is not built
stacks|bison|cmd:bison|U-Boot is not built
stacks|flex|cmd:flex|U-Boot is not built
stacks|libssl-dev|file:/usr/include/openssl/ssl.h|U-Boot is not built
stacks|libgnutls28-dev|file:/usr/include/gnutls/gnutls.h|U-Boot is not built
fuzz|g++|cmd:c++|!libFuzzer is not built
fuzz|python3|cmd:python3|!the list of targets is not checked
TABLE
}

is_there() {
    case "$1" in
        cmd:*) have "${1#cmd:}" ;;
        python:*) python3 -c "import ${1#python:}" 2>/dev/null ;;
        file:*) [ -e "$WIRELAB_ROOT_DIR${1#file:}" ] ;;
    esac
}

# Prints package|meaning for each missing package of the groups.
missing_packages() {
    local group package probe meaning
    while IFS='|' read -r group package probe meaning; do
        [[ " $* " == *" $group "* ]] || continue
        is_there "$probe" || printf '%s|%s\n' "$package" "$meaning"
    done < <(packages) | sort -u
}

run() {
    if [ "$dry" = yes ]; then echo "would run: $*"; return 0; fi
    say "$*"
    "$@"
}

as_root() {
    local words
    if [ "$dry" = yes ]; then words=$(root_words) || true; else
        words=$(root_words) ||
            die "installing needs root, and sudo is missing; fix: run as root: $*"
    fi
    # shellcheck disable=SC2086
    run $words "$@"
}

updated=no
apt_update() {
    if [ "$updated" = yes ]; then return 0; fi
    updated=yes
    as_root apt-get update -qq -o Acquire::Retries=3 ||
        say "apt-get update failed, so the existing lists are used; fix: allow access to the distribution's archive"
}

in_archive() { apt-cache show "$1" >/dev/null 2>&1; }

# Hides the progress of apt, but not its errors.
apt_install() {
    local command=(env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq -o Acquire::Retries=3
        --no-install-recommends "$@")
    if [ "$dry" = yes ]; then as_root "${command[@]}"; else as_root "${command[@]}" >/dev/null; fi
}

# Installs the packages that the archive has. If one fails, the others are still installed.
install_packages() {
    local known=() package
    for package in "$@"; do
        # A dry run does not fetch apt's lists, so it takes every package as known.
        if [ "$dry" = yes ] || in_archive "$package"; then known+=("$package"); fi
    done
    if [ ${#known[@]} -eq 0 ]; then return 0; fi
    if apt_install "${known[@]}" || [ ${#known[@]} -eq 1 ]; then return 0; fi
    say "the installation of all packages failed, so each is installed alone"
    for package in "${known[@]}"; do apt_install "$package" || true; done
}

# Names each package that is still missing; returns 1 if one of them is indispensable.
name_missing() {
    local package meaning fatal=0
    while IFS='|' read -r package meaning; do
        if [ "${meaning#!}" != "$meaning" ]; then fatal=1; fi
        say "$package is missing, so ${meaning#!}; fix: install the package $package"
    done < <(missing_packages "$@")
    return $fatal
}

setup_packages() {
    local missing
    mapfile -t missing < <(missing_packages "$@" | cut -d'|' -f1)
    if [ ${#missing[@]} -eq 0 ]; then return 0; fi
    say "missing packages: ${missing[*]}"
    if ! have apt-get; then
        say "apt-get is missing, so the packages cannot be installed automatically; fix: install them by hand"
    else
        apt_update
        install_packages "${missing[@]}"
    fi
    [ "$dry" = yes ] || name_missing "$@"
}

# Runs the parts in parallel, because half of their time is waiting for registries. Each part prints its own errors.
together() {
    local part pid all=() status=0
    for part in "$@"; do
        if [ "$dry" = yes ]; then "$part"; continue; fi
        "$part" &
        all+=($!)
    done
    for pid in "${all[@]}"; do wait "$pid" || status=1; done
    return $status
}

main() {
    local groups=() parts=() word
    dry=no
    for word in "$@"; do
        case "$word" in
            --dry-run) dry=yes ;;
            build | test | long | bench | check | fuzz | dist | stacks) groups+=("$word") ;;
            *) die "unknown group '$word'; fix: name build, test, long, bench, check, fuzz, dist or stacks" ;;
        esac
    done
    [ ${#groups[@]} -gt 0 ] || die "no group was named; fix: name at least one of build, test, long, bench, check, fuzz, dist or stacks"
    setup_packages "${groups[@]}" || die "a required package is missing; fix: install the packages named above"
    setup_rust "${groups[@]}"
    for word in "${groups[@]}"; do
        case "$word" in
            build) parts+=(setup_web) ;;
            bench) parts+=(setup_simpy) ;;
            test) parts+=(setup_hdl setup_grafana) ;;
            long) parts+=(setup_flows) ;;
            dist) parts+=(setup_dist) ;;
        esac
    done
    together "${parts[@]}"
}

main "$@"
