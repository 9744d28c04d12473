#!/usr/bin/env bash
# Proves that the checks can fail: breaks one thing after another in a small tree and requires the finding.
# Prints TAP. Without arguments the project's own rules; with --tools the steps that call other tools.
set -uo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
count=0
status=0

report() {
    count=$((count + 1))
    if [ "$1" = 0 ]; then echo "ok $count - $2"; else
        status=1
        echo "not ok $count - $2"
        sed 's/^/# /' "$scratch/log"
    fi
}

# A tree in which every rule is kept.
good_tree() {
    local tree=$1
    mkdir -p "$tree"/{bpf,crates/a/src,crates/a/tests,crates/c/src,docs,fuzz/fuzz_targets,fuzz/corpus/fuzz_a,scripts,tests}
    git -C "$tree" init -q
    cp "$here/../deny.toml" "$here/../.clang-format" "$tree/"
    cat >"$tree/Cargo.toml" <<'X'
[workspace]
resolver = "3"
members = ["crates/*"]
X
    cat >"$tree/crates/a/Cargo.toml" <<'X'
[package]
name = "a"
version = "0.1.0"
edition = "2024"
license = "MIT"
X
    cat >"$tree/Cargo.lock" <<'X'
version = 4

[[package]]
name = "a"
version = "0.1.0"

[[package]]
name = "c"
version = "0.1.0"
dependencies = [
 "a",
]
X
    cat >"$tree/crates/c/Cargo.toml" <<'X'
[package]
name = "c"
version = "0.1.0"
edition = "2024"
license = "MIT"
publish = false

[dependencies]
a = { path = "../a" }
X
    # shellcheck disable=SC2016
    printf '//! A crate that uses another. No crate uses it. It knows `a`. Start reading here.\n' >"$tree/crates/c/src/lib.rs"
    cat >"$tree/crates/a/src/lib.rs" <<'X'
//! A crate that keeps all rules. All crates but `b` and `d` use it. It knows no other
//! crate. Start reading at `sys.rs`.

pub mod sys;
X
    cat >"$tree/crates/a/src/sys.rs" <<'X'
//! The one place for unsafe code.

/// The first byte.
pub fn first(bytes: &[u8; 2]) -> u8 {
    // SAFETY: the array has two bytes.
    unsafe { *bytes.as_ptr() }
}
X
    cat >"$tree/crates/a/tests/replay.rs" <<'X'
//! Replays the corpus of fuzz_a.

#[test]
fn corpus_is_replayed() {
    if std::env::var_os("HAVE_TAP").is_none() {
        eprintln!("WIRELAB-SKIP tap: none");
    }
}
X
    cat >"$tree/docs/acceptance.md" <<'X'
| what | test |
|---|---|
| the corpus is replayed | `crates/a/tests/replay.rs::corpus_is_replayed` |
| the demo runs | `make demo` |
| firmware | `crates/a/tests/t.c::it_holds` |
X
    cat >"$tree/docs/architecture.md" <<'X'
```mermaid
flowchart TD
  upper["what is made: c, d"]
  lower["libraries: a, b"]
  upper --> lower
```

`crates/a/` begins in `crates/a/src/sys.rs::first`, `crates/b/` beside it, and `crates/*/src/lib.rs`, `crates/c/` uses it, `crates/d/` nobody ([promises](trust.md)).
Beside `crates/`: `bpf/`, `docs/`, `fuzz/`, `scripts/`, `tests/`.
X
    cat >"$tree/docs/trust.md" <<'X'
| the corpus holds | `crates/a/tests/replay.rs::corpus_is_replayed` |
X
    cat >"$tree/docs/benchmarks.md" <<'X'
| what | requirement | goal | wirelab, median | peer, median | ratio or range (95 %) | verdict |
|---|---|---|---|---|---|---|
| frames | – | – | 3.80 M frames/s | peer 1.00 M frames/s | 3.80 (3.10 to 4.20) | met |
| the same | – | – | 1 M frames/s | – | 1 to 2 M frames/s | met |
| the same | – | – | 2 M frames/s | – | 1 to 2 M frames/s | met |
X
    cat >"$tree/README.md" <<'X'
| test | wirelab | peer | ratio | verdict |
|---|---|---|---|---|
| Frames | 3.80 M frames/s | peer 1.00 M frames/s | 3.80 × (3.10 to 4.20) | met <!-- benchmarks: frames --> |
X
    # A crate with words that are allowed where they stand.
    printf 'way out => fix\ndocs: is told => is reported\n' >"$tree/scripts/words.txt"
    printf '| word | meaning | not |\n|---|---|---|\n| fix | what to do | way out |\n| a | b | – |\n' >"$tree/docs/glossary.md"
    mkdir -p "$tree/crates/b/src"
    printf '//! A crate. No crate uses it. It knows no other crate. Start reading here.\n\n// It is told the fix.\npub fn the_way_out() {}\n' >"$tree/crates/b/src/lib.rs"
    printf '[package]\nname = "b"\nversion = "0.1.0"\nedition = "2024"\nlicense = "MIT"\n' >"$tree/crates/b/Cargo.toml"
    printf '\n[[package]]\nname = "b"\nversion = "0.1.0"\n' >>"$tree/Cargo.lock"
    good_circles "$tree"
    local crate layer
    for crate in a b c d; do
        layer=libraries
        case $crate in c | d) layer="what is made" ;; esac
        sed -i "1i [package.metadata.room]\nlayer = \"$layer\"\nis = \"a crate\"\nstart = [\"src/lib.rs\"]\n" "$tree/crates/$crate/Cargo.toml"
    done
    good_errors "$tree"
    printf '/* A test. */\nint main(void)\n{\n\tRUN(it_holds);\n}\n' >"$tree/crates/a/tests/t.c"
    cat >"$tree/fuzz/Cargo.toml" <<'X'
