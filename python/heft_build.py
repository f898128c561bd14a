# SPDX-License-Identifier: Apache-2.0
"""Builds heft's wheel (PEP 517), with CMake and the standard library alone.

    pip install .                                      builds in build/wheel
    pip install . --config-settings=build-dir=DIR      in a build folder that is there, if it is one

The wheel holds the C library, which links the system's Abseil, libsodium and others. It is for every
Python of the distribution that it was built on, and its tag says so (py3, linux_*, not manylinux).
"""

from __future__ import annotations

import base64
import hashlib
import os
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import time
import zipfile
from typing import Any, Optional

ROOT = pathlib.Path(__file__).resolve().parent.parent
# The time of all files in archives, so that two builds are equal: 1980, or SOURCE_DATE_EPOCH.
EPOCH = max(int(os.environ.get("SOURCE_DATE_EPOCH", "315532800")), 315532800)

Settings = Optional[dict[str, Any]]


def _version() -> str:
    found = re.search(r"project\(heft VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text())
    assert found is not None
    return found[1]


def _tag() -> str:
    platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    return f"py3-none-{platform}"


def _metadata() -> str:
    lines = ["Metadata-Version: 2.1", "Name: heft", f"Version: {_version()}",
             "Summary: Homomorphically encrypted fusion and matching of biometric templates",
             "License: Apache-2.0", "Requires-Python: >=3.9", "Requires-Dist: numpy",
             "Provides-Extra: frames", "Requires-Dist: pandas; extra == 'frames'",
             "Provides-Extra: progress", "Requires-Dist: tqdm; extra == 'progress'",
             "Provides-Extra: decisions", "Requires-Dist: cryptography; extra == 'decisions'",
             "Description-Content-Type: text/markdown", "",
             (ROOT / "README.md").read_text(encoding="utf-8")]
    return "\n".join(lines)


def _wheel() -> str:
    return (f"Wheel-Version: 1.0\nGenerator: heft_build\nRoot-Is-Purelib: false\n"
            f"Tag: {_tag()}\n")


def _build(settings: Settings) -> pathlib.Path:
    """Builds the C library in one file; its path."""
    folder = pathlib.Path((settings or {}).get("build-dir", ROOT / "build" / "wheel")).resolve()
    if not (folder / "CMakeCache.txt").exists():
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        subprocess.run(
            ["cmake", "-S", str(ROOT), "-B", str(folder), *generator, "-DCMAKE_BUILD_TYPE=Release",
             "-DHEFT_BUILD_TESTS=OFF", "-DHEFT_BUILD_BENCHMARKS=OFF", "-DHEFT_BUILD_EXAMPLES=OFF",
             "-DHEFT_BUILD_SERVICE=OFF", "-DHEFT_BUILD_PYTHON=ON",
             "-DHEFT_BUILD_MANUAL=OFF"], check=True)
    subprocess.run(["cmake", "--build", str(folder), "--target", "heft_python_standalone",
                    "--parallel", str(os.cpu_count() or 1)], check=True)
    return folder / "python-standalone" / "libheft_c.so.1"


def _record(files: dict[str, bytes], info: str) -> str:
    lines = []
    for name, data in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
        lines.append(f"{name},sha256={digest},{len(data)}")
    return "\n".join([*lines, f"{info}/RECORD,,"]) + "\n"


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    """Nothing from an index: the system's packages."""
    return []


def get_requires_for_build_sdist(config_settings: Settings = None) -> list[str]:
    """Nothing."""
    return []


def prepare_metadata_for_build_wheel(metadata_directory: str,
                                     config_settings: Settings = None) -> str:
    """Writes what a wheel says of itself, before it is built; the folder's name."""
    info = f"heft-{_version()}.dist-info"
    folder = pathlib.Path(metadata_directory) / info
    folder.mkdir()
    (folder / "METADATA").write_text(_metadata(), encoding="utf-8")
    (folder / "WHEEL").write_text(_wheel())
    return info


def build_wheel(wheel_directory: str, config_settings: Settings = None,
                metadata_directory: Optional[str] = None) -> str:
    """Writes the wheel; its name."""
    library = _build(config_settings)
    info = f"heft-{_version()}.dist-info"
    package = ROOT / "python" / "heft"
    files = {f"heft/{path.name}": path.read_bytes()
             for path in sorted([*package.glob("*.py"), package / "py.typed", library])}
    files[f"{info}/METADATA"] = _metadata().encode()
    files[f"{info}/LICENSE"] = (ROOT / "LICENSE").read_bytes()
    files[f"{info}/WHEEL"] = _wheel().encode()
    files[f"{info}/RECORD"] = _record(files, info).encode()
    name = f"heft-{_version()}-{_tag()}.whl"
    _write_zip(pathlib.Path(wheel_directory) / name, files)
    return name


def _write_zip(path: pathlib.Path, files: dict[str, bytes]) -> None:
    date = time.gmtime(EPOCH)[:6]
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = (0o755 if name.endswith(".so.1") else 0o644) << 16
            archive.writestr(entry, data)


def _sources() -> list[str]:
    """Those that git knows; without git, all but what builds and npm leave."""
    listed = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z"], capture_output=True)
    if listed.returncode == 0:
        return sorted(filter(None, listed.stdout.decode().split("\0")))
    found = []
    for folder, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if not f.startswith((".", "build")) and
                      f not in ("node_modules", "__pycache__")]
        found += [os.path.relpath(os.path.join(folder, name), ROOT) for name in names]
    return sorted(found)


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """Writes the archive of the sources; its name."""
    base = f"heft-{_version()}"
    out = pathlib.Path(sdist_directory) / f"{base}.tar.gz"
    with tempfile.TemporaryDirectory() as folder, tarfile.open(out, "w:gz") as archive:
        information = pathlib.Path(folder) / "PKG-INFO"
        information.write_text(_metadata(), encoding="utf-8")
        archive.add(information, f"{base}/PKG-INFO")
        for name in _sources():
            if (ROOT / name).is_file():
                archive.add(ROOT / name, f"{base}/{name}")
    return out.name
