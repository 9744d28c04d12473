#!/usr/bin/env bash
# Makes packages of the program for other hosts, without hdl: a .deb and a Python wheel, in target/dist.
set -euo pipefail
WIRELAB_SAY=dist
# shellcheck source=scripts/lib/env.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib/env.sh"
use_rust
cd "$WIRELAB_TREE"
dist=target/dist
# cargo-deb and maturin look for the program there.
export CARGO_TARGET_DIR="$WIRELAB_TREE/target"
# rustc does not search the C compiler's folders for static libraries.
library=$(cc -print-file-name=libelf.a)
[ -e "$library" ] || die "libelf.a is missing, so the program would need libelf on each host; fix: install libelf-dev"
export LIBBPF_SYS_LIBRARY_PATH="${library%/*}"
# Debian 13's libelf reads compressed sections.
if pkg-config --static --libs libelf | grep -q zstd; then
    [ -e "$(cc -print-file-name=libzstd.a)" ] || die "libzstd.a, which libelf needs, is missing; fix: install libzstd-dev"
    export RUSTFLAGS="${RUSTFLAGS:-} -C link-arg=-l:libzstd.a"
fi

say "cargo build --release (Rust $(rustc_version ''), minutes the first time)"
cargo build --release --locked -p wirelab --features static
rm -rf "$dist"
share="$dist/share"
mkdir -p "$share"/{man/man1,bash-completion/completions,zsh/vendor-completions,fish/vendor_completions.d}
program=target/release/wirelab
"$program" man "$share/man/man1" >/dev/null
"$program" completions bash >"$share/bash-completion/completions/wirelab"
"$program" completions zsh >"$share/zsh/vendor-completions/_wirelab"
"$program" completions fish >"$share/fish/vendor_completions.d/wirelab.fish"

cargo deb -p wirelab --no-build --strip --quiet --output "$dist/"
"$WIRELAB_TOOLS/maturin/bin/maturin" build --release --quiet --out "$dist"
for package in "$dist"/*.{deb,whl}; do say "$package: $(du -h "$package" | cut -f1)B"; done
