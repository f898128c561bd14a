#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Python adds to a call: the same in Python and in C++, in turn, in one process.

    ninja -C build/release heft_python heft_direct
    PYTHONPATH=build/release/python python3 python/bench/overhead.py build/release/python-bench/libheft_direct.so

Prints medians and their ratio: encrypting a vector, enrolling (fusing) a pair, identifying against a gallery.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import pathlib
import statistics
import tempfile
import time
from typing import Any, Callable, Mapping

import numpy as np

import heft


def processor() -> str:
    with open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return "unknown processor"


def compare(name: str, rounds: int, ours: Callable[[int], float], theirs: Callable[[int], float]) -> None:
    """Each round runs both, in an order that changes."""
    python, direct = [], []
    for i in range(rounds):
        if i % 2:
            python.append(ours(i))
            direct.append(theirs(i))
        else:
            direct.append(theirs(i))
            python.append(ours(i))
    ratio = statistics.median(a / b for a, b in zip(python, direct))
    print(f"{name:28} Python {1e3 * statistics.median(python):8.3f} ms   "
          f"C++ {1e3 * statistics.median(direct):8.3f} ms   median ratio {ratio:.3f}")


def timed(call: Callable[..., object], *arguments: object, **options: object) -> float:
    begin = time.perf_counter()
    call(*arguments, **options)
    return time.perf_counter() - begin


class Direct:
    """The same calls in C++ (direct.cc), which time themselves."""

    def __init__(self, library: str, work: pathlib.Path):
        self.functions, self.work = ctypes.CDLL(library), work
        for name in ("encrypt", "enrol", "identify"):
            getattr(self.functions, f"direct_{name}").restype = ctypes.c_double
        self.functions.direct_open(os.fsencode(work))

    def encrypt(self, modality: str, vector: Any) -> float:
        values = vector.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        return float(self.functions.direct_encrypt(modality.encode(), values, ctypes.c_size_t(len(vector))))

    def of_files(self, name: str, gallery: pathlib.Path, files: Mapping[str, bytes]) -> float:
        """Enrols or identifies the samples of some modalities."""
        paths = []
        for modality, data in files.items():
            paths.append(os.fsencode(self.work / modality))
            (self.work / modality).write_bytes(data)
        array = (ctypes.c_char_p * len(paths))(*paths)
        return float(getattr(self.functions, f"direct_{name}")(os.fsencode(gallery), array, ctypes.c_size_t(len(paths))))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("library", help="libheft_direct.so")
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--templates", type=int, default=4096)
    parser.add_argument("--dimension", type=int, default=512)
    options = parser.parse_args()
    work = pathlib.Path(tempfile.mkdtemp())
    os.environ["HEFT_STATE_DIR"] = str(work / "state")
    data = heft.TrainingData.synthesise(identities=60, samples=4, jitter=0.3,
                                        dimensions=(options.dimension, options.dimension))
    model = heft.Model.train(data, gamma=32, epochs=2)
    owner = heft.KeyOwner.generate(model)
    keys = (owner.encryption_key(), owner.evaluation_keys(), owner.enrolment_keys())
    client, matcher = heft.Client(model, keys[0]), heft.Matcher(model, keys[1], keys[2])
    for name, data_of in zip(("encryption.key", "evaluation.keys", "enrolment.keys"), keys):
        (work / name).write_bytes(data_of)
    (work / "model.heft").write_bytes(model.to_bytes())
    direct = Direct(options.library, work)
    rng = np.random.default_rng(1)

    def rows(count: int) -> dict[str, Any]:
        at = rng.integers(0, len(data), count)
        return {name: data.vectors(name)[at] for name in data.modalities}

    matcher.enrol_many(work / "gallery", rows(options.templates), np.arange(options.templates),
                       client=client, owner=owner)
    print(f"{processor()}, {heft.threads()} threads, {heft.active_instruction_set()}; "
          f"{options.dimension} + {options.dimension}, {options.templates} templates")
    vector = data.vectors("face")[0]
    compare("encrypt a vector", options.rounds,
            lambda i: timed(client.encrypt, "face", vector),
            lambda i: direct.encrypt("face", vector))
    pairs = [client.encrypt_each(rows(1), [f"{side} {i}"]) for i in range(options.rounds)
             for side in ("a", "b")]
    compare("fuse and enrol a pair", options.rounds,
            lambda i: timed(matcher.enrol, work / "one", pairs[2 * i]),
            lambda i: direct.of_files("enrol", work / "two", pairs[2 * i + 1]))
    probe = client.encrypt_each(rows(1), use="identification")
    held = heft.Gallery(work / "gallery")
    compare("identify", options.rounds,
            lambda i: timed(matcher.identify, held, probe, sign=False),
            lambda i: direct.of_files("identify", work / "gallery", probe))


if __name__ == "__main__":
    main()
