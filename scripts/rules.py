#!/usr/bin/env python3
"""The rules of the project that no ready-made linter knows: `rules.py [--root DIR] [RULE…]`.

Each rule is a function from a tree to findings; `scripts/check-selftest.sh` breaks each of them.
"""

import argparse
import re
import subprocess
import sys
import tomllib
from itertools import takewhile
from pathlib import Path

from circles import NO_CODE, circles, end_of_item
from readme_figures import figures
from rooms import rooms
from words import words

MAX_LINES = 800
MAX_FUNCTION_LINES = 85
FUNCTION = re.compile(r'^[ \t]*(?:pub(?:\([^)]*\))? )?(?:(?:const|async|unsafe|extern "[^"]*") )*fn (\w+)', re.M)
# The semicolon of an array's type or value, which ends nothing.
OF_ARRAY = re.compile(r";(?=[^;\[\]{}]*\])")
HEADER_LINES = 10
LINE_SUFFIXES = {".rs", ".c", ".h", ".py", ".sh", ".vhd", ".ts", ".js", ".css", ".html", ".md", ".mk"}
# The start of a comment in the languages whose files must describe themselves in the first lines.
COMMENTS = {".rs": "//", ".c": "/*|//| *", ".h": "/*|//| *", ".py": '"""|#', ".sh": "#", ".vhd": "--", ".ts": "/*|//"}
NOT_A_HEADER = re.compile(r"^#!|SPDX-License-Identifier|shellcheck |^#!?\[")
UNSAFE = re.compile(r"\bunsafe\s*(\{|fn\b|impl\b|extern\b|trait\b)")
# Paths of one machine, and remarks that do not belong in a public tree.
PRIVATE = re.compile(
    r"(?<![\w.])/(root|home/\w+|Users/\w+|work)/\w|/tmp/target-|\bas an AI\b|\blanguage model\b|^co-authored-by:", re.I
)
REFERENCE = re.compile(r"`([\w./-]+\.(?:rs|py|sh|c))::([\w:]+)`|`make ([a-z-]+)`")
MAKE_TARGETS_THAT_TEST = {"demo", "test", "test-long", "test-rtl", "bench", "fuzz", "check"}
MAP = "docs/architecture.md"
# The picture of the layers: `kinds["node types: ports, remote"]` and `kinds --> libraries & simulators`.
LAYER = re.compile(r'^\s*(\w+)\["[^":]+: ([^"]+)"\]\s*$', re.M)
MAY_USE = re.compile(r"^\s*(\w+) --> (\w+(?: & \w+)*)\s*$", re.M)
# A path as in the map: from the root of the tree, optionally followed by a name in that file.
ROOT_FILE = re.compile(r"^[\w-]+\.(?:md|toml|lock)$")
MAP_PATH = re.compile(r"^(?P<path>\.?[\w*-][\w.*-]*(?:/[\w.*-]+)*/?)(?:::(?P<name>\w+(?:::\w+)*))?$")
# Names that say where a value comes from or goes, not what it holds. `Place` is a term of Petri nets.
SAYS_NOTHING = (
    "About|Beyond|Together|Again|Nobody|Which|Ways?|Told|Tell|Ran|Seen|Came|Places?|Placing|Ask|Asks|Asked|Asking|Said|Kept|Found|Counted|Passed|Left|Lost|Did|Made|Past"
    "|Of|At|To|By|What|Why|When|Want|Wanted|Own|Few|More|Both|One|Rest|Room|Life|Spot|Sure|Thin"
)
VAGUE = re.compile(
    rf"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:struct|enum|trait|type|union)\s+({SAYS_NOTHING})\b"
    rf"|^\s*(?:pub\s+)?use\b.*\bas\s+({SAYS_NOTHING})\b",
    re.M,
)
TERMS = {("crates/sim/src/net.rs", "Place")}
# A type that other files can name.
SHARED_TYPE = re.compile(r"^pub(?:\([^)]*\))? (?:struct|enum|trait|type|union) (\w+)", re.M)
MAX_NAMESAKES = 3
# Names that more files may give to a type, each with its reason.
NAMESAKES = {}
# The same for variables, fields and functions; a name of four words or more is a sentence, as for tests.
VAGUE_NAME = re.compile(
    r"(?<![\w.'])(?:ran|asking|(?:told|asked|seen|came|ways?)(?:_[a-z0-9]+){0,2}|(?:[a-z0-9]+_){1,2}(?:told|asked|asking|seen|came|ways?))(?!\w|::|!)",
)
# Names that others define, each with its reason.
FIXED_NAMES = {
    "asked_ps": "a key of the results file",
    "trials_asked": "a key of a datasheet as JSON",
    "one_way": "a delay from one end to the other; a trial in one direction",
}
# Only the newest commits are checked: older ones may precede the rule, and a shallow clone has one.
COMMITS = 50
MAX_SUBJECT = 72
DEFINES = r"\b(?:fn|struct|enum|trait|type|const|static|mod|macro_rules!)\s+{}\b"


