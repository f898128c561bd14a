#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the code blocks of a page, one after the other in a folder of its own, as a reader would who pastes them.

    run_page.py REPOSITORY BUILD PAGE [--path FOLDER]... [--python FOLDER] [--cmake PROGRAM]

Blocks of shell are run in one bash, from the first of the page to the last; one of Python, SQL or CMake by itself, where
it stands. JSON has to be such. JavaScript has to parse; tests/browser runs it. A block that fails ends it, with the block
and what it said. In the end it says how each was held. Without --python, blocks of Python have to parse, no more. A page whose
setup exits with 77 is left out.

What a reader has and a page does not say stands in pages/PAGE.toml, with / as _:

    setup = "..."              shell, before the first block
    stand_ins = ["apt", ...]   programs in whose place stand_in.sh looks at the arguments, and does what it may
    scripts = ["demo", ...]    of the repository, which are really run; in place of the others stands stand_in.sh, too
    [[block]]
    begins = "..."             the block that begins so
    instead = [[OLD, NEW]...]  what is run in place of what stands there: less work, or a place of the test's own;
                               prelude.sh has "takes" and "a_test_runs" for what takes minutes in any case
    insert = [[LINE, "..."]]   shell, before the line that begins so
    before, after = "..."      in the block's language
    prints = true              of Python: it prints the block of text that follows it, and nothing else

The folders of --path come first in $PATH, that of --python holds the Python module.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib

import blocks

HERE = pathlib.Path(__file__).resolve().parent
SKIPPED = 77
PAGE_KEYS = {"setup", "stand_ins", "scripts", "block"}
BLOCK_KEYS = {"begins", "instead", "insert", "before", "after", "prints"}


class Wrong(Exception):
    """What stops a page; its text says where."""


def companion_of(page):
    """What pages/ has of a page, checked as far as it can be without the page."""
    path = HERE / "pages" / (page.removesuffix(".md").replace("/", "_") + ".toml")
    if not path.exists():
        return {}
    said = tomllib.loads(path.read_text(encoding="utf-8"))
    unknown = set(said) - PAGE_KEYS | {key for block in said.get("block", []) for key in set(block) - BLOCK_KEYS}
    if unknown:
        raise Wrong(f"{path.name}: no such key: {', '.join(sorted(unknown))}")
    return said


def paired(page, code, said):
    """Each block of code with what is said of it; everything said is of a block."""
    pairs, rest = [], list(said.get("block", []))
    for block in code:
        own = next((entry for entry in rest if block.text.startswith(entry["begins"])), None)
        if own:
            rest.remove(own)
        pairs.append((block, own or {}))
    if rest:
        raise Wrong(f"{page}: no block begins with \"{rest[0]['begins']}\"")
    return pairs


def changed(block, own):
    """The block's text as it is run."""
    text = block.text
    for old, new in own.get("instead", []):
        if old not in text:
            raise Wrong(f"{block.at()}: there is no \"{old}\" any more")
        text = text.replace(old, new)
    for begin, commands in own.get("insert", []):
        lines = text.split("\n")
        at = [number for number, line in enumerate(lines) if line.startswith(begin)]
        if len(at) != 1:
            raise Wrong(f"{block.at()}: {len(at)} lines begin with \"{begin}\"")
        text = "\n".join([*lines[:at[0]], commands.rstrip("\n"), *lines[at[0]:]])
    return text


def stopping(text):
    """Shell that ends where the first of "A && B" fails, which `set -e` lets pass."""
    return "\n".join(line if re.search(r"\|\||\[\[|^\s*(if|while|until) ", line) else line.replace(" && ", "\n")
                     for line in text.split("\n"))


def told(own):
    """What of a block is not run as it stands, in words."""
    said = [f'"{old.strip()}" as "{new.strip()}"' for old, new in own.get("instead", [])]
    return f"with {'; '.join(said)}" if said else "as it stands"


