# SPDX-License-Identifier: Apache-2.0
"""mypy --strict accepts package and tests, and the stub says what the module is."""

import ast
import inspect
import os
import pathlib
import subprocess
import sys
import types
from typing import cast

import heft
import heft._heft

PYTHON = pathlib.Path(os.environ["HEFT_SOURCE_DIR"]) / "python"


def run(*arguments: str, folder: pathlib.Path) -> None:
    done = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True,
                          cwd=folder, env={**os.environ, "MYPY_CACHE_DIR": str(folder / "cache")})
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_accepts_the_package(tmp_path: pathlib.Path) -> None:
    run("mypy", "--strict", str(PYTHON / "heft"), folder=tmp_path)


def test_mypy_accepts_the_tests(tmp_path: pathlib.Path) -> None:
    run("mypy", "--strict", str(PYTHON / "tests"), folder=tmp_path)


def test_the_stub_is_in_step_with_the_module(tmp_path: pathlib.Path) -> None:
    # Metaclass and dunders are pybind11's.
    allowed = tmp_path / "allowed"
    allowed.write_text("\n".join([
        r".*\.__(new|init|repr|str|reduce|reduce_ex|copy|deepcopy|pybind11_module_local.*)__",
        r"heft\._heft\.[A-Z]\w*", r".*\.__enter__", r".*\.__exit__", r".*\.__len__", r"heft\._heft\._.*"]) + "\n")
    run("mypy.stubtest", "heft._heft", "--allowlist", str(allowed), "--ignore-unused-allowlist",
        folder=tmp_path)


def test_everything_public_is_documented() -> None:
    for name in heft.__all__:
        thing = getattr(heft, name)
        assert inspect.getdoc(thing), name
        if not inspect.isclass(thing) or issubclass(thing, BaseException):
            continue
        for member, value in vars(thing).items():
            if not member.startswith("_"):
                assert inspect.getdoc(value), f"{name}.{member}"


def test_everything_the_module_has_is_shown() -> None:
    shown = {name for name in vars(heft._heft) if not name.startswith("_")}
    assert shown <= set(heft.__all__)


def test_constructors_are_those_of_the_stub() -> None:
    # stubtest does not see through pybind11's __init__.
    stub = ast.parse((PYTHON / "heft" / "_heft.pyi").read_text())
    seen = 0
    for node in stub.body:
        if not isinstance(node, ast.ClassDef):
            continue
        own = [f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
        made = vars(getattr(heft._heft, node.name)).get("__init__")
        if not own:
            assert made is None or isinstance(made, types.WrapperDescriptorType), node.name
            continue
        said = getattr(made, "__text_signature__", None) or "(self)"
        module = cast(ast.FunctionDef, ast.parse(f"def made{said}: pass").body[0]).args
        stubbed = own[0].args
        for part in ("posonlyargs", "args", "kwonlyargs"):
            names = [[a.arg for a in getattr(args, part)] for args in (module, stubbed)]
            assert names[0] == names[1], (node.name, names)
        defaults = [[ast.unparse(d) if d else "" for d in [*args.defaults, *args.kw_defaults]]
                    for args in (module, stubbed)]
        assert defaults[0] == defaults[1], (node.name, defaults)
        seen += 1
    assert seen >= 5
