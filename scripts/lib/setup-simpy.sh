# The part of setup.sh that installs SimPy, which the simulation is compared with, into an environment of its own.
# shellcheck shell=bash

# The version, and the hash of its archive on PyPI; a changed archive is refused.
SIMPY_VERSION=4.1.1
SIMPY_HASH=sha256:7c5ae380240fd2238671160e4830956f8055830a8317edf5c05e495b3823cd88

# The other figures do not need SimPy, so a failure is only reported.
setup_simpy() {
    local venv="$WIRELAB_TOOLS/simpy-$SIMPY_VERSION"
    if [ -e "$venv/complete" ]; then return 0; fi
    pypi_package "$venv" complete "simpy==$SIMPY_VERSION" "$SIMPY_HASH" ||
        say "SimPy cannot be installed, so it is left out of the comparison; fix: allow access to pypi.org"
}
