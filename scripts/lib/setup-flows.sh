# The part of setup.sh that installs FuseSoC, LiteX and the schema of IP-XACT for the tests of rtl/flows.
# shellcheck shell=bash
# shellcheck disable=SC2154  # dry is set by setup.sh

WIRELAB_FLOWS="$WIRELAB_TOOLS/flows"

setup_flows() {
    local lists="$WIRELAB_TREE/rtl/flows" pip=("$WIRELAB_FLOWS/bin/pip" install --quiet --disable-pip-version-check --require-hashes)
    # `complete` is written last, as in setup-hdl.sh.
    if [ -e "$WIRELAB_FLOWS/bin/python3" ] &&
        cat "$lists"/requirements{,-schema}.txt | cmp -s - "$WIRELAB_FLOWS/complete"; then
        return 0
    fi
    say "FuseSoC and LiteX come from PyPI into .cache/tools/flows (about 80 MB, once)"
    if run python3 -m venv --clear "$WIRELAB_FLOWS" &&
        run "${pip[@]}" -r "$lists/requirements.txt" &&
        run "${pip[@]}" --no-deps --only-binary :all: -r "$lists/requirements-schema.txt"; then
        if [ "$dry" = no ]; then cat "$lists"/requirements{,-schema}.txt >"$WIRELAB_FLOWS/complete"; fi
        return 0
    fi
    say "FuseSoC and LiteX cannot be installed, so the tests of rtl/flows are skipped; fix: allow access to pypi.org"
}
