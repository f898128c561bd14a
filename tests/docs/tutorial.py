#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the blocks of a tutorial, as a reader would who pastes one after the other.

    tutorial.py extract LANGUAGE PAGE.md FILE    writes the blocks of a language, one after the other
    tutorial.py run PAGE.md [--path FOLDER]...   runs the blocks of shell in one bash, and those of
                                                 python in one Python, in an empty folder

The folders of --path come first in $PATH. A block that fails ends it, with the block and what it said.
"""
import argparse
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.M | re.S)
RUN = {"shell": ["bash"], "python": ["/usr/bin/python3"]}


def blocks(page):
    """(language, text, line) of each fenced block, in order."""
    text = pathlib.Path(page).read_text(encoding="utf-8")
    return [(m[1], m[2], text.count("\n", 0, m.start()) + 1) for m in FENCE.finditer(text)]


def extract(language, page, out):
    chosen = [f'#line {line + 1} "{page}"\n{text}' if language == "cpp" else text
              for name, text, line in blocks(page) if name == language]
    if not chosen:
        sys.exit(f"{page}: no blocks of {language}")
    pathlib.Path(out).write_text("".join(chosen), encoding="utf-8")


def script(language, page):
    """All blocks of a language as one program that says where it is."""
    parts = ["set -euo pipefail\n"] if language == "shell" else []
    for name, text, line in blocks(page):
        if name != language:
            continue
        at = f"{page}, line {line}"
        parts.append(f"echo '-- {at}'\n" if language == "shell" else f"print('-- {at}', flush=True)\n")
        parts.append(text)
    return "".join(parts)


def run_program(command, folder, environment):
    """Its exit code. What it has started and left behind, such as services, ends with it."""
    process = subprocess.Popen(command, cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                               start_new_session=True)
    try:
        return process.wait()
    finally:
        try:
            os.killpg(process.pid, signal.SIGTERM)
        except ProcessLookupError:
            pass


def run(page, folders):
    environment = dict(os.environ)
    environment["PATH"] = ":".join([*folders, environment["PATH"]])
    ran = 0
    with tempfile.TemporaryDirectory(prefix="heft-tutorial-") as folder:
        environment["HEFT_STATE_DIR"] = folder + "/state"
        for language, program in RUN.items():
            if not any(name == language for name, _, _ in blocks(page)):
                continue
            source = pathlib.Path(folder) / f".tutorial-{language}"
            source.write_text(script(language, page), encoding="utf-8")
            code = run_program([*program, str(source)], folder, environment)
            if code != 0:
                sys.exit(f"{page}: a block of {language} failed ({code}); the last place named above")
            ran += 1
    if ran == 0:
        sys.exit(f"{page}: no blocks to run")


def main():
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    one = commands.add_parser("extract")
    one.add_argument("language")
    one.add_argument("page")
    one.add_argument("out")
    two = commands.add_parser("run")
    two.add_argument("page")
    two.add_argument("--path", action="append", default=[])
    arguments = parser.parse_args()
    if arguments.command == "extract":
        extract(arguments.language, arguments.page, arguments.out)
    else:
        run(arguments.page, arguments.path)


if __name__ == "__main__":
    main()