[package]
name = "f"
version = "0.1.0"
edition = "2024"

[workspace]

[[bin]]
name = "fuzz_a"
path = "fuzz_targets/fuzz_a.rs"
X
    printf '//! Feeds a parser.\nfn main() {}\n' >"$tree/fuzz/fuzz_targets/fuzz_a.rs"
    echo x >"$tree/fuzz/corpus/fuzz_a/empty"
    printf '[[skip]]\nfeature = "tap"\nwhy = "w"\nprobe = "false"\n' >"$tree/tests/skips.toml"
    printf '/* A program. */\nint one(void)\n{\n\treturn 1;\n}\n' >"$tree/bpf/one.bpf.c"
    printf '#!/bin/sh\n# Says yes.\necho yes\n' >"$tree/scripts/yes.sh"
    printf '#!/bin/sh\n# The steps.\n' >"$tree/scripts/check.sh"
}

# Texts of errors with a fix, and those that take it from what they end in.
good_errors() {
    cat >"$1/crates/a/src/errors.rs" <<'X'
//! Errors.

pub enum Good {
    #[error("it broke (\"so\"); fix: mend it")]
    Broke,
    #[error(transparent)]
    Inner(#[from] InnerError),
    #[error("{0}")]
    Whole(String),
    #[error("the file {}: {source}", path.display())]
    File {
        path: PathBuf,
        source: FileError,
    },
    /// The place, and the fix.
    #[error("at: {0}")]
    At(String),
    #[error(
        "field {name}: \
         {why}"
    )]
    Field {
        name: String,
        /// What is wrong, and the fix.
        why: String,
    },
}
X
}