def files(root):
    """Paths of all files that are, or are about to be, in the repository."""
    listed = subprocess.run(
        ["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"], check=True, stdout=subprocess.PIPE
    ).stdout
    names = sorted({name.decode() for name in listed.split(b"\0") if name})
    return [Path(name) for name in names if Path(root, name).is_file()]


def text(root, path):
    """The text of a file, or nothing for other files."""
    try:
        return Path(root, path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""


def product(root):
    """The sources of the product in Rust."""
    return [path for path in files(root) if path.suffix == ".rs" and path.parts[0] == "crates" and path.parts[2] == "src"]


def code_of(source):
    """A source in Rust with blanks in place of its strings and comments."""
    return NO_CODE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), source)


def lines(root):
    """No file has more than MAX_LINES lines."""
    for path in files(root):
        if path.suffix in LINE_SUFFIXES or path.name == "Makefile":
            count = text(root, path).count("\n")
            if count > MAX_LINES:
                yield f"{path}: {count} lines, the limit is {MAX_LINES}; fix: split it by subject"


def functions(root):
    """A function fits a screen."""
    for path in product(root):
        code = OF_ARRAY.sub(" ", code_of(text(root, path)))
        for found in FUNCTION.finditer(code):
            count = code.count("\n", found.start(), end_of_item(code, found.end())) + 1
            if count > MAX_FUNCTION_LINES:
                number = code.count("\n", 0, found.start()) + 1
                what = f"'{found[1]}' has {count} lines, the limit is {MAX_FUNCTION_LINES}"
                yield f"{path}:{number}: {what}; fix: split it by what it does"


def header(root):
    """The first ten lines of a source file say what it is."""
    for path in files(root):
        if path.suffix not in COMMENTS:
            continue
        marks = tuple(COMMENTS[path.suffix].split("|"))
        head = text(root, path).split("\n")[:HEADER_LINES]
        comments = [line for line in head if line.lstrip().startswith(marks) or line.startswith(marks)]
        if not any(re.search(r"\w{2}", line) for line in comments if not NOT_A_HEADER.search(line)):
            yield f"{path}: its first {HEADER_LINES} lines do not say what it is; fix: add a comment"


def type_names(root):
    """A type's name says what it holds, and at most three files give the same name to a type that others can name."""
    namesakes = {}
    for path in files(root):
        if path.suffix != ".rs":
            continue
        source = text(root, path)
        if path.parts[0] == "crates" and path.parts[2] == "src":
            for name in SHARED_TYPE.findall(source):
                namesakes.setdefault(name, []).append(path)
        for found in VAGUE.finditer(source):
            name = found[1] or found[2]
            if (path.as_posix(), name) not in TERMS:
                number = source.count("\n", 0, found.start(found.lastindex)) + 1
                yield f"{path}:{number}: '{name}' does not say what the type holds; fix: name it so, e.g. Reply or FramePath"
    unused = set(NAMESAKES)
    for name, paths in sorted(namesakes.items()):
        if len(paths) > MAX_NAMESAKES:
            unused.discard(name)
            if name not in NAMESAKES:
                where = ", ".join(map(str, paths))
                yield f"{paths[-1]}: '{name}' is a type in {len(paths)} files: {where}; fix: name it after what it holds or does here"
    for name in sorted(unused) if Path(root, "crates/trial").is_dir() else ():
        yield f"scripts/rules.py: '{name}' needs no exception from the rule `type_names`; fix: take it off the list"


def names(root):
    """A variable, field or function of the product is named after what it holds."""
    unused = dict(FIXED_NAMES)
    for path in product(root):
        code = code_of(text(root, path))
        first = {}
        for found in VAGUE_NAME.finditer(code):
            if unused.pop(found[0], None) is None and found[0] not in FIXED_NAMES:
                first.setdefault(found[0], found.start())
        for name, at in first.items():
            number = code.count("\n", 0, at) + 1
            yield f"{path}:{number}: '{name}' does not say what it holds; fix: name it so, e.g. reply, request, direction or received"
    for name in unused if Path(root, "crates/trial").is_dir() else ():
        yield f"scripts/rules.py: '{name}' needs no exception from the rule `names`; fix: take it off the list"


def commits(root):
    """The subjects of the newest commits are short, begin with a capital and end without a full stop."""
    log = subprocess.run(
        ["git", "-C", root, "log", f"-{COMMITS}", "--no-merges", "--format=%h %s", "HEAD"], capture_output=True, check=False
    )
    if log.returncode != 0:
        print("NOT CHECKED: commits: git has no history here; fix: check a clone", file=sys.stderr)
        return
    for line in log.stdout.decode(errors="replace").splitlines():
        commit, _, subject = line.partition(" ")
        if len(subject) > MAX_SUBJECT:
            yield f"{commit}: its subject has {len(subject)} characters; fix: at most {MAX_SUBJECT}, the rest in the body"
        if subject.endswith("."):
            yield f"{commit}: its subject ends in a full stop; fix: leave it out"
        if subject[:1].islower():
            yield f"{commit}: its subject begins with a lower-case letter; fix: an imperative such as 'Add'"


