#!/usr/bin/env python3
"""Import circles between the files of a crate, against the list in scripts/circles.txt: `circles.py`, `circles.py --lower`.

`rules.py` has the check as the rule `circles`. Alone it prints each circle with its imports; `--lower` removes circles from the
list that have disappeared or become smaller. An import is a path to an item of another file: in a `use`, or in the code itself.
A `pub use` that the file itself does not need is not an import, and a file that imports its name imports the file that defines
it. Tests inside a file do not count, nor do a module's imports from the modules around it: a module and its parts are one
subject.
"""

import argparse
import re
import sys
from pathlib import Path

LIST = "scripts/circles.txt"
# Comments, strings and characters, which have no imports in them; lifetimes are not characters.
NO_CODE = re.compile(
    r"""//[^\n]*|/\*.*?\*/|\bb?r(\#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\[^\n]{1,8}?|[^'\\\n])'""", re.S
)
TEST = re.compile(r"#\[cfg\((?:all\()?test\b[^\]]*\]\s*(?:#\[[^\]]*\]\s*)*")
MODULE = re.compile(r"(?:#\[path\s*=[^\]]*\]\s*)?\bmod\s+(\w+)\s*([;{])")
USE = re.compile(r"(\bpub(?:\([^)]*\))?\s+)?\buse\s+([^;]+);")
CODE_PATH = re.compile(r"(?<![\w:])(\w+(?:::\w+)+)")
DEFINES = r"\b(?:fn|struct|enum|union|trait|type|const|static|macro_rules!)\s+{}\b"


class Module:
    """A module: its file, its code without inline modules, tests and imports, and what it imports."""

    def __init__(self, file, parent):
        self.file, self.parent, self.children = file, parent, {}
        self.code, self.names, self.globs, self.reexports = "", {}, [], set()

    def defines(self, name):
        return re.search(DEFINES.format(re.escape(name)), self.code) is not None


def circles(root):
    """The files of a crate import each other in no circle except those of scripts/circles.txt."""
    try:
        listed = read(root)
    except OSError as error:
        yield f"{LIST} cannot be read: {error.strerror}; fix: restore it from git"
        return
    found = everywhere(root)
    for circle in sorted(found - listed):
        yield f"{' '.join(circle)}: these files import each other; fix: move their common items to a file below them"
    for circle in sorted(listed - found):
        yield f"{LIST} has a circle that no longer exists: {' '.join(circle)}; fix: run scripts/circles.py --lower"


def read(root):
    """The circles of the list, each as a sorted tuple of paths."""
    lines = Path(root, LIST).read_text(encoding="utf-8").split("\n")
    return {tuple(sorted(line.split())) for line in lines if line.strip() and not line.startswith("#")}


def everywhere(root):
    """The circles of all crates: sets of files, each of which leads to each other, as sorted tuples of paths."""
    return {
        tuple(sorted(circle)) for source in Path(root, "crates").glob("*/src") for circle in components(arrows(root, source))
    }


def arrows(root, source):
    """The imports of a crate: for each file the files that it needs, each with the path in the code that says so."""
    found = {}
    for top in [source / "lib.rs", source / "main.rs", *source.glob("bin/*.rs")]:
        if top.is_file():
            crate = load(top, top.parent, None)
            for module in walk(crate):
                file = module.file.relative_to(root).as_posix()
                needs = found.setdefault(file, {})
                needs.update((other.relative_to(root).as_posix(), path) for other, path in imports(module, crate))
    return found


def load(file, folder, parent):
    """The module of a file, and those inside it; `folder` has the files of its children."""
    return parse(NO_CODE.sub(" ", file.read_text(encoding="utf-8")), file, folder, parent)


def parse(code, file, folder, parent):
    """The module of a piece of code."""
    module = Module(file, parent)
    while found := TEST.search(code):
        code = code[: found.start()] + code[end_of_item(code, found.end()) :]
    while found := MODULE.search(code):
        name, end = found[1], found.end()
        if found[2] == "{":
            end = end_of_item(code, found.start())
            module.children[name] = parse(code[found.end() : end - 1], file, folder / name, module)
        elif child := next((path for path in (folder / f"{name}.rs", folder / name / "mod.rs") if path.is_file()), None):
            module.children[name] = load(child, folder / name, module)
        code = code[: found.start()] + code[end:]
    for public, tree in USE.findall(code):
        for path, name in leaves(tree, []):
            if name == "*":
                module.globs.append(path)
            else:
                module.names[name] = path
            if public:
                module.reexports.add(name)
    module.code = USE.sub(" ", code)
    return module


