# SPDX-License-Identifier: Apache-2.0
"""Python has what include/heft declares: each function, class, method and field is there, or names.py
says why not. A new name in the headers gets one in Python, or a reason there."""

import inspect
import os
import pathlib
import re
from typing import Any, Optional

import pytest

import heft
import headers
import names

HEADERS = sorted((pathlib.Path(os.environ["HEFT_SOURCE_DIR"]) / "include" / "heft").glob("*.h"))
MISSING = object()


def found(path: str) -> Any:
    """What stands at `Class.member` of the package; MISSING where nothing does."""
    thing: Any = heft
    for part in path.split("."):
        if inspect.isclass(thing):
            own = [vars(each) for each in thing.__mro__[:-1]]
            thing = next((members[part] for members in own if part in members), MISSING)
        else:
            thing = getattr(thing, part, MISSING)
        if thing is MISSING:
            return MISSING
    return thing


def parameters(path: str) -> set[str]:
    """Of a function or method."""
    thing = found(path)
    assert thing is not MISSING, path
    thing = thing.__func__ if isinstance(thing, staticmethod) else thing
    return set(inspect.signature(thing).parameters)


def snake(name: str) -> str:
    """ThresholdFor is threshold_for."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def why_not(name: str) -> Optional[str]:
    """What is wrong with a declared name; None if Python has it, or has a reason."""
    parts = name.split("::")
    owners = ["::".join(parts[:i]) for i in range(1, len(parts) + 1)]
    if any(owner in names.ABSENT for owner in owners):
        return None
    owner = "::".join(parts[:-1])
    if owner in names.PARAMETERS:
        wanted = names.NAMES.get(name, parts[-1])
        lacks = [path for path in names.PARAMETERS[owner] if wanted not in parameters(path)]
        return f"{', '.join(lacks)}: no parameter {wanted}" if lacks else None
    if name in names.PARAMETERS or any(one in names.NAMES for one in owners[:-1]):
        return None
    if name in names.NAMES:
        path = names.NAMES[name]
    else:
        within = names.CLASSES.get(owner, owner.replace("::", ""))
        own = names.CLASSES.get(name, parts[-1] if parts[-1][0].islower() else snake(parts[-1]))
        path = f"{within}.{own}" if within and name not in names.CLASSES else own
        if path != name and found(path) is MISSING and found(parts[-1]) is not MISSING:
            path = parts[-1]
    return None if found(path) is not MISSING else f"there is no heft.{path}"


@pytest.mark.parametrize("header", HEADERS, ids=[header.name for header in HEADERS])
def test_python_has_what_a_header_declares(header: pathlib.Path) -> None:
    declared = headers.declared(header).all()
    missing = {name: wrong for name in sorted(declared) if (wrong := why_not(name)) is not None}
    assert not missing, (
        f"heft/{header.name}: give it to python/heft, or say in python/tests/names.py where it is or why "
        f"there is nothing: {missing}")


def test_what_is_listed_is_declared() -> None:
    declared = {name for header in HEADERS for name in headers.declared(header).all()}
    listed = {*names.CLASSES, *names.PARAMETERS, *names.NAMES, *names.ABSENT}
    assert listed <= declared, sorted(listed - declared)
    assert all(reason for reason in names.ABSENT.values())
    assert not set(names.ABSENT) & set(names.NAMES)


def test_headers_are_read_as_they_are() -> None:
    declared = headers.declared(next(path for path in HEADERS if path.name == "key_owner.h"))
    assert {"KeyOwner", "CanarySet::Person", "DecisionRule"} <= declared.classes
    assert {"KeyOwner::ThresholdFor", "KeyOwner::key_id"} <= declared.methods
    assert {"SharedKey::owner", "CanarySet::Person::label", "Flooding::openings"} <= declared.fields
    assert declared.functions == {"DefaultLimits"}
    assert "KeyOwner::Impl" not in declared.all() and "KeyOwner::impl_" not in declared.all()
    assert len(HEADERS) > 20 and sum(len(headers.declared(path).all()) for path in HEADERS) > 800


def test_a_name_that_is_nowhere_is_noticed() -> None:
    assert why_not("AuditReply") is None and why_not("KeyOwner::ThresholdFor") is None
    for name in ("AuditEverything", "KeyOwner::Shout", "Decision::score", "LearnOptions::luck",
                 "FileInfo::owner"):
        assert why_not(name) is not None, name