def unsafe(root):
    """`unsafe` lives in modules named sys or ffi, and each block says why it is sound."""
    for path in files(root):
        if path.suffix != ".rs":
            continue
        source = text(root, path).split("\n")
        sound_place = {"sys", "ffi"} & {*path.parts[:-1], path.stem}
        for number, line in enumerate(source, 1):
            if not UNSAFE.search(line.split("//")[0]):
                continue
            if not sound_place:
                yield f"{path}:{number}: unsafe outside of a module named sys or ffi; fix: move it there"
            # Declarations state a contract ("# Safety"); code that relies on it must say why it holds.
            elif not re.search(r"unsafe (fn|trait)", line) and not any("SAFETY:" in near for near in source[max(0, number - 8) : number]):
                yield f"{path}:{number}: unsafe without a SAFETY comment just above; fix: add it"


def private(root):
    """No paths of one machine, and no remarks about the origin of the text."""
    patterns = [PRIVATE]
    more = Path(root, ".git/info/words")
    if more.is_file():
        patterns += [re.compile(line) for line in more.read_text().split("\n") if line.strip()]
    for path in files(root):
        # The rule and its test have to contain the forbidden words.
        if path.as_posix() in ("scripts/rules.py", "scripts/check-selftest.sh"):
            continue
        for number, line in enumerate(text(root, path).split("\n"), 1):
            for pattern in patterns:
                if found := pattern.search(line):
                    yield f"{path}:{number}: '{found.group(0)}' belongs to one machine or workplace; fix: remove it"


def is_test(source, name, suffix):
    """Whether a source text defines the test `name`, not just a function of that name."""
    if suffix == ".py":
        return re.search(rf"^\s*def {re.escape(name)}\(self", source, re.M) is not None
    if suffix == ".sh":
        return re.search(rf"^{re.escape(name)}\(\)", source, re.M) is not None
    if suffix == ".c":
        return re.search(rf"^\s*RUN\({re.escape(name)}\);", source, re.M) is not None
    # An attribute, other attributes, then the function; macros such as proptest! keep that form.
    return re.search(rf"#\[test\]\s*(?:#\[[^\n]*\]\s*|//[^\n]*\n\s*)*fn {re.escape(name)}\b", source) is not None


def missing(root, document, number, references):
    """The references of a line to tests that do not exist."""
    for path, name, target in references:
        if target:
            if target not in MAKE_TARGETS_THAT_TEST:
                yield f"{document}:{number}: `make {target}` tests nothing; fix: name a test"
        elif not Path(root, path).is_file():
            yield f"{document}:{number}: {path} does not exist; fix: name a file with tests"
        elif not is_test(text(root, path), name.split("::")[-1], Path(path).suffix):
            yield f"{document}:{number}: {path} has no test {name}; fix: name one of its tests"


def acceptance(root):
    """Each row of docs/acceptance.md, and each promise of docs/trust.md, names tests that exist."""
    document = Path(root, "docs/acceptance.md")
    if not document.is_file():
        yield "docs/acceptance.md is missing; fix: restore it from git"
        return
    rows = 0
    in_table = False
    for number, line in enumerate(document.read_text().split("\n"), 1):
        if not line.startswith("|"):
            in_table = False
            continue
        if re.fullmatch(r"\|[\s:|-]+\|", line):
            in_table = True
            continue
        if not in_table:
            continue
        rows += 1
        found = REFERENCE.findall(line)
        if not found:
            yield f"docs/acceptance.md:{number}: names no test; fix: name `path/to/file.rs::test_name` or `make demo`"
        yield from missing(root, "docs/acceptance.md", number, found)
    if rows == 0:
        yield "docs/acceptance.md has no row; fix: restore it from git"
    # Its tables without tests have other subjects.
    trust = Path(root, "docs/trust.md")
    if not trust.is_file():
        yield "docs/trust.md is missing; fix: restore it from git"
        return
    for number, line in enumerate(trust.read_text().split("\n"), 1):
        yield from missing(root, "docs/trust.md", number, REFERENCE.findall(line))


def skiplist(root):
    """tests/skips.toml lists exactly the features that tests skip for, each with all its keys."""
    used = {}
    for path in files(root):
        if path.suffix in {".rs", ".py", ".sh", ".ts", ".js"} and path.parts[0] != "scripts":
            # In a message the feature may come from a constant, so any literal mention counts as use.
            used[path] = text(root, path)
    try:
        entries = tomllib.loads(Path(root, "tests/skips.toml").read_text()).get("skip", [])
    except (OSError, tomllib.TOMLDecodeError) as error:
        yield f"tests/skips.toml: {error}; fix: correct it"
        return
    features = {entry.get("feature", "") for entry in entries}
    for feature in sorted(features):
        if not any(re.search(rf"WIRELAB-SKIP {re.escape(feature)}\b|\"{re.escape(feature)}\"", t) for t in used.values()):
            yield f"tests/skips.toml: no test skips because of a missing {feature or 'an unnamed feature'}; fix: remove it"
    for path, source in used.items():
        for feature in re.findall(r"WIRELAB-SKIP ([\w.-]+)", source):
            if feature not in features:
                yield f"{path}: skips because of a missing {feature}, which tests/skips.toml does not list; fix: list it"