class Page:
    """A page and the folder that it is run in."""

    def __init__(self, given, folder):
        self.given, self.folder = given, folder
        self.said = companion_of(given.page)
        self.blocks = blocks.read(given.repository, given.page)
        self.code = [block for block in self.blocks if block.language in blocks.CODE]
        self.pairs = paired(given.page, self.code, self.said)
        self.stand_ins = folder / ".stand-ins"
        self.held = {}  # how, by block

    def file(self, block, text):
        """A block's text as a file, for what reads files."""
        path = self.folder / f".block-{block.line}.{block.language}"
        path.write_text(text, encoding="utf-8")
        return shlex.quote(str(path))

    def commands(self, block, own):
        """The shell that runs one block."""
        text = "\n".join([own.get("before", ""), changed(block, own), own.get("after", "")])
        self.held[block.at()] = f"ran, {told(own)}"
        if block.language == "shell":
            return stopping(text)
        if block.language == "python" and self.given.python:
            run = f'"$HEFT_PYTHON" {self.file(block, text)}'
            return f"{run} | diff {self.printed(block)} -\n" if own.get("prints") else f"{run}\n"
        if block.language == "cmake":
            return f"run_cmake {self.file(block, text)}\n"
        if block.language in ("sql", "psql"):  # psql: with its own commands
            return f"run_sql {self.file(block, text)}\n"
        self.held[block.at()] = self.parsed(block)
        return ""

    def printed(self, block):
        """The block of text after a block, as a file."""
        after = self.blocks[self.blocks.index(block) + 1:][:1]
        if not after or after[0].language != "text":
            raise Wrong(f"{block.at()}: no block of text follows, which it should print")
        return self.file(after[0], after[0].text)

    def parsed(self, block):
        """What is not run here at least has to be what it says it is."""
        try:
            if block.language == "json":
                json.loads(block.text)
                return "is JSON"
            if block.language == "python":
                compile(block.text, block.at(), "exec")
                return "parses; the Python module is not in this build"
        except (SyntaxError, ValueError) as error:
            raise Wrong(f"{block.at()}: {error}") from error
        if shutil.which("node"):
            done = subprocess.run(["node", "--input-type=module", "--check"], input=block.text, text=True, capture_output=True)
            if done.returncode != 0:
                raise Wrong(f"{block.at()}: {done.stderr.strip()}")
        return "run by tests/browser, in a browser"

    def script(self):
        parts = [f"source {shlex.quote(str(HERE / 'prelude.sh'))}\n", self.said.get("setup", "")]
        for block, own in self.pairs:
            parts.append(f"export HEFT_BLOCK={shlex.quote(block.at())}; echo \"-- $HEFT_BLOCK\"\n")
            parts.append(self.commands(block, own))
        return "".join(parts)

    def environment(self):
        given = self.given
        environment = dict(os.environ, HEFT_SOURCE=str(given.repository), HEFT_BUILD=str(given.build), HEFT_SANDBOX=str(self.folder),
                           HEFT_STATE_DIR=str(self.folder / "state"), HEFT_STAND_INS=str(self.stand_ins), HEFT_CMAKE=given.cmake,
                           HEFT_PYTHON="/usr/bin/python3", PYTHONDONTWRITEBYTECODE="1", MPLBACKEND="Agg", LC_ALL="C.UTF-8")
        environment["PATH"] = ":".join([str(self.folder / ".bin"), *given.path, environment["PATH"]])
        if given.python:
            environment["PYTHONPATH"] = given.python
        return environment

    def make_folder(self):
        """Stand-ins, and the repository's folders as blocks name them."""
        (self.folder / ".bin").mkdir()
        (self.folder / ".bin/python3").symlink_to("/usr/bin/python3")  # Debian's, which has the packages
        for name in self.said.get("stand_ins", []):
            (self.folder / ".bin" / name).symlink_to(HERE / "stand_in.sh")
        self.stand_ins.touch()
        (self.folder / ".ctest").mkdir()  # keeps its logs apart from those of the calling ctest
        (self.folder / ".ctest/CTestTestfile.cmake").write_text(f'subdirs("{self.given.build}")\n')
        (self.folder / "build").mkdir()
        (self.folder / "build/release").symlink_to(self.given.build)
        (self.folder / "scripts").mkdir()
        for script in (self.given.repository / "scripts").iterdir():
            really = script.name in self.said.get("scripts", []) or script.suffix == ".sh"
            (self.folder / "scripts" / script.name).symlink_to(script if really else HERE / "stand_in.sh")

    def report(self):
        stood_in = collections.defaultdict(set)
        for line in self.stand_ins.read_text(encoding="utf-8").splitlines():
            at, name = line.split(" ", 1)
            stood_in[at].add(name)
        for block in self.code:
            names = ", ".join(sorted(stood_in[block.at()]))
            print(f"{block.at()} {block.language}: {self.held[block.at()]}" + (f"; by stand-ins: {names}" if names else ""))

    def run(self):
        self.make_folder()
        source = self.folder / ".page.sh"
        source.write_text(self.script(), encoding="utf-8")
        code = run_program(["bash", str(source)], self.folder, self.environment())
        if code == SKIPPED:
            sys.exit(SKIPPED)
        if code != 0:
            raise Wrong(f"{self.given.page}: a block failed ({code}), the last that is named above")
        self.report()


def run_program(command, folder, environment):
    """Its exit code. What it has started and left behind, such as services, ends with it."""
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, start_new_session=True)
    try:
        return process.wait()
    finally:
        try:
            os.killpg(process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass


def absolute(path):
    """What stands in for a script runs in another folder, and would find itself there by "."."""
    return pathlib.Path(path).resolve()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("repository", type=absolute)
    parser.add_argument("build", type=absolute)
    parser.add_argument("page")
    parser.add_argument("--path", action="append", default=[])
    parser.add_argument("--python", default="")
    parser.add_argument("--cmake", default=shutil.which("cmake") or "cmake")
    given = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that what was begun is ended
    sys.stdout.reconfigure(line_buffering=True)
    with tempfile.TemporaryDirectory(prefix="heft-page-") as folder:
        try:
            Page(given, pathlib.Path(folder).resolve()).run()
        except Wrong as why:
            sys.exit(str(why))


if __name__ == "__main__":
    main()
