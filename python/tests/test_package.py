# SPDX-License-Identifier: Apache-2.0
"""pip install . without a network, in an environment of its own: the wheel is complete and works."""

import base64
import csv
import hashlib
import importlib
import os
import pathlib
import subprocess
import sys
import tarfile
import zipfile
from typing import Any

import pytest

SOURCE = pathlib.Path(os.environ["HEFT_SOURCE_DIR"])
BUILD = os.environ["HEFT_BINARY_DIR"]

PROGRAM = """
import heft, importlib.metadata, sys
assert "site-packages" in heft.__file__, heft.__file__
assert heft.__version__ == importlib.metadata.version("heft")
data = heft.TrainingData.synthesise(identities=12, samples=4, dimensions=(24, 16), jitter=0.3)
model = heft.Model.train(data, method="none")
owner = heft.KeyOwner.generate(model)
client = heft.Client(model, owner.encryption_key())
matcher = heft.Matcher(model, owner.evaluation_keys(), owner.enrolment_keys())
rows = {name: data.vectors(name)[::4] for name in data.modalities}
matcher.enrol(sys.argv[1], client.encrypt_each(rows, range(12)))
matcher.activate(sys.argv[1], owner.approve(matcher.pending(sys.argv[1])).signed_admission, owner.public_key)
probe = {name: data.vectors(name)[4 * 3 + 1] for name in data.modalities}
reply = matcher.identify(sys.argv[1], client.encrypt_each(probe, use="identification"))
print(owner.decide(reply, score=0.3).identity)
"""


def run(*command: object, **options: str) -> str:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          env={**environment, **options})
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("environment")
    run(sys.executable, "-m", "venv", "--system-site-packages", folder)
    return folder


def wheel(folder: pathlib.Path, environment: pathlib.Path) -> pathlib.Path:
    run(environment / "bin/pip", "wheel", "--no-index", "--no-deps", "--quiet", "--wheel-dir", folder,
        f"--config-settings=build-dir={BUILD}", SOURCE)
    (found,) = folder.glob("*.whl")
    return found


def test_a_wheel_is_right(tmp_path: pathlib.Path, environment: pathlib.Path) -> None:
    first = wheel(tmp_path / "a", environment)
    assert first.name.startswith("heft-0.2.0-py3-none-linux_"), "for every version of Python 3"
    with zipfile.ZipFile(first) as archive:
        names = set(archive.namelist())
        assert {"heft/__init__.py", "heft/py.typed", "heft/libheft_c.so.1", "heft/service.py",
                "heft-0.2.0.dist-info/METADATA", "heft-0.2.0.dist-info/WHEEL"} <= names
        assert not any("__pycache__" in name for name in names)
        rows = list(csv.reader(archive.read("heft-0.2.0.dist-info/RECORD").decode().splitlines()))
        assert {row[0] for row in rows} == names
        for name, digest, size in rows:
            data = archive.read(name)
            if not name.endswith("RECORD"):
                sha256 = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
                assert digest == f"sha256={sha256}" and int(size) == len(data)
    again = wheel(tmp_path / "b", environment)
    assert first.read_bytes() == again.read_bytes(), "two builds are the same"


def test_pip_installs_it(tmp_path: pathlib.Path, environment: pathlib.Path) -> None:
    run(environment / "bin/pip", "install", "--no-index", "--no-deps", "--quiet",
        f"--config-settings=build-dir={BUILD}", SOURCE)
    said = run(environment / "bin/python", "-c", PROGRAM, tmp_path / "gallery",
               HEFT_STATE_DIR=str(tmp_path / "state"))
    assert said == "3\n"
    assert "Version: 0.2.0" in run(environment / "bin/pip", "show", "heft")


def test_an_archive_of_the_sources(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(SOURCE / "python"))
    heft_build: Any = importlib.import_module("heft_build")
    name = heft_build.build_sdist(str(tmp_path))
    assert name == "heft-0.2.0.tar.gz"
    with tarfile.open(tmp_path / name) as archive:
        names = set(archive.getnames())
    needed = {"PKG-INFO", "pyproject.toml", "CMakeLists.txt", "python/heft_build.py",
              "python/heft/_library.py", "include/heft/heft.h", "desk/enrol_many.cc"}
    assert {f"heft-0.2.0/{name}" for name in needed} <= names
    assert not any("/build/" in name for name in names)