def fuzz(root):
    """Each fuzz target is registered, has a corpus, and its corpus is replayed by a test."""
    names = {path.stem for path in Path(root, "fuzz/fuzz_targets").glob("*.rs")}
    manifest = Path(root, "fuzz/Cargo.toml")
    if not names and not manifest.is_file():
        return
    entries = tomllib.loads(manifest.read_text()).get("bin", [])
    registered = {entry["name"]: entry.get("path") for entry in entries}
    for name in sorted(names - set(registered)):
        yield f"fuzz/fuzz_targets/{name}.rs is not in fuzz/Cargo.toml; fix: run scripts/fuzz-list.sh --write"
    for name in sorted(set(registered) - names):
        yield f"fuzz/Cargo.toml lists {name}, which is not in fuzz/fuzz_targets; fix: run scripts/fuzz-list.sh --write"
    kept = set(files(root))
    sources = [text(root, path) for path in kept if path.parts[0] in ("crates", "tests") and path.suffix == ".rs"]
    for name in sorted(names):
        for path in sorted(Path(root, "fuzz/corpus", name).glob("*")):
            if path.relative_to(root) not in kept:
                yield f"{path.relative_to(root)}: .gitignore keeps it out of the repository; fix: change .gitignore"
        if not any(Path(root, "fuzz/corpus", name).glob("*")):
            yield f"fuzz/corpus/{name} is empty; fix: add an input"
        if not any("corpus" in source and re.search(rf"\b{name}\b", source) for source in sources):
            yield f"fuzz/corpus/{name} is replayed by no test; fix: add one"


def manifests(root):
    """The Cargo.toml of each crate, by the name of its folder."""
    found = {}
    for path in sorted(Path(root, "crates").glob("*/Cargo.toml")):
        found[path.parent.name] = tomllib.loads(path.read_text())
    return found


def uses(crates, shared):
    """Pairs of a crate and one that it needs to build or to run; tests may use whatever they compare with."""
    folder_of = {manifest["package"]["name"]: folder for folder, manifest in crates.items()}
    for folder, manifest in crates.items():
        for table in [manifest, *manifest.get("target", {}).values()]:
            for kind in ("dependencies", "build-dependencies"):
                for name, entry in table.get(kind, {}).items():
                    entry = entry if isinstance(entry, dict) else {}
                    if entry.get("workspace") and isinstance(shared.get(name), dict):
                        entry = shared[name]
                    if used := folder_of.get(entry.get("package", name)):
                        yield folder, used


NAME = r"(?:`[\w-]+`|[Tt]he command line)"
NAMES = rf"{NAME}(?:(?:, | and ){NAME})*"
USED_BY = re.compile(rf"(All crates but )?({NAMES}|No crate) uses? it[.;:]")
KNOWS = re.compile(rf"\b[Ii]t knows ({NAMES}|no other crate)[.;:]")


def named(written):
    """The crates of a list in a head; the command line is the crate wirelab."""
    return {name or "wirelab" for name in re.findall(r"`([\w-]+)`|[Tt]he command line", written)}


def in_words(crates):
    """The crates of a list as a head has it."""
    *most, last = [f"`{crate}`" for crate in sorted(crates - {"wirelab"})] + ["the command line"] * ("wirelab" in crates)
    return f"{', '.join(most)} and {last}" if most else last


def lib_heads(root):
    """The head of each lib.rs says where to start reading, and names its users and the crates that it knows, as in
    Cargo.toml."""
    crates = manifests(root)
    shared = tomllib.loads(Path(root, "Cargo.toml").read_text())["workspace"].get("dependencies", {})
    pairs = set(uses(crates, shared))
    for crate in crates:
        path = Path("crates", crate, "src/lib.rs")
        if not Path(root, path).is_file():
            continue
        head = " ".join(line[3:].strip() for line in takewhile(lambda line: line.startswith("//!"), text(root, path).split("\n")))
        if "Start reading" not in head:
            yield f"{path}: its head does not say where to start; fix: 'Start reading at …'"
        users = {user for user, used in pairs if used == crate}
        known = {used for user, used in pairs if user == crate}
        found = USED_BY.search(head)
        said = named(found[2]) if found else None
        if said is not None and found[1]:
            said = set(crates) - {crate} - said
        if said != users:
            right = f"{in_words(users)} {'use' if len(users) > 1 else 'uses'} it." if users else "No crate uses it."
            yield f"{path}: its head does not name the crates that use it; fix: '{right}'"
        found = KNOWS.search(head)
        if not found or named(found[1]) != known:
            right = in_words(known) if known else "no other crate"
            yield f"{path}: its head does not name the crates that it knows; fix: 'It knows {right}.'"


def reachable(arrows, layer):
    """The layers below one, directly or through others."""
    below, left = set(), [layer]
    while left:
        for lower in arrows.get(left.pop(), ()):
            if lower not in below:
                below.add(lower)
                left.append(lower)
    return below


