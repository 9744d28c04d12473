# The part of setup.sh that installs the npm packages that bundle, check and test the page's program.
# shellcheck shell=bash
# shellcheck disable=SC2154  # dry is set by setup.sh

setup_web() {
    local web="$WIRELAB_TREE/web" modules="${WIRELAB_ROOT_DIR:-$WIRELAB_TREE}/web/node_modules"
    # `complete` is written last, with the lock file: incomplete packages or other versions are installed again.
    if cmp -s "$web/package-lock.json" "$modules/complete"; then return 0; fi
    say "the page's packages come from the npm registry into web/node_modules (140 MB, once)"
    # No package runs its own scripts, and the lock file has the hash of each.
    if run npm ci --prefix "$web" --ignore-scripts --no-audit --no-fund --loglevel=error; then
        if [ "$dry" = yes ]; then return 0; fi
        cat "$web/package-lock.json" >"$modules/complete"
        return 0
    fi
    die "the page's packages cannot be installed; fix: use node 18 or newer with access to registry.npmjs.org"
}