# A crate with a circle that is on the list, and with what looks like one and is none.
good_circles() {
    local src=$1/crates/d/src
    mkdir -p "$src/part"
    printf '[package]\nname = "d"\nversion = "0.1.0"\nedition = "2024"\nlicense = "MIT"\npublish = false\n' >"$1/crates/d/Cargo.toml"
    printf '\n[[package]]\nname = "d"\nversion = "0.1.0"\n' >>"$1/Cargo.lock"
    echo "crates/d/src/ping.rs crates/d/src/pong.rs" >"$1/scripts/circles.txt"
    printf '//! A crate. No crate uses it. It knows no other crate. Start reading here.\n\npub mod late;\npub mod part;\npub mod ping;\npub mod pong;\n' >"$src/lib.rs"
    printf '//! Half of a circle.\n\nuse crate::pong::PONG;\n\npub const PING: u8 = PONG;\n' >"$src/ping.rs"
    printf '//! Its other half.\n\npub const PONG: u8 = 1;\n\npub fn ping() -> u8 {\n    crate::ping::PING\n}\n' >"$src/pong.rs"
    printf '//! A module with a part.\n\nmod inner;\n\npub const PART: u8 = inner::IN;\npub const ONE: u8 = 1;\n' >"$src/part.rs"
    printf '//! The part needs its module.\n\npub const IN: u8 = super::ONE;\n' >"$src/part/inner.rs"
    cat >"$src/late.rs" <<'X'
//! Needs nobody: not `crate::pong::ping`, nor what its test has.

pub use crate::pong::PONG;

pub const LATE: &str = "crate::ping::PING";

#[cfg(test)]
mod tests {
    use crate::ping::PING;

    #[test]
    fn late() {
        assert_eq!(PING, super::LATE.len() as u8 - 16);
    }
}
X
}

# must_find RULE WHAT COMMAND…: the rule holds in the good tree and not after the command, run inside it.
must_find() {
    local rule=$1 what=$2 tree="$scratch/tree"
    shift 2
    rm -rf "$tree"
    good_tree "$tree"
    if ! python3 -B "$here/rules.py" --root "$tree" "$rule" >"$scratch/log" 2>&1; then
        report 1 "$rule holds in a good tree"
        return
    fi
    (cd "$tree" && eval "$*") >"$scratch/log" 2>&1
    python3 -B "$here/rules.py" --root "$tree" "$rule" >"$scratch/log" 2>&1
    [ $? -eq 1 ] && grep -q "^$rule: " "$scratch/log"
    report $? "$rule finds $what"
}

# The rule for docs/architecture.md, broken in each of its parts.
map_rule() {
    local map=docs/architecture.md
    must_find architecture "no map" "rm $map"
    must_find architecture "a top folder that is not on the map" 'mkdir rtl; echo "-- x" >rtl/x.vhd'
    must_find architecture "a crate without a line" "sed -i 's|\`crates/c/\`|it|' $map"
    must_find architecture "a top folder of which only a file is on the map" "sed -i 's|\`bpf/\`|\`bpf/one.bpf.c\`|' $map"
    must_find architecture "a crate in no layer" "sed -i /upper/d $map"
    must_find architecture "a layer with a crate that is gone" "sed -i 's/made: c/made: c, e/' $map"
    must_find architecture "a crate in two layers" "sed -i 's/made: c/made: c, a/' $map"
    must_find architecture "a file that is gone" 'rm crates/a/src/sys.rs'
    must_find architecture "a pattern that matches nothing" "sed -i 's|crates/\*/src|crates/*/sources|' $map"
    must_find architecture "a file that git does not keep" 'echo sys.rs >.gitignore'
    must_find architecture "a function that is gone" 'sed -i "s/fn first/fn second/" crates/a/src/sys.rs'
    must_find architecture "a page that is gone" 'rm docs/trust.md'
    must_find architecture "an arrow to no layer" "sed -i 's/--> lower/--> lower \& nowhere/' $map"
    must_find architecture "arrows in a circle" "sed -i 's/^  upper -->/  lower --> upper\n&/' $map"
    must_find architecture "a dependency without an arrow" "sed -i /--\>/d $map"
    must_find architecture "a dependency within a layer" \
        "sed -i '/upper/d; s/libraries: a/libraries: c, a/' $map"
    local up='= { path = \"../c\" }'
    must_find architecture "a dependency upwards" "printf '[dependencies]\nc $up\n' >>crates/a/Cargo.toml"
    must_find architecture "a build script's dependency upwards" \
        "printf '[build-dependencies]\nc $up\n' >>crates/a/Cargo.toml"
    must_find architecture "a target's dependency upwards" \
        "printf '[target.\"cfg(unix)\".dependencies]\nc $up\n' >>crates/a/Cargo.toml"
    must_find architecture "a dependency upwards under another name" \
        "printf '[dependencies]\nx = { path = \"../c\", package = \"c\" }\n' >>crates/a/Cargo.toml"
    must_find architecture "a dependency upwards by a name of the workspace" \
        "printf '[workspace.dependencies]\nx = { path = \"crates/c\", package = \"c\" }\n' >>Cargo.toml
        printf '[dependencies]\nx.workspace = true\n' >>crates/a/Cargo.toml"
}