def layers(root, page):
    """The picture of the layers holds each crate once, and no crate uses one that is not below it."""
    places = {}
    for layer, names in LAYER.findall(page):
        for crate in names.split(", "):
            if crate in places:
                yield f"{MAP}: the picture has the crate {crate} twice; fix: keep it in one layer"
            places[crate] = layer
    arrows = {}
    for upper, lower in MAY_USE.findall(page):
        arrows.setdefault(upper, set()).update(lower.split(" & "))
    drawn = set(places.values())
    for layer in sorted({*arrows, *(lower for all_lower in arrows.values() for lower in all_lower)} - drawn):
        yield f"{MAP}: an arrow of the picture leads from or to {layer}, which it does not have as a layer; fix: draw the layer, or take the arrow out"
    below = {layer: reachable(arrows, layer) for layer in drawn}
    for layer in sorted(layer for layer in drawn if layer in below[layer]):
        yield f"{MAP}: the arrows of the picture lead from {layer} back to it; fix: take one out"
    crates = manifests(root)
    for crate in sorted(set(places) - set(crates)):
        yield f"{MAP}: the picture has a crate {crate}, and there is no crates/{crate}; fix: take it out"
    for crate in sorted(set(crates) - set(places)):
        yield f"{MAP}: the picture of the layers lacks crates/{crate}; fix: write it into the layer that it belongs to"
    shared = tomllib.loads(Path(root, "Cargo.toml").read_text())["workspace"].get("dependencies", {})
    for crate, used in uses(crates, shared):
        if crate in places and used in places and places[used] not in below[places[crate]]:
            yield (
                f"crates/{crate}/Cargo.toml: uses {used}; by {MAP} {places[crate]} may not use {places[used]}; "
                f"fix: move what is shared to a lower layer, or change the picture with the reason"
            )


def no_such_place(root, kept, written):
    """The fault of a path of the map, if any; `kept` are the files of the repository and their folders."""
    found = MAP_PATH.match(written)
    # Without a slash or a suffix it is a name in the code, such as `Node::run`.
    if not found or not ("/" in found["path"] or ROOT_FILE.match(found["path"])):
        return None
    path, name = found["path"].rstrip("/"), found["name"]
    matches = [one for one in sorted(Path(root).glob(path)) if one.relative_to(root) in kept]
    if not matches:
        return f"there is no {path}"
    if name is None:
        return None
    *outer, last = name.split("::")
    source = text(root, matches[0].relative_to(root)) if matches[0].is_file() else ""
    defines = DEFINES.format(re.escape(last)) if matches[0].suffix == ".rs" else rf"\b{re.escape(last)}\b"
    if not re.search(defines, source) or not all(re.search(rf"\b{re.escape(o)}\b", source) for o in outer):
        return f"{path} has no {name}"
    return None


def architecture(root):
    """docs/architecture.md names each crate and each top folder, its paths exist, and its layers are kept."""
    if not Path(root, MAP).is_file():
        yield f"{MAP} is missing; fix: restore it from git"
        return
    page = Path(root, MAP).read_text()
    paths = files(root)
    kept = {place for path in paths for place in (path, *path.parents)}
    rooms = {f"{path.parts[0]}/" for path in paths if len(path.parts) > 1}
    rooms |= {f"crates/{crate}/" for crate in manifests(root)}
    for room in sorted(rooms):
        # A path inside of a room is not a line about the room.
        if f"`{room}`" not in page:
            yield f"{MAP}: does not name {room}; fix: say in a line what it is, who may use it and where to start reading"
    for number, line in enumerate(page.split("\n"), 1):
        for written in re.findall(r"`([^`\s]+)`", line):
            if wrong := no_such_place(root, kept, written):
                yield f"{MAP}:{number}: {wrong}; fix: write where it is now, or take it out"
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", line):
            if not Path(root, "docs", target).exists():
                yield f"{MAP}:{number}: there is no {target}; fix: link the page that is there"
    yield from layers(root, page)


def lone_tests(root):
    """Each file of tests belongs to a test binary: cargo silently leaves out files that `tests/all.rs` does not name."""
    for path in files(root):
        if path.suffix != ".rs" or path.parent.name != "tests" or path.name == "all.rs":
            continue
        crate = path.parent.parent
        manifest = tomllib.loads(text(root, crate / "Cargo.toml"))
        own = {target["name"] for target in manifest.get("test", [])}
        if manifest["package"].get("autotests", True) or path.stem in own:
            continue
        if not re.search(rf"^mod {path.stem};$", text(root, path.parent / "all.rs"), re.M):
            yield f"{path}: no test binary has it; fix: write `mod {path.stem};` into {path.parent}/all.rs"


