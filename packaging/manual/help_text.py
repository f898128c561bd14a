# SPDX-License-Identifier: Apache-2.0
"""What programs say with --help, as data: the one source of the manual and of completions."""
import dataclasses
import re
import subprocess

COLUMN = 30  # where CLI11 begins an option's description
SECTIONS = ("Positionals:", "Options:", "Subcommands:")


@dataclasses.dataclass
class Option:
    names: list  # ["-d", "--data"], or ["FILE"] of an argument by position
    takes: str   # "TEXT", "INT (0 to 1024)=0 Excludes: --all", "" of a flag
    about: str

    def is_flag(self):
        return not self.takes or self.takes.startswith(("Needs:", "Excludes:"))

    def is_many(self):
        return bool(re.search(r" \.\.\.( |$)", self.takes))

    def choices(self):
        """The words that it takes, if it takes no others."""
        found = re.match(r"\(([^()]*)\)", self.takes)
        return [word.strip() for word in found[1].split(",")] if found else []

    def is_number(self):
        return bool(re.match(r"(U?INT|NUMBER)\b", self.takes))


@dataclasses.dataclass
class Command:
    path: list  # ["heft", "gallery", "list"]
    about: str
    usage: str  # after the path: "[OPTIONS] path"
    footer: str
    positionals: list
    options: list
    commands: list

    def all(self):
        yield self
        for command in self.commands:
            yield from command.all()


def entries(lines):
    """(name, about) of a section's lines; a name that is too long has a line of its own."""
    found = []
    for line in lines:
        if line.startswith(" " * COLUMN):
            found[-1][1] += (" " if found[-1][1] else "") + line.strip()
        elif len(line) > COLUMN and line[COLUMN - 1] == " " and len(line[:COLUMN].rstrip()) < COLUMN \
                and not too_long(line, lines):
            found.append([line[:COLUMN].strip(), line[COLUMN:].strip()])
        else:
            found.append([line.strip(), ""])
    return found


def too_long(line, lines):
    """Whether all of a line is a name, because the next line says what it is for."""
    at = next(i for i, other in enumerate(lines) if other is line)
    return at + 1 < len(lines) and lines[at + 1].startswith(" " * COLUMN)


def read_option(name, about):
    names, _, takes = name.partition(" ")
    return Option(names.split(","), takes.strip(), about)


def split(text):
    """The text before sections, the sections' lines, and the text after them."""
    before, sections, after, current = [], {}, [], None
    for line in text.splitlines():
        if line in SECTIONS and not after:
            current = sections.setdefault(line, [])
        elif current is None:
            before.append(line)
        elif line.startswith("  ") and not after:
            current.append(line)
        elif line or after:
            after.append(line)
    return before, sections, "\n".join(after).strip()


def read(program, path):
    """A command of the program file, and all below it."""
    text = subprocess.run([program, *path[1:], "--help"], check=True, capture_output=True,
                          text=True).stdout
    before, sections, footer = split(text)
    usage = next(line for line in before if line.startswith("Usage: "))
    usage = usage[len("Usage: "):].split(" ", len(path))[-1]
    about = " ".join(line for line in before if line and not line.startswith("Usage: "))
    options = [read_option(*entry) for entry in entries(sections.get("Options:", []))]
    positionals = [read_option(*entry) for entry in entries(sections.get("Positionals:", []))]
    names = [name for name, _ in entries(sections.get("Subcommands:", []))]
    commands = [read(program, path + [name]) for name in names]
    return Command(path, about, usage, footer, positionals, options, commands)