# The rule for the heads of crates: crate c uses crate a.
head_rule() {
    local a=crates/a/src/lib.rs c=crates/c/src/lib.rs
    must_find lib_heads "no place to start" "sed -i 's/Start reading//' $a"
    must_find lib_heads "no users" "sed -i 's/All crates.*use it. //' $a"
    must_find lib_heads "a user too few" "sed -i 's/ and .d. use/ use/; s/but /but \`c\`, /' $a"
    must_find lib_heads "a user too many" "sed -i 's/No crate uses/The command line uses/' $c"
    must_find lib_heads "a crate that it does not know" "sed -i 's/knows/knows \`b\` and/' $c"
    must_find lib_heads "a crate that it knows unsaid" "sed -i 's/knows .a./knows no other crate/' $c"
    must_find lib_heads "a dependency that is new" "printf 'b = { path = \"../b\" }\n' >>crates/c/Cargo.toml"
}

# The rule for the rooms of the map.
room_rule() {
    must_find rooms "a crate that does not say what it is" "sed -i '/^is = /d' crates/b/Cargo.toml"
    must_find rooms "a crate without a layer" "sed -i '/^layer = /d' crates/c/Cargo.toml"
    must_find rooms "a start that is no list" "sed -i 's/^start = .*/start = \"src\"/' crates/c/Cargo.toml"
    must_find rooms "a layer that the picture lacks" "sed -i 's/^layer = .*/layer = \"cellar\"/' crates/a/Cargo.toml"
    must_find rooms "a crate in another box than it says" "sed -i 's/made: c, d/made: c/' docs/architecture.md"
}

# The rule for circles. The good tree has one, of ping.rs and pong.rs, which is on the list.
circle_rule() {
    local d=crates/d/src
    must_find circles "no list" 'rm scripts/circles.txt'
    must_find circles "a circle that is not on the list" 'sed -i /ping/d scripts/circles.txt'
    must_find circles "a circle of the list that is gone" "sed -i '/^use/d; s/PONG/1/g' $d/ping.rs"
    must_find circles "a circle that has grown" "sed -i 's/::ping::PING/::late::LATE.len() as u8/' $d/pong.rs
        echo 'use crate::ping::PING;' >>$d/late.rs"
    must_find circles "a path in the code" "echo 'pub fn two() -> u8 { super::part::PART }' >>$d/late.rs
        echo 'use crate::late::two;' >>$d/part.rs"
    must_find circles "a name that is handed on and used" "echo 'pub const OWN: u8 = PONG;' >>$d/late.rs
        echo 'use crate::late::LATE;' >>$d/pong.rs"
    must_find circles "a part of a module" "echo 'use crate::part::inner::IN;' >>$d/late.rs
        echo 'use crate::late::LATE;' >>$d/part/inner.rs"
}

# The rule for node types: crate a registers one, and crate b knows nothing of it.
node_type_rule() {
    # shellcheck disable=SC2016
    local one='pub const ONE: NodeType = NodeType::new("one", open);' b=crates/b/src/lib.rs
    must_find node_types "a comparison" "echo '$one' >>crates/a/src/lib.rs
        echo 'pub fn is(n: &Name) -> bool { n.node_type() == \"one\" }' >>$b"
    must_find node_types "a comparison with a constant" "echo '$one' >>crates/a/src/lib.rs
        echo 'const ONE: &str = \"one\"; pub fn is(n: &Name) -> bool { n.kind == ONE }' >>$b"
    must_find node_types "an arm of a match" "echo '$one' >>crates/a/src/lib.rs
        printf 'pub fn is(n: &Name) -> bool {\n    match n.kind.as_str() {\n        \"two\" | \"one\" => true,\n        _ => false,\n    }\n}\n' >>$b"
    must_find node_types "a prefix" "echo '$one' >>crates/a/src/lib.rs
        echo 'pub fn is(n: &str) -> bool { n.starts_with(\"one:\") }' >>$b"
}

