#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes manual pages and completions of programs from their --help.

    make_manual.py --version VERSION --out FOLDER PROGRAM...

FOLDER/man/heft.1, FOLDER/bash/heft and FOLDER/zsh/_heft of a program heft.
"""
import argparse
import pathlib
import sys

sys.dont_write_bytecode = True
import completion  # noqa: E402
import help_text  # noqa: E402
import man_page  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version", required=True)
    parser.add_argument("--out", required=True, type=pathlib.Path)
    parser.add_argument("programs", nargs="+", type=pathlib.Path)
    arguments = parser.parse_args()
    for folder in ["man", "bash", "zsh"]:
        (arguments.out / folder).mkdir(parents=True, exist_ok=True)
    for file in arguments.programs:
        program = help_text.read(str(file), [file.name])
        page = f"{file.name}.{man_page.section_of(file.name)}"
        (arguments.out / "man" / page).write_text(man_page.make(program, arguments.version))
        (arguments.out / "bash" / file.name).write_text(completion.bash(program))
        (arguments.out / "zsh" / f"_{file.name}").write_text(completion.zsh(program))


if __name__ == "__main__":
    main()
