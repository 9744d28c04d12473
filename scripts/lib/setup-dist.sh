# The part of setup.sh that installs the tools for packages: cargo-deb, and maturin in an environment of its own.
# shellcheck shell=bash

# The version, and the hash of its archive on PyPI; a changed archive is refused.
MATURIN_VERSION=1.16.0
MATURIN_HASH=sha256:837db2f4d93d4899c3ac393fb3cc9eebf35b6002336e5d574f4a4fb6c49fe283

setup_maturin() {
    local venv="$WIRELAB_TOOLS/maturin"
    if [ -e "$venv/$MATURIN_VERSION" ]; then return 0; fi
    say "maturin $MATURIN_VERSION comes from PyPI into .cache/tools (10 MB, once)"
    pypi_package "$venv" "$MATURIN_VERSION" "maturin==$MATURIN_VERSION" "$MATURIN_HASH" ||
        die "maturin cannot be installed, so no wheel can be made; fix: use Linux on x86-64 with access to pypi.org"
}

setup_dist() {
    setup_cargo_tool cargo-deb 3.8.0 3.8.0 "no .deb can be made"
    setup_maturin
}