# The rule for the texts of errors.
fix_rule() {
    local a=crates/a/src/lib.rs
    must_find fixes "an error without a fix" 'printf "pub enum E {\n    #[error(\"it broke\")]\n    Broke,\n}\n" >>'$a
    must_find fixes "one whose attribute has several lines" \
        'printf "pub enum E {\n    #[error(\n        \"{} broke (\\\n         twice)\", f(\")\")\n    )]\n    Broke,\n}\n" >>'$a
    must_find fixes "one that ends in the system'\''s words" \
        'printf "pub enum E {\n    #[error(\"no: {source}\")]\n    /// And the fix.\n    No {\n        /// Why.\n        source: io::Error,\n    },\n}\n" >>'$a
    must_find fixes "one that ends in a path" \
        'printf "pub enum E {\n    #[error(\"no {}\", p.display())]\n    No(PathBuf),\n}\n" >>'$a
    must_find fixes "one that ends in any text" \
        'printf "pub enum E {\n    #[error(\"no: {0}\")]\n    No(String),\n}\n" >>'$a
    must_find fixes "a structure" 'printf "#[error(\"it broke\")]\npub struct E;\n" >>'$a
    must_find fixes "an error of a file" \
        'printf "use wirelab_config::Entry;\npub fn f(e: &Entry) { e.error(\n\"write 1\") }\n" >>'$a
    must_find fixes "a failure at run time" 'printf "fn f() { Failure::usage(format!(\n\"it {} broke\", 1)) }\n" >>'$a
    must_find fixes "one that ends in the system'\''s words" \
        'printf "fn f(e: E) { NodeError::Failed(format!(\"cannot read: {e}\")) }\n" >>'$a
    must_find fixes "the text of a closure that makes failures" \
        'printf "fn f() { let bad = |why: &str| Failure::usage(why);\n bad(\"it broke\") }\n" >>'$a
    must_find fixes "the text of a function that makes failures" \
        'printf "fn bad(why: &str) -> Failure {\n Failure::usage(why) }\nfn f() { bad(\"it broke\") }\n" >>'$a
    must_find fixes "an error that is a text" 'printf "fn f() -> R { Err(\"it broke\".to_owned()) }\n" >>'$a
    must_find fixes "one that is put together" 'printf "fn f() -> R { x.ok_or_else(|| format!(\"it {x} broke\")) }\n" >>'$a
    must_find fixes "a fix that is a question" \
        'printf "fn f() { Failure::usage(\"it broke; fix: is it there?\") }\n" >>'$a
    must_find fixes "an exception that is for nothing" \
        'mkdir -p crates/trial/src; echo "//! A." >crates/trial/src/series.rs'
}

# The rule for VHDL blocks, which the good tree has none of.
block_rule() {
    # shellcheck disable=SC2016
    local block='mkdir -p rtl/src rtl/tb docs/blocks; echo "entity one is" >rtl/src/one.vhd
        echo "unit : entity work.one" >rtl/tb/tb_one.vhd; echo "- src/one.vhd" >rtl/one.core; echo "# one" >docs/blocks/one.md'
    must_find blocks "a block without a bench" "$block; echo '-- work.one' >rtl/tb/tb_one.vhd"
    must_find blocks "a block that only a block without a bench has" "$block; mkdir rtl/reference
        mv rtl/tb/tb_one.vhd rtl/reference/two.vhd"
    must_find blocks "a block in no core" "$block; rm rtl/one.core"
    must_find blocks "a block without a page" "$block; mv docs/blocks/one.md docs/blocks/README.md"
    local tree="$scratch/tree"
    rm -rf "$tree"
    good_tree "$tree"
    (cd "$tree" && eval "$block")
    python3 -B "$here/rules.py" --root "$tree" blocks >"$scratch/log" 2>&1
    report $? "blocks holds where a block has all"
}

