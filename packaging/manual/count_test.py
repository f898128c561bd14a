#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the commands and the flags of the tools, and fails if there are too many. A tool that is given the
command of another one names that tool.

    count_test.py PROGRAM...      run by CTest with heft, heft-server and heft-seal

A leaf command is one that runs something ("heft trust add", not "heft trust"). It is counted once if
several programs have it, with the same description. Flags are counted by their long names, each once
over all commands of all programs, --help and --version included.
"""
import pathlib
import subprocess
import sys

sys.dont_write_bytecode = True
import help_text  # noqa: E402

MOST_COMMANDS, MOST_FLAGS = 45, 120


def leaves(command):
    """The commands below one that run something."""
    return [one for one in command.all() if not one.commands]


def unhelpful(files):
    """Pairs of a tool and a command of one other tool that it does not lead to."""
    names = {file: {one.path[1] for one in leaves(help_text.read(str(file), [file.name]))} for file in files}
    for file in files:
        for word in sorted(set().union(*names.values()) - names[file]):
            owners = [other.name for other in files if word in names[other]]
            said = subprocess.run([file, word], capture_output=True, text=True).stderr
            if len(owners) == 1 and f"did you mean {owners[0]} {word}?" not in said:
                yield f"{file.name} {word}: {said.strip()}"


def main():
    flags, everywhere, failed = {}, {}, False
    for file in map(pathlib.Path, sys.argv[1:]):
        program = help_text.read(str(file), [file.name])
        commands = leaves(program)
        for one in commands:
            everywhere.setdefault((" ".join(one.path[1:]), one.about), []).append(file.name)
        print(f"{file.name}: {len(commands)} commands")
        failed |= not commands
        for one in program.all():
            for name in [name for option in one.options for name in option.names]:
                if name.startswith("--"):
                    flags.setdefault(name, set()).add(" ".join(one.path))
    print(f"all programs: {len(everywhere)} commands (at most {MOST_COMMANDS}), "
          f"{len(flags)} flags (at most {MOST_FLAGS})")
    failed |= len(everywhere) > MOST_COMMANDS or not 0 < len(flags) <= MOST_FLAGS
    for pair in unhelpful(list(map(pathlib.Path, sys.argv[1:]))):
        print(f"does not name the program: {pair}")
        failed = True
    if failed:
        for (name, _), programs in sorted(everywhere.items()):
            print(f"{name}: {', '.join(programs)}")
        for name, commands in sorted(flags.items()):
            print(f"{name}: {', '.join(sorted(commands))}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
