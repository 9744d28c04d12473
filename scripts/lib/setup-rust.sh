# The part of setup.sh that chooses and installs Rust: an installed one, the distribution's, else rustup's.
# shellcheck shell=bash
# shellcheck disable=SC2154  # dry is set by setup.sh

RUSTUP_INIT=https://static.rust-lang.org/rustup/rustup-init.sh
CARGO_FUZZ_VERSION=0.13.2

# The leading digits and dots of the version that apt would install.
candidate() {
    apt-cache policy "$1" 2>/dev/null | sed -n 's/^ *Candidate: *\([0-9][0-9.]*\).*/\1/p'
}

candidate_is_enough() {
    local version
    version=$(candidate "$1")
    [ -n "$version" ] && version_at_least "$version" "$WIRELAB_MSRV"
}

# The newest version X that is new enough and has rustc-X and cargo-X in the archive.
versioned_rust() {
    local version
    while read -r version; do
        version_at_least "$version" "$WIRELAB_MSRV" || return 1
        if in_archive "cargo-$version"; then echo "$version"; return 0; fi
    done < <(apt-cache search --names-only '^rustc-[0-9]+\.[0-9]+$' 2>/dev/null |
        sed -n 's/^rustc-\([0-9.]*\) .*/\1/p' | sort -rV)
    return 1
}

# rust_plan yes|no (whether with rustfmt and clippy) prints how to install Rust: "apt PACKAGES…", "rustup" (installed), "apt-rustup" or
# "web-rustup".
rust_plan() {
    local version
    # An installed rustup decides: the archive's packages would conflict with its shims.
    if have rustup || [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/rustup" ]; then echo rustup; return 0; fi
    if have apt-cache; then
        if candidate_is_enough rustc && candidate_is_enough cargo; then
            # The archive's own cargo carries its version: 1.85 since Debian 13.
            [ "$1" = yes ] && echo apt rustc cargo rustfmt rust-clippy || echo apt rustc cargo
            return 0
        fi
        if version=$(versioned_rust); then
            [ "$1" = yes ] && echo apt "rustc-$version" "cargo-$version" "rustfmt-$version" "rust-$version-clippy" ||
                echo apt "rustc-$version" "cargo-$version"
            return 0
        fi
        # Debian 12 has a newer Rust for its browsers, without rustfmt and clippy.
        if [ "$1" = no ] && candidate_is_enough rustc-web && in_archive cargo-web; then
            echo apt rustc-web cargo-web
            return 0
        fi
        if [ -n "$(candidate rustup)" ]; then echo apt-rustup; return 0; fi
    fi
    echo web-rustup
}

rustup_toolchain() {
    PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin" run rustup toolchain install "$@" --profile minimal
}

rustup_from_web() {
    local init
    have curl || { apt_update; install_packages curl; }
    init=$(mktemp)
    if run curl --proto '=https' --tlsv1.2 -sSf -o "$init" "$RUSTUP_INIT"; then
        run sh "$init" -y --no-modify-path --default-toolchain none --profile minimal
    else
        rm -f "$init"
        die "rustup cannot be fetched; fix: install Rust $WIRELAB_MSRV or newer by hand (https://rustup.rs)"
    fi
    rm -f "$init"
}

install_rust() {
    local plan components=()
    if [ "$1" = yes ]; then components=(-c rustfmt -c clippy); fi
    have apt-get && apt_update
    plan=$(rust_plan "$1")
    case "$plan" in
        "apt "*)
            # shellcheck disable=SC2086
            install_packages ${plan#apt }
            return 0
            ;;
        apt-rustup) install_packages rustup ;;
        web-rustup) rustup_from_web ;;
    esac
    rustup_toolchain stable "${components[@]}"
}

setup_rust() {
    local wanted=no tools=() folder
    if [[ " $* " == *" check "* ]]; then wanted=yes tools=(fmt clippy); fi
    if ! folder=$(rust_folder "${tools[@]}"); then
        say "Rust $WIRELAB_MSRV or newer${tools[*]:+ with ${tools[*]}} is missing, so it is installed now"
        install_rust "$wanted"
        if [ "$dry" = no ]; then
            folder=$(rust_folder "${tools[@]}") ||
                die "Rust $WIRELAB_MSRV or newer${tools[*]:+ with ${tools[*]}} is still missing; fix: install it by hand (https://rustup.rs)"
            say "Rust $(rustc_version "${folder#.}") is installed"
        fi
    fi
    if [[ " $* " == *" check "* ]]; then setup_deny; fi
    if [[ " $* " == *" fuzz "* ]]; then setup_fuzz; fi
}

# setup_cargo_tool NAME VERSION VERSION-FOR-RUST-1.88-AND-NEWER MEANING: builds a subcommand of cargo that no distribution has;
# without optimisation, which saves minutes.
setup_cargo_tool() {
    local name=$1 version=$2 folder
    if have "$name" || [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/$name" ]; then return 0; fi
    if folder=$(rust_folder) && [ "$folder" != . ]; then local PATH="$folder:$PATH"; fi
    if version_at_least "$(rustc_version '')" 1.88; then version=$3; fi
    say "building $name $version into .cache/tools (about two minutes, once)"
    CARGO_TARGET_DIR="$WIRELAB_TREE/.cache/build" CARGO_PROFILE_RELEASE_OPT_LEVEL=0 CARGO_PROFILE_RELEASE_LTO=off \
        CARGO_PROFILE_RELEASE_DEBUG=0 CARGO_PROFILE_RELEASE_CODEGEN_UNITS=256 \
        run cargo install --quiet --locked --no-track --root "$WIRELAB_TOOLS" "$name@$version" ||
        die "$name cannot be built, so $4; fix: run cargo install $name"
    run rm -rf "$WIRELAB_TREE/.cache/build"
}

# The newer one reads every advisory.
setup_deny() { setup_cargo_tool cargo-deny 0.18.3 0.20.2 "licences cannot be checked"; }

setup_fuzz() {
    PATH="$PATH:${CARGO_HOME:-$HOME/.cargo}/bin"
    if ! have rustup; then
        [ "$(rust_plan yes)" != apt-rustup ] || { apt_update; install_packages rustup; }
        have rustup || rustup_from_web
    fi
    if ! rustup run nightly rustc --version >/dev/null 2>&1; then
        say "fuzzing needs a nightly Rust (for the address sanitizer)"
        rustup_toolchain nightly
    fi
    if ! have cargo-fuzz; then
        say "building cargo-fuzz $CARGO_FUZZ_VERSION into .cache/tools (a minute or two)"
        CARGO_TARGET_DIR="$WIRELAB_TREE/.cache/build" RUSTUP_TOOLCHAIN=nightly \
            run cargo install --quiet --locked --no-track --root "$WIRELAB_TOOLS" "cargo-fuzz@$CARGO_FUZZ_VERSION" ||
            die "cargo-fuzz cannot be built, so nothing can be fuzzed; fix: run cargo install cargo-fuzz"
        run rm -rf "$WIRELAB_TREE/.cache/build"
    fi
}
