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
          "numbers": [1.0]}
# Functions whose options depend on a word: its parameter, that of the options, and the words.
WORDS = {"heft_evaluate": ("study", "study_options", ("evaluation", "folds", "choices", "samples", "protection",
                                                      "searches", "gallery", "protocol")),
         "heft_decision_number": ("what", "record", ("supported", "log_likelihood_ratio", "rate_at", "fpir",
                                                     "threshold_for"))}


def refused(function, parameter, others, /, **values):
    """What a function says to these options and an unknown one: it reads them before it acts."""
    objects["refused"] = heft.options(unknown=True, **values)  # lives as long as it is looked at
    index = [name for _, name in function.parameters].index(parameter)
    return Arguments().attempt(function, index, objects["refused"].pointer, others)[1]


def options():
    """(function, option, type) of every function that takes options."""
    for name, (chosen, parameter, words) in WORDS.items():
        function = heft.functions[name]
        index = [own for _, own in function.parameters].index(chosen)
        for word in words:
            for option, kinds in options_of(function, parameter, [(index, word.encode())]):
                yield f"{name}({word})", option, kinds
    for function in heft.functions.values():
        if function.name.startswith("heft_options") or \
                ("const heft_options *", "options") not in function.parameters:
            continue
        for option, kinds in options_of(function):
            yield function.name, option, kinds


def options_of(function, parameter="options", others=()):
    """(option, type) of one function."""
    names = re.search(r"is not one of this call's options: (.*)", refused(function, parameter, others))[1]
    for name in names.split(", "):
        yield name, " or ".join(kind for kind, value in VALUES.items() if "\"unknown\" is not one" in
                                refused(function, parameter, others, **{name: value}))


def changes(library):
    """Lines that are missing or new."""
    now = {" ".join(("option",) + one) for one in options()}
    now |= {f"result {function} {member or '/'} {kind}" for function, member, kind in library.members}
    if os.environ.get("HEFT_UPDATE"):
        FILE.write_text("\n".join(sorted(now)) + "\n")
    stored = set(FILE.read_text().splitlines())
    return [f"gone: {line}" for line in sorted(stored - now)] + \
        [f"new: {line} (HEFT_UPDATE=1 writes it)" for line in sorted(now - stored)]
