#!/usr/bin/env python3
"""The words of pages, sources and the files that users read, against the list in scripts/words.txt.

`rules.py` has the check as the rule `words`.
"""

import io
import re
import subprocess
import tokenize
from pathlib import Path

LIST = "scripts/words.txt"
GLOSSARY = "docs/glossary.md"
# Files whose strings and comments are checked.
C_LIKE = {".rs", ".c", ".h", ".ts", ".mjs", ".S"}
# Files that are checked whole, with the start of a comment by suffix: their code does not resemble the list's phrases.
WHOLE = {".py": "#", ".sh": "#", ".toml": "#", ".vhd": "--", ".txt": "#", ".cmake": "#", ".yaml": "#"}
ROOMS = ["crates", "firmware", "rtl", "scripts", "tests", "bpf", "qemu-plugin", "web/src", "web/tests", "zephyr"]
ROOMS += ["nodes", "studies", "consoles", "machines", "plans", "*.md"]
# These have to contain the words that the list rejects.
EXEMPT = {LIST, "scripts/check-selftest.sh", "scripts/tests/test_words.py"}
# Where a pattern is searched, by its prefix in the list. "inner": the strings and comments of a file that is checked whole.
SCOPES = {"docs:": {"page", "name"}, "said:": {"page", "said", "inner"}}
EVERYWHERE = {"page", "name", "said", "whole"}
# Names of functions that are sentences, as those of tests are.
NAME = re.compile(r"\b(?:fn|def) (\w+(?:_\w+){3})")
# What a shell script has at each place, in this order: an escaped character, a here-document, a comment of whole lines or behind
# code, or a quoted text, maybe one that the script prints.
SHELL = re.compile(
    r"""\\.
    |(?<!<)<<-?[ ]*(?P<quote>['"]?)(?P<end>[A-Za-z_]\w*)(?P=quote)[^\n]*\n.*?^\t*(?P=end)$
    |(?<!\S)(?P<comment>\#[^\n]*(?:\n[ \t]*\#[^\n]*)*)
    |(?P<prints>(?<![\w.-])(?:say|die|echo|printf|step|say_step)[ ])?(?P<text>"(?:\\.|[^"\\])*"|'[^']*')""",
    re.S | re.X | re.M,
)
EXPANSION = re.compile(r"\$(?:\{[^}]*\}|\w+|[*@#?])")
# Files whose comments are "inner", by suffix; those of a shell script need its quotes.
COMMENTS = {".vhd": re.compile(r"--[^\n]*(?:\n[ \t]*--[^\n]*)*"), ".cmake": re.compile(r"(?<!\S)#[^\n]*(?:\n[ \t]*#[^\n]*)*")}
# Files that are "inner" as a whole: strings and their keys.
DATA = {".toml", ".yaml", ".txt"}
# At each place, in this order: a character literal, which is skipped, a string, or a comment.
TOKENS = re.compile(
    r"""'(?:\\(?:x[0-9a-fA-F]+|u\{\w+\}|.)|[^'\\])'
    |(?P<raw>\br(?P<hashes>\#+)".*?"(?P=hashes)|\b[bc]?r"[^"]*")
    |(?P<string>"(?:\\.|[^"\\])*")
    |(?P<line>(?://[^\n]*(?:\n[ \t]*)?)+)
    |(?P<block>/\*.*?\*/)""",
    re.S | re.X,
)


def words(root):
    """No page, source or file for users has a word of scripts/words.txt, and the list has the words that the glossary rejects."""
    try:
        patterns, kept, findings = read(root)
        rejected = list(rejects(root))
    except OSError as error:
        yield f"{error.filename} cannot be read: {error.strerror}; fix: restore it from git"
        return
    yield from findings
    for number, word in rejected:
        if word not in kept and not any(pattern.search(word) for pattern, _, _ in patterns):
            yield f"{GLOSSARY}:{number}: {LIST} lacks '{word}'; fix: add a pattern, or `keep: {word} => its other meaning`"
    for word in sorted(kept - {word for _, word in rejected}):
        yield f"{LIST}: keeps '{word}', which {GLOSSARY} does not reject; fix: remove it"
    yield from places(root, patterns)


def rejects(root):
    """The words of the last column of the glossary, each with its line. A part that begins with "for" is not a word but a
    condition."""
    for number, line in enumerate(Path(root, GLOSSARY).read_text(encoding="utf-8").split("\n"), 1):
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if not line.startswith("|") or len(cells) != 3 or cells[2] in ("not", "–") or set(cells[2]) <= set("-: "):
            continue
        yield from ((number, word) for word in cells[2].split(", ") if not word.startswith("for "))


def read(root):
    """The patterns with their replacements, the words with other meanings, and the list's own errors."""
    patterns, kept, findings = [], set(), []
    for number, line in enumerate(Path(root, LIST).read_text(encoding="utf-8").split("\n"), 1):
        if not line.strip() or line.startswith("#"):
            continue
        pattern, arrow, instead = (part.strip() for part in line.partition(" => "))
        if not arrow or not instead:
            findings.append(f"{LIST}:{number}: the replacement is missing; fix: write PATTERN => INSTEAD")
        if pattern.startswith("keep:"):
            kept.add(pattern.removeprefix("keep:").strip())
            continue
        scope = next((scope for scope in SCOPES if pattern.startswith(scope)), "")
        try:
            # Comments and pages are wrapped anywhere.
            found = re.compile(pattern.removeprefix(scope).strip().replace(" ", r"\s+"), re.I)
        except re.error as error:
            findings.append(f"{LIST}:{number}: '{pattern}' is not a regular expression: {error}; fix: correct it")
            continue
        patterns.append((found, instead, SCOPES.get(scope, EVERYWHERE)))
    return patterns, kept, findings


