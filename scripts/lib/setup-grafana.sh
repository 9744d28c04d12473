# The part of setup.sh that installs Grafana's own model of dashboards; a test reads the dashboard of docs/ with it.
# shellcheck shell=bash

# The version, and the hash of its archive on PyPI; a changed archive is refused.
GRAFANA_SDK_VERSION=10.1.0
GRAFANA_SDK_RELEASE="1769699998!$GRAFANA_SDK_VERSION"
GRAFANA_SDK_HASH=sha256:d131ffe49057fb669ba31ce7e28a303c96b3aecf4332b20de33cfa55110d498c

setup_grafana() {
    local venv="$WIRELAB_TOOLS/grafana"
    if [ -e "$venv/$GRAFANA_SDK_VERSION" ]; then return 0; fi
    say "grafana-foundation-sdk $GRAFANA_SDK_VERSION comes from PyPI into .cache/tools (0.3 MB, once)"
    pypi_package "$venv" "$GRAFANA_SDK_VERSION" "grafana-foundation-sdk==$GRAFANA_SDK_RELEASE" "$GRAFANA_SDK_HASH" ||
        say "grafana-foundation-sdk cannot be installed, so its test of the dashboard is skipped; fix: allow access to pypi.org"
}
