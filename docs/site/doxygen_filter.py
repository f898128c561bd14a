#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Gives Doxygen a header of ours as it wants it: plain comments become its own.

    doxygen_filter.py HEADER    prints the header

A comment above a declaration speaks of it, a comment at the end of a line of what stands before it.
The comment that opens a file speaks of the file. Texts are plain: what Doxygen would take for a command
or for markup is escaped.
"""
import re
import sys

TRAILING = re.compile(r"^(?P<code>.*\S.*?)\s+// (?P<text>.*)$")
COMMENT = re.compile(r"^(?P<indent>\s*)//( (?P<text>.*))?$")
SELF_NAMED = re.compile(r"typedef (struct|enum) (\w+) \{(.*?)\} \2;", re.S)


def plain(text):
    """Text in which Doxygen sees no command, no tag and no markup."""
    if text.startswith("  "):
        return text
    spans = re.split(r"(`[^`]*`)", text)  # code in between, which stays
    return "".join(span if span.startswith("`") else re.sub(r"([\\@&$#<>%\"*_`~|])", r"\\\1", span)
                   for span in spans)


def is_lint(text):
    return text.startswith(("NOLINT", "IWYU", "namespace"))


def convert(lines):
    out, at = [], 0
    if lines and "SPDX" in lines[0]:
        at = 1
    head = []
    while at < len(lines) and lines[at].startswith("//"):
        head.append(lines[at][3:])
        at += 1
    out.append("/// \\file")
    out.append("///")
    out += ["/// " + plain(line) for line in head]
    out.append("")
    for line in lines[at:]:
        comment = COMMENT.match(line)
        trailing = None if comment else TRAILING.match(line)
        if comment:
            text = comment["text"] or ""
            if is_lint(text) or text.startswith("----"):  # a rule between parts of a header
                continue
            out.append(f"{comment['indent']}/// {plain(text)}".rstrip())
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