own_rules() {
    local acceptance=docs/acceptance.md
    must_find lines "a file of 801 lines" 'yes "// line" | head -n 801 >>crates/a/src/lib.rs'
    local long='{ printf "    /// A.\n    pub const fn f(a: [u8; 2]) {\n"; yes "        // }" | head -n 84; printf "    }\n"; }'
    must_find functions "a function of 86 lines" "$long >>crates/a/src/lib.rs"
    circle_rule
    must_find header "a source file that does not say what it is" 'echo "pub fn f() {}" >crates/a/src/f.rs'
    must_find header "a script with nothing but its interpreter" 'printf "#!/bin/sh\necho\n" >scripts/f.sh'
    must_find header "a C file with nothing but a licence" 'printf "// SPDX-License-Identifier: MIT\nint a;\n" >bpf/f.c'
    must_find type_names "a type that is named by position" 'echo "pub struct Seen;" >>crates/a/src/lib.rs'
    must_find type_names "a private type in a test" 'echo "    enum Way { A }" >>crates/a/tests/replay.rs'
    must_find type_names "an import under such a name" 'echo "use std::fmt::{Debug as Told};" >>crates/a/src/lib.rs'
    must_find type_names "a type that is named by position, in the plural" 'echo "pub struct Ways;" >>crates/a/src/lib.rs'
    must_find type_names "a type that is named by what is done" 'echo "struct Asking { a: u8 }" >>crates/a/src/lib.rs'
    must_find type_names "a type that is named by a preposition" 'echo "pub enum Of { A }" >>crates/a/src/lib.rs'
    # shellcheck disable=SC2016
    must_find type_names "a name that four files give to a type" \
        'for i in 1 2 3 4; do printf "//! A.\npub struct Line;\n" >crates/a/src/f$i.rs; done'
    must_find names "a variable" 'echo "fn f() { let told = 1; }" >>crates/a/src/lib.rs'
    must_find names "a field" 'printf "struct S {\n    asked: u8,\n}\n" >>crates/a/src/lib.rs'
    must_find names "a parameter of a closure, after others" 'echo "fn f() { g(|a, seen| a); }" >>crates/a/src/lib.rs'
    must_find names "a word of a longer name" 'echo "fn other_ways(told_ns: u64) {}" >>crates/a/src/lib.rs'
    must_find names "an exception that is for nothing" \
        'mkdir -p crates/trial/src; echo "//! A." >crates/trial/src/lib.rs'
    local commit='git -c user.name=a -c user.email=a@b commit -q --allow-empty -m'
    must_find commits "a subject that is too long" "$commit 'Add $(printf 'x%.0s' {1..69})'"
    must_find commits "a subject that ends in a full stop" "$commit 'Add it.'"
    must_find commits "a subject in lower case" "$commit 'add it'"
    must_find unsafe "unsafe code outside sys" 'cp crates/a/src/sys.rs crates/a/src/fast.rs'
    must_find unsafe "an unsafe block without a reason" 'sed -i /SAFETY/d crates/a/src/sys.rs'
    must_find private "somebody's home directory" 'echo "see /home/somebody/notes" >docs/x.md'
    must_find private "root's home directory" 'echo "see /root/notes" >docs/x.md'
    must_find private "a word of the local list" 'echo "secret (host|path)" >.git/info/words; echo "a secret host" >docs/x.md'
    must_find lone_tests "a file of tests in no binary" \
        'sed -i "s/^edition.*/&\nautotests = false/" crates/a/Cargo.toml; echo "//! All." >crates/a/tests/all.rs'
    must_find acceptance "no document" "rm $acceptance"
    must_find acceptance "no rows" "echo nothing >$acceptance"
    must_find acceptance "a row without a test" "echo '| it is fast | sure |' >>$acceptance"
    must_find acceptance "a test that does not exist" "sed -i s/corpus_is_replayed/corpus_is_gone/ $acceptance"
    must_find acceptance "a file that does not exist" "sed -i s/replay.rs/gone.rs/ $acceptance"
    must_find acceptance "a function that is no test" "sed -i 's/#\\[test\\]//' crates/a/tests/replay.rs"
    must_find acceptance "a C function that nobody runs" "sed -i s/RUN/NOT/ crates/a/tests/t.c"
    must_find acceptance "a target that tests nothing" "sed -i 's/make demo/make clean/' $acceptance"
    must_find acceptance "no page of promises" 'rm docs/trust.md'
    must_find acceptance "a promise whose test does not exist" 'sed -i s/corpus_is_replayed/corpus_is_gone/ docs/trust.md'
    must_find skiplist "no list" 'rm tests/skips.toml'
    must_find skiplist "a feature that no test asks for" 'sed -i s/tap/tun/ tests/skips.toml'
    must_find skiplist "a skip that is not listed" 'echo "// WIRELAB-SKIP moon: full" >>crates/a/tests/replay.rs'
    must_find fuzz "a target that is not registered" 'cp fuzz/fuzz_targets/fuzz_a.rs fuzz/fuzz_targets/fuzz_b.rs'
    must_find fuzz "a registered target that is gone" 'rm fuzz/fuzz_targets/fuzz_a.rs'
    must_find fuzz "an empty corpus" 'rm fuzz/corpus/fuzz_a/empty'
    must_find fuzz "a corpus that git ignores" 'echo "*.pcapng" >.gitignore; echo x >fuzz/corpus/fuzz_a/a.pcapng'
    must_find fuzz "a corpus that is not replayed" 'sed -i s/fuzz_a/fuzz_x/ crates/a/tests/replay.rs'
    must_find figures "a figure that differs from the benchmarks" 'sed -i "s/3.80 M/9.2 M/" README.md'
    must_find figures "benchmarks that were measured again" 'sed -i "s/4.20/4.30/" docs/benchmarks.md'
    must_find figures "a verdict that differs" 'sed -i "s/met <!--/missed <!--/" README.md'
    must_find figures "a row that the benchmarks lack" 'sed -i "s/benchmarks: frames/benchmarks: gone/" README.md'
    must_find figures "a row of which the benchmarks have two" 'sed -i "s/benchmarks: frames/benchmarks: the same/" README.md'
    must_find figures "a speed in the text" 'echo "It sends 9.2 million frames/s." >>README.md'
    must_find figures "a ratio in the text" 'echo "It is 5.8 times as fast." >>README.md'
    must_find figures "a speed in a row without a marker" 'echo "| TCP | 47 Gbit/s | | |" >>README.md'
    must_find figures "a marker outside of a table" 'echo "<!-- benchmarks: frames -->" >>README.md'
    must_find figures "no figures at all" 'echo nothing >README.md'
    must_find figures "no benchmarks" 'rm docs/benchmarks.md'
    must_find words "a word in the README" 'echo "It names the way out." >>README.md'
    must_find words "a word in a page" 'echo "Loss is told." >docs/x.md'
    must_find words "words in two lines of a page" 'printf "The way\nout.\n" >docs/x.md'
    must_find words "a word in a comment" 'echo "// The way out." >>crates/a/src/lib.rs'
    must_find words "words in two lines of a comment" 'printf "/// The way\n/// out.\npub fn f() {}\n" >>crates/a/src/lib.rs'
    must_find words "a word in a string" 'printf "pub const A: &str = \"the way \\\\\n    out\";\n" >>crates/a/src/lib.rs'
    must_find words "a word in a raw string" 'echo "pub const A: &str = r#\"the \"way out\"\"#;" >>crates/a/src/lib.rs'
    must_find words "a word in C" 'echo "/* The way out. */" >>crates/a/tests/t.c'
    must_find words "a word in a script" 'printf "# A.\n\n# The way\n# out.\n" >scripts/f.sh'
    must_find words "a word in a string of Python" 'printf "# A.\nA = (\"the way \"\n    \"out\")\n" >scripts/f.py'
    must_find words "a word in VHDL" 'mkdir rtl; printf -- "-- The way\n-- out.\n" >rtl/x.vhd'
    must_find words "a word in a node file" 'mkdir nodes; echo "about = \"the way out\"" >nodes/n.toml'
    must_find words "a pattern with nothing to write instead" 'echo "some pattern" >>scripts/words.txt'
    must_find words "a pattern that is none" 'echo "(x => y" >>scripts/words.txt'
    must_find words "a word of the glossary that the list lacks" 'echo "| node | a | target, dut |" >>docs/glossary.md'
    must_find words "a word that is kept for nothing" 'echo "keep: target => aim" >>scripts/words.txt'
    must_find words "no glossary" 'rm docs/glossary.md'
    must_find words "no list" 'rm scripts/words.txt'
    node_type_rule
    fix_rule
    block_rule
    must_find unknown_rooms "HDL without a style check" 'mkdir rtl; echo "-- x" >rtl/x.vhd'
    must_find unknown_rooms "TypeScript without a linter" 'mkdir web; echo "// x" >web/x.ts'
    map_rule
    room_rule
    head_rule
}

