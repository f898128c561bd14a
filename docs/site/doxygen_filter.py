#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives Doxygen a header of ours as it wants it: plain comments become its own.

    doxygen_filter.py HEADER    prints the header

A comment above a declaration speaks of it, a comment at the end of a line of what stands before it.
The comment that opens a file speaks of the file. Texts are plain: what Doxygen would take for a command
or for markup is escaped. Lines of a comment that are indented stay as they are: code, where a line ends
with a semicolon (tests/docs compiles that), and otherwise a table or a formula.
"""
import re
import sys
import textwrap

TRAILING = re.compile(r"^(?P<code>.*\S.*?)\s+// (?P<text>.*)$")
COMMENT = re.compile(r"^(?P<indent>\s*)//( (?P<text>.*))?$")
SELF_NAMED = re.compile(r"typedef (struct|enum) (\w+) \{(.*?)\} \2;", re.S)


def plain(text):
    """Text in which Doxygen sees no command, no tag and no markup."""
    spans = re.split(r"(`[^`]*`)", text)  # code in between, which stays
    return "".join(span if span.startswith("`") else re.sub(r"([\\@&$#<>%\"*_`~|])", r"\\\1", span)
                   for span in spans)


def parts(texts):
    """A comment's lines as (indented, lines): those that are, without what they have in common, and the others."""
    found = []
    for text in texts:
        indented = text.startswith("  ")
        if not found or found[-1][0] != indented:
            found.append((indented, []))
        found[-1][1].append(text)
    return [(indented, textwrap.dedent("\n".join(lines)).split("\n") if indented else lines)
            for indented, lines in found]


def is_code(lines):
    return any(re.search(r";\s*(//.*)?$", line) for line in lines)


def examples(path):
    """The code in a header's comments: (line, text) of each."""
    found, at = [], 0
    lines = path.read_text(encoding="utf-8").splitlines()
    while at < len(lines):
        start, texts = at, []
        while at < len(lines) and (comment := COMMENT.match(lines[at])):
            texts.append(comment["text"] or "")
            at += 1
        for indented, inner in parts(texts):
            if indented and is_code(inner):
                found.append((start + 1, "\n".join(inner) + "\n"))
            start += len(inner)
        at += not texts
    return found


def said(texts):
    """A comment as Doxygen wants it, without the slashes."""
    out = []
    for indented, lines in parts(texts):
        if indented:
            kind = ("code{.cpp}", "endcode") if is_code(lines) else ("verbatim", "endverbatim")
            out += ["\\" + kind[0], *lines, "\\" + kind[1]]
        else:
            out += [plain(line) for line in lines]
    return out


def is_lint(text):
    return text.startswith(("NOLINT", "IWYU", "namespace"))


def convert(lines):
    out, at = [], 0
    if lines and "SPDX" in lines[0]:
        at = 1
    head = []
    while at < len(lines) and lines[at].startswith("//"):
        head.append(lines[at])
        at += 1
    out.append("/// \\file")
    out.append("///")
    out += ["/// " + line for line in said([line[3:] for line in head])]
    out.append("")
    waiting = []  # lines of a comment
    for line in [*lines[at:], ""]:
        comment = COMMENT.match(line)
        if waiting and not comment:
            out += [f"{waiting[0]['indent']}/// {text}".rstrip()
                    for text in said([one["text"] or "" for one in waiting])]
            waiting = []
        trailing = None if comment else TRAILING.match(line)
        if comment:
            text = comment["text"] or ""
            if is_lint(text) or text.startswith("----"):  # a rule between parts of a header
                continue
            waiting.append(comment)
        elif trailing and not line.lstrip().startswith("#") and not is_lint(trailing["text"]):
            out.append(f"{trailing['code']}  ///< {plain(trailing['text'])}")
        else:
            out.append(re.sub(r"\s+// .*$", "", line) if trailing else line)
    return out


def main():
    path = sys.argv[1]
    with open(path, encoding="utf-8") as source:
        lines = source.read().splitlines()
    # C's "typedef struct a {...} a;" would be declared twice.
    print(SELF_NAMED.sub(r"\1 \2 {\3};", "\n".join(convert(lines))))


if __name__ == "__main__":
    main()