# Texts of errors without a fix, by file and name: they never appear alone, or the user can do nothing.
WITHOUT_FIX = {
    ("crates/console/src/board.rs", "ConsoleError::Cancelled"): "the user ended the run",
    ("crates/console/src/console.rs", "Waited"): "`Board::failed` says what was waited for, and the fix",
    ("crates/emulator/src/bus.rs", "BusFault"): "a part of a Reason",
    ("crates/emulator/src/cpu/trap.rs", "Reason"): "a crash of the firmware; the node type `board:` has the fix",
    ("crates/emulator/src/elf.rs", "ElfError"): "`BoardError::BadImage` has the fix",
    ("crates/emulator/src/emac/wire.rs", "ArrivalError"): "a slip of the code that offers the frames",
    ("crates/emulator/src/lpc1768.rs", "Halt"): "the node type `board:` has the fix",
    ("crates/iperf/src/v3/test.rs", "TestError::Cancelled"): "the user ended the test",
    ("crates/port/src/xdp/error.rs", "XdpError::Privilege"): "`Privilege` has the fix",
    ("crates/trial/src/series.rs", "TickMismatch"): "a slip of the code that adds them",
    # Errors that are texts themselves.
    ("crates/agent/src/handler.rs", "Err"): "why a figure is absent",
    ("crates/agent/src/meter.rs", "Err"): "why a figure is absent",
    ("crates/bench/src/results_writer.rs", "Err"): "a slip of the code that searches",
    ("crates/bench/src/search/reading.rs", "Err"): "why a trial shows a search nothing",
    ("crates/board/src/machine/symbols.rs", "Err"): "`plan` of machine/plan.rs has the fix",
    ("crates/iperf/src/v3/parameters.rs", "Err"): "its callers have the fix: an option of the user, or a wrong peer",
    ("crates/model/src/explain/results.rs", "Err"): "why a trial is left out",
    ("crates/model/src/fit/gather.rs", "Err"): "why a trial is left out",
    ("crates/port/src/pcapng/classic.rs", "Err"): "what is damaged in a capture",
    ("crates/port/src/pcapng/decode.rs", "Err"): "what is damaged in a capture",
    ("crates/port/src/pcapng/reader.rs", "Err"): "what is damaged in a capture",
    ("crates/pulse/src/table.rs", "Err"): "`Reader::at_line` has the fix",
    ("crates/remote/src/iperf/companion.rs", "Err"): "why the CPU load is absent",
    ("crates/remote/src/opinion.rs", "Err"): "why there is no second opinion",
    ("crates/study/src/quantity.rs", "Err"): "`Quantity::from_str` has the word `fix`",
    ("crates/study/src/run.rs", "Err"): "the user ended the run",
    ("crates/trial/src/column.rs", "Err"): "`ResultsError::Samples` has the fix",
    ("crates/trial/src/counts.rs", "Err"): "how counts contradict each other",
    ("crates/trial/src/results_samples.rs", "Err"): "`ResultsError::Samples` has the fix",
}
ERROR_TEXT = re.compile(r"#\[error\(")
STRING = re.compile(r'"((?:[^"\\]|\\.)*)"', re.S)
TYPE = re.compile(r"\b(?:enum|struct)\s+(\w+)")
# The item behind an attribute: `struct` for a type, and its name.
DECLARED = re.compile(r"\s*(?:///[^\n]*\s*|#\[[^\n]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?(struct\s+|enum\s+)?(\w+)")
COMMENT_BEFORE = re.compile(r"(?:^[ \t]*///[^\n]*\n)*[^\n]*\Z", re.M)
# Failures at run time, and functions and closures that make one of a text.
FAILURES = r"(?:Failure|OpenError|NodeError|NameError|Unsupported)"
FAILURE = rf"\b(?:{FAILURES}::\w+|MachineError::Other)\("
MAKER = re.compile(
    rf"\blet (\w+) = (?:move )?\|[^|]*\|(?: -> \w+)?\s*\{{?\s*(?:Err\()?(?:\w+::)*{FAILURES}::"
    rf"|\bfn (\w+)(?:<[^(]*>)?\([^)]*\) -> (?:\w+::)*{FAILURES} "
)
# An error that is a text itself.
TEXT_ERROR = re.compile(
    r'\bErr\(\s*(?=format!\(|"(?:[^"\\]|\\.)*"\s*\.to_owned\(\))|\b(?:ok_or_else|map_err)\(\s*(?=\|[^|]*\|\s*\{?\s*(?:format!\(|"))'
)
# A text that ends in another with its own fix, by the name of the field.
PASSED_ON = re.compile(r"\{(?:why|fix)\}(?:, or .*)?$|\{why\}[:;] \{\w+\}$")
QUESTION = re.compile(r"[;?] fix: (?:is|are|does|do|has|may|can|who|what|which)\b")
# Errors about files that people write, as the files that read them make them.
FILE_ERROR = re.compile(r"\.(?:error|error_here|at_key)\(")
READS_FILES = "wirelab_config"
# Errors with a text of wirelab; those of libraries and of the system know no fix.
OWN_ERROR = re.compile(r"^(?!.*\b(?:io|serde_json|libbpf_rs)::)(?:\w+::)*\w*(?:Error|Fault|Unsupported|Crash|Why)>*$")