# must_fail STEP WHAT COMMAND…: the step of check.sh passes in the good tree and fails after the command.
must_fail() {
    local step=$1 what=$2 tree="$scratch/tree"
    shift 2
    rm -rf "$tree"
    good_tree "$tree"
    if ! CARGO_TARGET_DIR="$scratch/target" "$here/check.sh" --root "$tree" "$step" >"$scratch/log" 2>&1; then
        report 1 "$step passes in a good tree"
        return
    fi
    (cd "$tree" && eval "$*")
    ! CARGO_TARGET_DIR="$scratch/target" "$here/check.sh" --root "$tree" "$step" >"$scratch/log" 2>&1
    report $? "$step finds $what"
}

# shellcheck disable=SC2317  # the commands of must_fail call it
# vhdl STATEMENT [FOLDER]: an entity with this one, as one.vhd of rtl/src or another folder of rtl.
vhdl() {
    local folder=rtl/${2:-src}
    mkdir -p "$folder"
    cat >"$folder/one.vhd" <<X
-- An entity.
library ieee;
use ieee.std_logic_1164.all;

entity one is
  port (a, e : in std_logic; y : out std_logic);
end entity;

architecture rtl of one is
begin
$1
end architecture;
X
}

tool_steps() {
    must_fail rules "a broken rule" 'rm docs/acceptance.md'
    must_fail rustfmt "ill-formatted Rust" 'echo "pub  fn f( ) {}" >>crates/a/src/lib.rs'
    must_fail rustfmt "ill-formatted Rust among the fuzz targets" 'echo "fn  f( ) {}" >>fuzz/fuzz_targets/fuzz_a.rs'
    must_fail clippy "a lint" 'echo "pub fn f(v: &Vec<u8>) -> bool { v.len() == 0 }" >>crates/a/src/lib.rs'
    must_fail clippy "a lint in a test" 'echo "fn unused() {}" >>crates/a/tests/replay.rs'
    must_fail clang_format "ill-formatted C" 'echo "int two( void ){return 2;}" >>bpf/one.bpf.c'
    must_fail cppcheck "a null pointer that is used" \
        'mkdir -p firmware/a/src && echo "int f(void) { int *p = 0; return *p; }" >firmware/a/src/a.c'
    # shellcheck disable=SC2016
    must_fail shellcheck "an unquoted variable" 'echo "rm \$1" >>scripts/yes.sh'
    must_fail rtl "ill-formatted VHDL" 'vhdl "  y <= a;	"'
    local folder
    for folder in src reference example; do
        must_fail rtl "a latch in rtl/$folder" "vhdl '  y <= a when e;' $folder"
    done
    must_fail deny "a licence that is not permissive" 'sed -i s/MIT/GPL-3.0-only/ crates/a/Cargo.toml'
}

if [ "${1:-}" = --tools ]; then tool_steps; else own_rules; fi
echo "1..$count"
exit $status
