# The part of setup.sh that puts one package of PyPI into an environment of its own.
# shellcheck shell=bash

# pypi_package FOLDER MARKER NAME==VERSION HASH: makes FOLDER/MARKER last, so that an incomplete environment is made again; a
# changed archive is refused. Returns 1 if the package cannot be installed.
pypi_package() {
    local venv=$1 marker=$2 package=$3 hash=$4 wanted status=0
    wanted=$(mktemp)
    echo "$package --hash=$hash" >"$wanted"
    run python3 -m venv --clear "$venv" &&
        run "$venv/bin/pip" install --quiet --disable-pip-version-check --no-deps --only-binary :all: \
            --require-hashes -r "$wanted" &&
        run touch "$venv/$marker" || status=1
    rm -f "$wanted"
    return "$status"
}
