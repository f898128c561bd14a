# SPDX-License-Identifier: Apache-2.0
"""What include/heft declares: functions, classes with their public methods, and structs with their
fields. Reads the headers as clang-format leaves them; no compiler is needed."""

from __future__ import annotations

import pathlib
import re
from dataclasses import dataclass, field
from typing import Iterator


@dataclass
class Declared:
    """Names of one header. Members are `Class::name`, of nested ones `Class::Nested::name`."""

    functions: set[str] = field(default_factory=set)
    classes: set[str] = field(default_factory=set)
    methods: set[str] = field(default_factory=set)
    fields: set[str] = field(default_factory=set)

    def all(self) -> set[str]:
        """Every name."""
        return self.functions | self.classes | self.methods | self.fields


def _cleaned(text: str) -> str:
    text = re.sub(r"//[^\n]*", "", text)
    text = re.sub(r"^#.*(\\\n.*)*$", "", text, flags=re.M)
    return re.sub(r"'.'|\"[^\"\n]*\"", "0", text)


def _statements(text: str) -> Iterator[tuple[str, str]]:
    """Declarations at the outermost level: what stands before a block or semicolon, and the block."""
    head, depth, parentheses, begin = "", 0, 0, 0
    i = 0
    while i < len(text):
        c = text[i]
        if parentheses == 0 and c == "{":
            begin = i + 1 if depth == 0 else begin
            depth += 1
        elif parentheses == 0 and c == "}":
            depth -= 1
            if depth == 0 and "(" not in head and head.strip() and not _opens_type(head):
                head += " = 0"  # an initialiser: part of its declaration
            elif depth == 0:
                yield head.strip(), text[begin:i]
                head = ""
                rest = text[i + 1:]
                if rest.lstrip().startswith(";"):
                    i += 1 + len(rest) - len(rest.lstrip())
        elif depth == 0 and c == ";":
            yield head.strip(), ""
            head = ""
        elif depth == 0:
            parentheses += (c == "(") - (c == ")")
            head += c
        i += 1


def _opens_type(head: str) -> bool:
    return re.search(r"\b(class|struct|enum|namespace)\b", head) is not None


_TYPE = re.compile(r"^(?:template <.*> )?(class|struct) (?:HEFT_\w+ )?(\w+)(?: final)?$")


def _without_arguments(head: str) -> str:
    """Without what stands in angle brackets or after a default's equals sign."""
    while True:
        shorter = re.sub(r"<[^<>]*>", "", head)
        if shorter == head:
            return head
        head = shorter


def _members(name: str, kind: str, block: str, out: Declared) -> None:
    public = kind == "struct"
    for head, body in _statements(block):
        for label in re.findall(r"\b(public|private|protected):", head):
            public = label == "public"
        head = re.sub(r"\b(public|private|protected):", "", head).strip()
        if not public or not head or head.startswith(("using", "friend", "template", "static constexpr")):
            continue
        head = re.sub(r"\s+", " ", head)
        nested = _TYPE.match(head)
        if nested:
            if body:
                out.classes.add(f"{name}::{nested[2]}")
                _members(f"{name}::{nested[2]}", nested[1], body, out)
            continue
        plain = _without_arguments(head)
        if "operator" in plain:
            continue
        if "(" in plain.split("=")[0]:
            method = re.search(r"(\w+)\s*\(", plain)
            assert method is not None, head
            if method[1] != name.split("::")[-1]:  # neither made nor destroyed
                out.methods.add(f"{name}::{method[1]}")
            continue
        # Fields: `Type a = 1, b;`
        first, *others = re.sub(r"=[^,]*", "", plain).split(",")
        for each in [first.split()[-1], *others]:
            out.fields.add(f"{name}::{each.strip()}")


def declared(header: pathlib.Path) -> Declared:
    """What one header declares in namespace heft."""
    out = Declared()
    blocks = [block for head, block in _statements(_cleaned(header.read_text()))
              if head.split() == ["namespace", "heft"]]
    for head, body in (each for block in blocks for each in _statements(block)):
        head = re.sub(r"\s+", " ", head)
        of_type = _TYPE.match(head)
        if of_type:
            if body:
                out.classes.add(of_type[2])
                _members(of_type[2], of_type[1], body, out)
        elif head.startswith("HEFT_EXPORT"):
            function = re.search(r"(\w+)\s*\(", _without_arguments(head))
            assert function is not None, head
            out.functions.add(function[1])
    return out
