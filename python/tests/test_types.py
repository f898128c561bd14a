# SPDX-License-Identifier: Apache-2.0
"""mypy --strict accepts package and tests; what is public is listed and documented."""

import ast
import inspect
import os
import pathlib
import subprocess
import sys

import heft

PYTHON = pathlib.Path(os.environ["HEFT_SOURCE_DIR"]) / "python"


def run(*arguments: str, folder: pathlib.Path) -> None:
    done = subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True,
                          cwd=folder, env={**os.environ, "MYPY_CACHE_DIR": str(folder / "cache")})
    assert done.returncode == 0, done.stdout + done.stderr


def test_mypy_accepts_the_package(tmp_path: pathlib.Path) -> None:
    run("mypy", "--strict", str(PYTHON / "heft"), folder=tmp_path)


def test_mypy_accepts_the_tests(tmp_path: pathlib.Path) -> None:
    run("mypy", "--strict", str(PYTHON / "tests"), folder=tmp_path)


def test_mypy_knows_what_with_gives_and_that_results_are_read_only(tmp_path: pathlib.Path) -> None:
    lines = ["import heft", "", "def of(model: heft.Model, decision: heft.Decision) -> None:",
             "    with heft.KeyOwner.generate(model) as owner:", "        reveal_type(owner)",
             "    decision.accepted = True", "    decision.other = 1", "    heft.Decision({})",
             "    named: str = decision.identity"]
    (tmp_path / "used.py").write_text("\n".join(lines) + "\n")
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "used.py"], capture_output=True,
                          text=True, cwd=tmp_path, env={**os.environ, "MYPYPATH": str(PYTHON)})
    told = [line.split(":")[1] for line in done.stdout.splitlines() if line.startswith("used.py")]
    assert "heft._key_owner.KeyOwner" in done.stdout and told == ["5", "6", "7", "8"], done.stdout


def test_everything_public_is_documented() -> None:
    for name in heft.__all__:
        thing = getattr(heft, name)
        assert inspect.getdoc(thing), name
        if not inspect.isclass(thing) or issubclass(thing, BaseException):
            continue
        for member, value in vars(thing).items():
            parameter = member in getattr(thing, "__dataclass_fields__", ())  # the class's text has them
            if not member.startswith("_") and not parameter:
                assert inspect.getdoc(value), f"{name}.{member}"


def test_what_is_public_is_listed() -> None:
    tree = ast.parse((PYTHON / "heft" / "__init__.py").read_text())
    imported = [alias.name for node in tree.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(imported) == sorted(heft.__all__)