def end_of_item(code, start):
    """The end of the item that begins there: behind a semicolon, or behind the brace that closes its first one."""
    depth = 0
    for found in re.compile(r"[{};]").finditer(code, start):
        depth += {"{": 1, "}": -1, ";": 0}[found[0]]
        if depth <= 0:
            return found.end()
    return len(code)


def leaves(tree, before):
    """The paths of a `use`, each with the name that it gives; `*` is the name of all."""
    tree = tree.strip()
    if tree.startswith("{"):
        for part in parts(tree[1:-1]):
            yield from leaves(part, before)
    elif "::" in (head := re.match(r"[^{]*", tree)[0]):
        first, rest = tree.split("::", 1)
        yield from leaves(rest, [*before, first.strip()] if first.strip() else before)
    elif head:
        path, _, name = head.partition(" as ")
        path = path.strip()
        if path == "*":
            yield before, "*"
        elif path == "self":
            yield before, name.strip() or before[-1]
        else:
            yield [*before, path], name.strip() or path


def parts(inside):
    """The text between the commas of a group, without splitting groups inside."""
    depth, part = 0, ""
    for sign in inside:
        depth += {"{": 1, "}": -1}.get(sign, 0)
        if sign == "," and depth == 0:
            yield part
            part = ""
        else:
            part += sign
    if part.strip():
        yield part


def walk(module):
    """A module and all inside it."""
    yield module
    for child in module.children.values():
        yield from walk(child)


def imports(module, crate):
    """The files that a module needs, each with the path that leads there."""
    above, around = set(), module
    while around:
        above.add(around.file)
        around = around.parent
    code = module.code
    paths = [path.split("::") for path in CODE_PATH.findall(code)]
    for name, path in module.names.items():
        if name not in module.reexports or re.search(rf"\b{re.escape(name)}\b", code):
            paths.append(path)
    paths += [path for path in module.globs if "*" not in module.reexports]
    for path in paths:
        file = resolve(module, path, crate, 0)
        if file and file not in above:
            yield file, "::".join(path)


def resolve(module, path, crate, depth):
    """The file with the target of a path from a module, or nothing for another crate or a local name."""
    here, at = module, 0
    while at < len(path):
        name = path[at]
        if name == "crate":
            here = crate
        elif name == "super":
            here = here.parent or here
        elif name in here.children:
            here = here.children[name]
        elif name in here.names and here.names[name] != path[at:] and depth < 9:
            # The rest of the path belongs to the item: a variant or a function of a type.
            return resolve(here, [*here.names[name], *path[at + 1 :]], crate, depth + 1)
        elif name != "self":
            return of_item(here, name, at, crate, depth)
        at += 1
    return here.file


def of_item(here, name, at, crate, depth):
    """The file of an item that a module defines or imports by a glob; at the start of a path it may be another crate."""
    if here.defines(name):
        return here.file
    for glob in here.globs:
        if depth < 9 and (file := resolve(here, [*glob, name], crate, depth + 1)):
            return file
    return here.file if at and not here.globs else None


def components(arrows):
    """The strongly connected components of more than one file."""
    reach = {start: reachable(arrows, start) for start in arrows}
    done = set()
    for file in sorted(reach):
        if file in reach[file] and file not in done:
            circle = {other for other in reach[file] if file in reach.get(other, ())}
            done |= circle
            yield circle


def reachable(arrows, start):
    """The files that one leads to, directly or on the way."""
    seen, left = set(), [start]
    while left:
        for file in arrows.get(left.pop(), ()):
            if file not in seen:
                seen.add(file)
                left.append(file)
    return seen


def lower(root):
    """Writes the list with its circles that still exist."""
    listed = read(root)
    # A circle that has become smaller stays on the list.
    kept = sorted(circle for circle in everywhere(root) if any(set(circle) <= set(one) for one in listed))
    head = [line for line in Path(root, LIST).read_text(encoding="utf-8").split("\n") if line.startswith("#")]
    Path(root, LIST).write_text("\n".join([*head, *(" ".join(circle) for circle in kept)]) + "\n", encoding="utf-8")


def main():
    """Prints the existing circles; with --lower the list keeps only these."""
    parser = argparse.ArgumentParser(description="Finds import circles between the files of a crate.")
    parser.add_argument("--lower", action="store_true", help=f"remove former circles from {LIST}")
    root = Path(__file__).resolve().parent.parent
    if parser.parse_args().lower:
        lower(root)
        return 0
    found = 0
    for source in sorted(root.glob("crates/*/src")):
        needs = arrows(root, source)
        for circle in components(needs):
            found += 1
            print(" ".join(sorted(circle)))
            for file in sorted(circle):
                for other in sorted(circle & set(needs[file])):
                    print(f"    {file} -> {other}: {needs[file][other]}")
    print(f"{found} circles")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
