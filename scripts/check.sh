#!/usr/bin/env bash
# Style, lints, licences and rules: check.sh [--root DIR] [STEP…]; without steps all of them.
# Every step runs even if an earlier one failed, so that one call shows everything.
set -uo pipefail
WIRELAB_SAY=check
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
# shellcheck source=scripts/lib/env.sh
. "$here/lib/env.sh"
export CARGO_TERM_COLOR="${CARGO_TERM_COLOR:-auto}"
not_checked=()

# Tracked and new files of the tree that match; there may be none.
sources() { git ls-files -co --exclude-standard -z -- "$@"; }

# Proves that the steps with other tools can fail. `make test` proves it for the rules.
step_selftest() { "$here/check-selftest.sh" --tools; }

step_rules() { python3 -B "$here/rules.py" --root "$PWD"; }

step_rustfmt() {
    cargo fmt --all --check || return 1
    local more
    for more in fuzz firmware/stacks/smoltcp; do
        if [ -f "$more/Cargo.toml" ]; then cargo fmt --manifest-path "$more/Cargo.toml" --check || return 1; fi
    done
}

step_clippy() { cargo clippy --workspace --all-targets --all-features --locked --keep-going -- -D warnings; }

step_clang_format() { sources '*.c' '*.h' | xargs -0 -r clang-format --dry-run -Werror; }

step_cppcheck() {
    local options=(--quiet --std=c11 "--enable=warning,style,performance,portability" --error-exitcode=1
        --suppress=missingIncludeSystem --suppress=unusedFunction --suppress=variableScope -U WL_OPTIONS_HEADER
        -I firmware/lib/include) status=0
    sources 'firmware/*/src/*.c' | xargs -0 -r cppcheck "${options[@]}" || status=1
    # The generated header of the registers does not exist before a build.
    sources 'firmware/drivers/*.c' | xargs -0 -r cppcheck "${options[@]}" --suppress=missingInclude \
        -U WL_REGISTERS_HEADER -I firmware/drivers || status=1
    # Correct here: comparisons of a linker script's symbols, vectors that only the processor reads, zeros in a board's address.
    sources 'firmware/boards/*.c' 'firmware/glue/*.c' 'firmware/app/*.c' | xargs -0 -r cppcheck "${options[@]}" \
        --suppress=comparePointers --suppress=unusedStructMember --suppress=badBitmaskCheck \
        '-DBOARD_HOOKS_HEADER="board_hooks.h"' -I firmware/boards/common -I firmware/glue/lwip -I firmware/app || status=1
    return $status
}

step_shellcheck() { sources '*.sh' .ci/run | xargs -0 -r shellcheck -x; }

step_web() { [ "$PWD" != "$WIRELAB_TREE" ] || { npm run --silent --prefix web types && npm run --silent --prefix web lint; }; }

step_rtl() {
    local tools="$here/../rtl/tools" status=0 written=('rtl/src/*.vhd' 'rtl/reference/*.vhd' 'rtl/example/*.vhd')
    sources "${written[@]}" 'rtl/tb/*.vhd' | xargs -0 -r python3 -B "$tools/style.py" || status=1
    # The translation to Verilog must have no latch and no wrong width.
    sources "${written[@]}" | xargs -0 -r python3 -B "$tools/lint.py" || status=1
    return $status
}

# The next two steps compare with pages and figures of this tree, so they skip any other tree.
step_registers() { [ "$PWD" != "$WIRELAB_TREE" ] || python3 -B rtl/tools/register_pages.py; }

step_area() { [ "$PWD" != "$WIRELAB_TREE" ] || python3 -B rtl/tools/area.py; }

step_deny() {
    cargo-deny --locked --all-features check --hide-inclusion-graph licenses bans sources
}

step_advisories() {
    local log
    log=$(mktemp)
    if ! cargo-deny fetch db >"$log" 2>&1; then
        say "the advisory database (https://github.com/rustsec/advisory-db) cannot be fetched:"
        tail -n 3 "$log" >&2
        not_checked+=("advisories: the database cannot be fetched; fix: run \`make check\` with access to github.com")
        rm -f "$log"
        return 0
    fi
    rm -f "$log"
    cargo-deny --locked --all-features check --disable-fetch advisories
}

steps=(selftest rules rustfmt clippy clang_format cppcheck shellcheck web rtl registers area deny advisories)

main() {
    local root=$WIRELAB_TREE wanted=() failed=() step
    while [ $# -gt 0 ]; do
        case "$1" in
            --root) root=$2 && shift 2 ;;
            *) wanted+=("$1") && shift ;;
        esac
    done
    use_rust fmt clippy
    cd "$root" || exit 1
    for step in "${wanted[@]:-${steps[@]}}"; do
        [ "$(type -t "step_$step")" = function ] || die "unknown step '$step'; fix: name one of ${steps[*]}"
        say "$step"
        "step_$step" || failed+=("$step")
    done
    for step in "${not_checked[@]}"; do say "NOT CHECKED: $step"; done
    [ ${#failed[@]} -eq 0 ] || die "FAILED: ${failed[*]}"
    say "passed${not_checked[*]:+, except the steps that were not checked}"
}

main "$@"