def places(root, patterns):
    """Each place with a word of the list."""
    names = subprocess.run(
        ["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z", *ROOMS],
        check=True,
        stdout=subprocess.PIPE,
    ).stdout
    for path in sorted({Path(name.decode()) for name in names.split(b"\0") if name}):
        if path.as_posix() in EXEMPT or not Path(root, path).is_file():
            continue
        is_page = path.suffix == ".md" and path.parts[0] != "crates"
        kinds = C_LIKE | {".py"} if path.parts[0] == "crates" else C_LIKE | WHOLE.keys()
        if not (is_page or path.suffix in kinds):
            continue
        text = Path(root, path).read_text(encoding="utf-8")
        kind = "page" if is_page else "said" if path.suffix in C_LIKE else "whole"
        sentences = [(*piece, kind) for piece in pieces(path, text, is_page)] + [(*name, "name") for name in names_in(path, text)]
        sentences += [(*piece, "inner") for piece in inner(path, text)]
        for line, piece, kind in sentences:
            for pattern, instead, scope in patterns:
                if kind not in scope:
                    continue
                for hit in pattern.finditer(piece):
                    at = line + piece.count("\n", 0, hit.start())
                    shown = " ".join(hit[0].split())
                    yield f"{path}:{at}: '{shown}'; fix: write {instead}"


def pieces(path, text, is_page):
    """The checked pieces of a file's text, each with its line."""
    # In the crates such files are test data, and others' texts.
    is_whole = path.suffix in WHOLE and path.parts[0] != "crates"
    if not (is_page or is_whole or path.suffix in C_LIKE):
        return []
    if path.as_posix() == GLOSSARY:
        # The last column is the words that are rejected.
        text = re.sub(r"(?m)^(\|.*\|)[^|\n]*\|$", r"\1", text)
    if is_page:
        return prose(text)
    return whole(text, WHOLE[path.suffix]) if is_whole else said(text)


def inner(path, text):
    """The strings and comments of a file that is checked whole, each with its line; neighbouring line comments are one."""
    if path.suffix in COMMENTS:
        mark = WHOLE[path.suffix]
        for comment in COMMENTS[path.suffix].finditer(text):
            yield text.count("\n", 0, comment.start()) + 1, re.sub(rf"(?m)^[ \t]*{mark}+", "", comment[0])
    if path.suffix == ".sh":
        yield from shell(text)
    if path.suffix in DATA and path.parts[0] != "crates":
        yield from whole(text, WHOLE[path.suffix])
    if path.suffix == ".py" and path.parts[0] != "crates":
        yield from python(text)


def python(source):
    """The comments and strings of Python."""
    comments = {}
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and token.line.lstrip().startswith("#"):
            comments[token.start[0]] = token.string.lstrip("#")
        # Since Python 3.12 the text of an f-string is a token of its own.
        elif token.type in (tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)):
            yield token.start[0], token.string
    for line in sorted(comments):
        if line - 1 not in comments:
            block = [comments[line]]
            while (further := comments.get(line + len(block))) is not None:
                block.append(further)
            yield line, "\n".join(block)


def shell(source):
    """The comments of a shell script, and the texts that it prints, without its variables."""
    for found in SHELL.finditer(source):
        if found["comment"]:
            yield source.count("\n", 0, found.start()) + 1, re.sub(r"(?m)^[ \t]*#+", "", found["comment"])
        elif found["prints"]:
            yield source.count("\n", 0, found.start("text")) + 1, EXPANSION.sub("…", found["text"]).replace("\\\n", " \n")


def names_in(path, text):
    """The names of functions that are sentences, as such, each with its line."""
    if path.suffix not in {".rs", ".py"}:
        return
    for found in NAME.finditer(text):
        yield text.count("\n", 0, found.start()) + 1, found[1].replace("_", " ")


def whole(text, comment):
    """A text without the marks of its comments and the quotes between the parts of a string."""
    text = re.sub(rf"(?m)^([ \t]*)(?:{re.escape(comment)})+", r"\1", text)
    yield 1, re.sub(r'"(\s*\n\s*)[rfb]*"', r"\1", text)


def prose(text):
    """A page without its code blocks, whose lines stay as empty ones."""
    kept, fenced = [], False
    for line in text.split("\n"):
        fence = line.lstrip().startswith("```")
        fenced ^= fence
        kept.append("" if fenced or fence or line.startswith("    ") else line)
    yield 1, "\n".join(kept)


def said(source):
    """The strings and comments of Rust or C, each with its line; neighbouring line comments are one."""
    for token in TOKENS.finditer(source):
        piece = token[0]
        if token["string"]:
            # A backslash at the end of a line joins it with the next.
            piece = piece.replace("\\\n", " \n")
        elif token["line"]:
            piece = re.sub(r"(?m)^([ \t]*)//[/!]?", r"\1", piece)
        elif token["block"]:
            piece = re.sub(r"(?m)^([ \t]*)\*", r"\1", piece)
        elif not token["raw"]:
            continue
        yield source.count("\n", 0, token.start()) + 1, piece
