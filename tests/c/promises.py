# SPDX-License-Identifier: Apache-2.0
"""Names and types of options and of results' members, held against tests/c/promises.txt.

With HEFT_UPDATE=1 in the environment the file is written anew, for new ones.
"""
import os
import pathlib
import re

from arguments_flow import Arguments
from world import heft, objects

FILE = pathlib.Path(__file__).with_name("promises.txt")
VALUES = {"flag": True, "integer": 1, "number": 1.5, "text": "x", "bytes": b"x", "texts": ["x"],
          "numbers": [1.5]}


def refused(function, **values):
    """What a function says to these options and an unknown one: it reads them before it acts."""
    objects["refused"] = heft.options(unknown=True, **values)  # lives as long as it is looked at
    index = next(i for i, (_, name) in enumerate(function.parameters) if name == "options")
    return Arguments().attempt(function, index, objects["refused"].pointer)[1]


def options():
    """(function, option, type) of every function that takes options."""
    for function in heft.functions.values():
        if function.name.startswith("heft_options") or \
                ("const heft_options *", "options") not in function.parameters:
            continue
        names = re.search(r"is not one of this call's options: (.*)", refused(function))[1]
        for name in names.split(", "):
            kinds = [kind for kind, value in VALUES.items()
                     if "\"unknown\" is not one" in refused(function, **{name: value})]
            yield function.name, name, " or ".join(kinds)


def changes(library):
    """Lines that are missing or new."""
    now = {" ".join(("option",) + one) for one in options()}
    now |= {f"result {function} {member or '/'} {kind}" for function, member, kind in library.members}
    if os.environ.get("HEFT_UPDATE"):
        FILE.write_text("\n".join(sorted(now)) + "\n")
    stored = set(FILE.read_text().splitlines())
    return [f"gone: {line}" for line in sorted(stored - now)] + \
        [f"new: {line} (HEFT_UPDATE=1 writes it)" for line in sorted(now - stored)]
