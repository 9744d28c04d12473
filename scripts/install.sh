#!/usr/bin/env bash
# Puts the built wirelab, its man page, its shell completions and the boards' images under a prefix: install.sh PREFIX
set -euo pipefail
WIRELAB_SAY=install
# shellcheck source=scripts/lib/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"
prefix=${1:?no prefix is given; fix: install.sh PREFIX, e.g. /usr/local}
built="${CARGO_TARGET_DIR:-$WIRELAB_TREE/target}/release/wirelab"
[ -x "$built" ] || die "$built does not exist; fix: run \`make build\`"

# Generated first, so that a failure leaves nothing half installed.
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
"$built" man >"$scratch/wirelab.1"
for shell in bash zsh fish; do "$built" completions "$shell" >"$scratch/$shell"; done

words=
existing=$prefix
while [ ! -e "$existing" ]; do existing=$(dirname "$existing"); done
if [ ! -w "$existing" ]; then
    words=$(root_words) || die "$existing is not writable and sudo is missing; fix: make install PREFIX=\$HOME/.local"
fi
put() {
    say "$prefix/$3"
    # shellcheck disable=SC2086
    $words install -D -m "$1" "$2" "$prefix/$3"
}
put 755 "$built" bin/wirelab
put 644 "$scratch/wirelab.1" share/man/man1/wirelab.1
put 644 "$scratch/bash" share/bash-completion/completions/wirelab
put 644 "$scratch/zsh" share/zsh/site-functions/_wirelab
put 644 "$scratch/fish" share/fish/vendor_completions.d/wirelab.fish
# The boards' images, if `make firmware` has built them.
for image in "${CARGO_TARGET_DIR:-$WIRELAB_TREE/target}"/firmware/*.elf; do
    if [ -f "$image" ]; then put 644 "$image" "share/wirelab/firmware/$(basename "$image")"; fi
done