def closed(source, start):
    """The end of the bracket that opened before `start`; brackets in strings do not count."""
    depth, at = 1, start
    while depth and at < len(source):
        string = STRING.match(source, at)
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(source[at], 0)
        at = string.end() if string else at + 1
    return at


def has_fix(text, about, after):
    """Whether the field at the end of an error's text has the fix; `after` declares the fields.

    A field of plain text has the fix if its comment, or `about`, the comment of a variant without names, says so.
    """
    if re.fullmatch(r"\{\w*\}", text):
        return True
    last = re.search(r"\{(\w+)\}$", text)
    if not last:
        return False
    if last[1].isdigit():
        field = re.search(r"\(\s*(?:#\[\w+\]\s*)?(?:pub )?()([\w:&'<> ]+?),?\s*\)", after)
    else:
        field = re.search(rf"((?:^[ \t]*///[^\n]*\n)*)^[^\n/]*\b{last[1]}:\s*([\w:&'<> ]+)", after, re.M)
    return field is not None and (bool(OWN_ERROR.match(field[2].strip())) or "fix" in (field[1] or about))


def failures(source):
    """The places in a Rust source that make a failure, or an error that is a text, without a fix."""
    # Only the code before the tests is checked.
    source = source.split("#[cfg(test)]\nmod tests")[0]
    makers = set()
    for found in MAKER.finditer(source):
        end = source.find(";\n" if found[1] else "\n}", found.end())
        if "fix: " not in source[found.end() : end]:
            makers.add(found[1] or found[2])
    calls = "|".join([FAILURE, *(rf"(?<!fn )\b{name}\(" for name in sorted(makers))])
    for pattern in (re.compile(calls), TEXT_ERROR):
        for found in pattern.finditer(source):
            end = closed(source, found.end())
            texts = [re.sub(r"\\\n\s*", "", text) for text in STRING.findall(source, found.end(), end)]
            texts = [text for text in texts if " " in text and re.search(r"\w", text)]
            by_function = re.search(r"\bunknown(?:_option)?\(", source[found.end() : end])
            if texts and not by_function and not any("fix: " in text or PASSED_ON.search(text) for text in texts):
                yield found.start(), pattern is TEXT_ERROR


def fixes(root):
    """The text of each error has a fix, as `fix: …`."""
    unused = dict(WITHOUT_FIX)
    for path in product(root):
        source = text(root, path)
        for found in ERROR_TEXT.finditer(source):
            end = closed(source, found.end())
            written = STRING.search(source, found.end(), end)
            if written is None:
                continue
            following = source.find("#[error(", end)
            after = source[end + 1 : following if following >= 0 else len(source)]
            declared = DECLARED.match(after)
            name = declared[2] if declared[1] else f"{TYPE.findall(source, 0, found.start())[-1]}::{declared[2]}"
            about = COMMENT_BEFORE.search(source, 0, found.start())[0]
            if "fix: " in source[found.end() : end] or has_fix(re.sub(r"\\\n\s*", "", written[1]), about, after):
                continue
            key = next((key for key in WITHOUT_FIX if key in ((path.as_posix(), name), (path.as_posix(), name.split("::")[0]))), None)
            unused.pop(key, None)
            if key:
                continue
            number = source.count("\n", 0, found.start()) + 1
            yield f"{path}:{number}: the text of {name} names no fix; fix: end it in '; fix: …' with what the user does"
        for found in FILE_ERROR.finditer(source if READS_FILES in source or path.parts[1] == "config" else ""):
            end = closed(source, found.end())
            texts = [text for text in STRING.findall(source, found.end(), end) if " " in text]
            by_function = "unknown(" in source[found.end() : end]
            if texts and not by_function and not any("fix: " in text or text.endswith("}") for text in texts):
                number = source.count("\n", 0, found.start()) + 1
                yield f"{path}:{number}: an error of a file names no fix; fix: end it in '; fix: write …', or use `Entry::invalid`"
        for found in QUESTION.finditer(source):
            number = source.count("\n", 0, found.start()) + 1
            yield f"{path}:{number}: a fix that is a question; fix: write what the user does"
        for start, is_text in failures(source) if "tests" not in (*path.parts, path.stem) else ():
            key = (path.as_posix(), "Err")
            if is_text and key in WITHOUT_FIX:
                unused.pop(key, None)
                continue
            number = source.count("\n", 0, start) + 1
            yield f"{path}:{number}: a failure names no fix; fix: end its text in '; fix: …', or in {{why}} where that has the fix"
    for path, name in unused:
        if Path(root, path).is_file():
            yield f"scripts/rules.py: {name} of {path} needs no exception from the rule `fixes`; fix: take it off the list"


# The facts of each node type before results files stored them.
STORED_LATER = "crates/trial/src/facts.rs"
# The registry, and the grammar of names, in which a name without a type is that of a model.
REGISTRY = {"crates/trial/src/node_type.rs", "crates/trial/src/node_name.rs", STORED_LATER}


