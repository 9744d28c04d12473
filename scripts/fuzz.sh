#!/usr/bin/env bash
# Runs every fuzz target for SECONDS (30), starting from its corpus, then those of the firmware library in C; stops at the first
# failure.
set -euo pipefail
WIRELAB_SAY=fuzz
# shellcheck source=scripts/lib/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"
PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
seconds=${1:-30}
cd "$WIRELAB_TREE"
mapfile -t targets < <(scripts/fuzz-list.sh)
[ ${#targets[@]} -gt 0 ] || die "fuzz/fuzz_targets has no target; fix: restore it from git"
python3 -B scripts/rules.py fuzz || die "the targets break the rule \`fuzz\`; fix: correct the findings above"
cd fuzz
for target in "${targets[@]}"; do
    say "$target for $seconds s"
    # New inputs go to a scratch corpus: the one in the repository is chosen by hand and stays small.
    scratch="target/corpus/$target"
    mkdir -p "$scratch"
    RUSTUP_TOOLCHAIN=nightly cargo fuzz run "$target" "$scratch" "corpus/$target" -- \
        -max_total_time="$seconds" -rss_limit_mb=2048 -timeout=10 -print_final_stats=1 ||
        die "$target failed on the input in fuzz/artifacts/$target; fix: correct the error above"
done
cd "$WIRELAB_TREE"
firmware/lib/fuzz/run.sh "$seconds" ||
    die "an entry of the firmware library failed on the input in target/firmware/fuzz; fix: correct the error above"
say "${#targets[@]} targets, $seconds s each, none failed"
