#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the commands and the flags of the tools, and fails if there are too many.

    count_test.py PROGRAM...      run by CTest with heft, heft-server and heft-seal

A leaf command is one that runs something ("heft trust add", not "heft trust"). Each program is
counted alone, because a machine has the program of its role. Flags are counted by their long names,
each once over all commands of all programs, --help and --version included.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
import help_text  # noqa: E402

MOST_COMMANDS, MOST_FLAGS = 45, 120


def leaves(command):
    """The commands below one that run something."""
    return [one for one in command.all() if not one.commands]


def main():
    flags, everywhere, failed = {}, set(), False
    for file in map(pathlib.Path, sys.argv[1:]):
        program = help_text.read(str(file), [file.name])
        commands = leaves(program)
        everywhere |= {" ".join(one.path[1:]) for one in commands}
        print(f"{file.name}: {len(commands)} commands (at most {MOST_COMMANDS})")
        failed |= not 0 < len(commands) <= MOST_COMMANDS
        for one in program.all():
            for name in [name for option in one.options for name in option.names]:
                if name.startswith("--"):
                    flags.setdefault(name, set()).add(" ".join(one.path))
    print(f"all programs: {len(everywhere)} names of commands, {len(flags)} flags (at most {MOST_FLAGS})")
    failed |= not 0 < len(flags) <= MOST_FLAGS
    if failed:
        for name, commands in sorted(flags.items()):
            print(f"{name}: {', '.join(sorted(commands))}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