def compared(source, name):
    """The places in a Rust source that compare a kind or a node type with a name, or search the name's prefix."""
    constants = re.findall(rf'const (\w+): &(?:\'static )?str = "{re.escape(name)}"', source)
    word = "(?:" + "|".join([f'"{re.escape(name)}"', *constants]) + ")"
    yield from re.finditer(rf'\b(?:kind|node_type)(?:\(\)|\.as_str\(\)|\.as_deref\(\))?\s*[!=]=\s*(?:Some\()?{word}(?!\w)', source)
    yield from re.finditer(rf'\b(?:starts_with|strip_prefix|contains)\("{re.escape(name)}:"\)', source)
    for block in re.finditer(r"\bmatch\b[^{};]*\b(?:kind|node_type)\b[^{};]*\{(.*?)\n *\}", source, re.S):
        if re.search(rf'(?<!\w){word}\s*(?:\|[^=]*)?=>', block[1]):
            yield block


def node_types(root):
    """Only the crate that registers a node type compares its name; others use its `NodeType` and facts."""
    paths = product(root)
    # Only the code before the tests is checked.
    sources = {path: text(root, path).split("#[cfg(test)]\nmod tests")[0] for path in paths}
    owners = {}
    for path, source in sources.items():
        words = dict(re.findall(r'const (\w+): &str = "(\w+)"', "".join(sources[p] for p in paths if p.parts[1] == path.parts[1])))
        for name in re.findall(r'NodeType::new\(\s*("?\w+"?)', source):
            name = name.strip('"') if '"' in name else words.get(name)
            owners.setdefault(name, set()).add(path.parts[1])
    owners.pop(None, None)
    for path, source in sources.items():
        for name, crates in sorted(owners.items()):
            if path.parts[1] in crates or path.as_posix() in REGISTRY:
                continue
            for found in compared(source, name):
                number = source[: found.start()].count("\n") + 1
                yield f"{path}:{number}: compares a node type with '{name}'; fix: ask its NodeType, its Node or the facts of its description"


# The reference node as a whole runs in the tests of crates/hdl, with its firmware.
NO_BENCH = {"reference_node"}


def blocks(root):
    """Each VHDL block is in a bench, alone or inside of another block; each of rtl/src is in a core and on a page."""
    vhdl = {path: re.sub(r"--[^\n]*", "", text(root, path)) for path in files(root) if path.suffix == ".vhd" and path.parts[0] == "rtl"}
    own = {path.stem: path for path in vhdl if path.parts[1] in ("src", "reference")}
    left = [path for path in vhdl if path.parts[1] == "tb" and path.stem.startswith("tb_")]
    benched = set()
    while left:
        for name in re.findall(r"\bwork\.(\w+)", vhdl[left.pop()]):
            if name in own and name not in benched:
                benched.add(name)
                left.append(own[name])
    cores = "".join(text(root, path) for path in files(root) if path.suffix == ".core")
    pages = Path(root, "docs/blocks").glob("*.md")
    # The table of areas in README.md is generated, and does not describe a block.
    told = "".join(page.read_text() for page in sorted(pages) if page.name != "README.md")
    for name, path in sorted(own.items()):
        if name not in benched | NO_BENCH:
            yield f"{path}: no bench has it; fix: write rtl/tb/tb_{name}.vhd"
        if path.parts[1] != "src":
            continue
        if f"src/{name}.vhd" not in cores:
            yield f"{path}: no core has it; fix: write it into rtl/wirelab_blocks.core"
        if re.search(r"^entity\b", vhdl[path], re.M) and not re.search(rf"\b{name}\b", told):
            yield f"{path}: no page of docs/blocks says what it is; fix: write docs/blocks/{name}.md, or name it on the page of its block"


def unknown_rooms(root):
    """Each room with a language of its own has a style check."""
    for room, tool in (("rtl", "a VHDL style check"), ("web", "eslint")):
        if Path(root, room).is_dir() and any(path.parts[0] == room for path in files(root)):
            if f"step_{room}" not in Path(root, "scripts/check.sh").read_text():
                yield f"scripts/check.sh has no {tool} for {room}/; fix: add step_{room}"


RULES = [lines, functions, circles, header, type_names, names, commits, unsafe, private, acceptance, skiplist, fuzz, lone_tests]
RULES += [node_types, fixes, blocks, unknown_rooms, architecture, rooms, lib_heads, figures, words]


def main():
    """Runs the rules that are named, or all; the status says whether anything was found."""
    names = [rule.__name__ for rule in RULES]
    parser = argparse.ArgumentParser(description="Checks the rules of the project.")
    parser.add_argument("--root", default=str(Path(__file__).resolve().parent.parent))
    parser.add_argument("rules", nargs="*", metavar="RULE", help=", ".join(names))
    options = parser.parse_args()
    if unknown := set(options.rules) - set(names):
        parser.error(f"no rule {', '.join(sorted(unknown))}; fix: name some of {', '.join(names)}")
    found = 0
    for rule in RULES:
        if not options.rules or rule.__name__ in options.rules:
            for finding in rule(options.root):
                print(f"{rule.__name__}: {finding}")
                found += 1
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
