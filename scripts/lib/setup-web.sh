# The part of setup.sh that installs the npm packages of the page's program: what bundles, checks and tests it.
# shellcheck shell=bash
# shellcheck disable=SC2154  # dry is set by setup.sh

setup_web() {
    local web="$WIRELAB_TREE/web" modules="${WIRELAB_ROOT_DIR:-$WIRELAB_TREE}/web/node_modules"
    # Written last, and what it was made from: packages half installed or of other versions are installed again.
    if cmp -s "$web/package-lock.json" "$modules/complete"; then return 0; fi
    say "the page's packages come from the npm registry into web/node_modules (140 MB, once)"
    # No package runs a program of its own here, and the lock file has the hash of each.
    if run npm ci --prefix "$web" --ignore-scripts --no-audit --no-fund --loglevel=error; then
        if [ "$dry" = yes ]; then return 0; fi
        cat "$web/package-lock.json" >"$modules/complete"
        return 0
    fi
    die "the page's packages could not be installed, so no report can be built; fix: access to registry.npmjs.org, node 18 or newer"
}
