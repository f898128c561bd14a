# SPDX-License-Identifier: Apache-2.0
"""One small world for all tests: a model of people who do not exist, keys and roles."""

from __future__ import annotations

import os
import pathlib
from dataclasses import dataclass
from typing import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

import heft

SAMPLES = 6  # of each person


@dataclass
class World:
    """All roles in one process; a gallery is each test's own."""

    data: heft.TrainingData
    model: heft.Model
    owner: heft.KeyOwner
    client: heft.Client
    matcher: heft.Matcher

    def rows(self, people: range, sample: int = 0) -> dict[str, NDArray[np.float32]]:
        """The vectors of one sample of each person, by modality."""
        at = [person * SAMPLES + sample for person in people]
        return {name: self.data.vectors(name)[at] for name in self.data.modalities}

    def enrol(self, gallery: str, people: range = range(8), **options: object) -> heft.ActivateResult:
        """Enrols a sample of each and activates them."""
        labels = [f"person {i}" for i in people]
        files = self.client.encrypt_each(self.rows(people), labels)
        self.matcher.enrol(gallery, files, **options)  # type: ignore[arg-type]
        return self.activate(gallery)

    def activate(self, gallery: str) -> heft.ActivateResult:
        """The key owner approves who waits."""
        word = self.owner.approve(self.matcher.pending(gallery)).signed_admission
        return self.matcher.activate(gallery, word, self.owner.public_key)

    def probe(self, person: int, sample: int = 1) -> dict[str, bytes]:
        """Another sample of a person, for an identification."""
        rows = self.rows(range(person, person + 1), sample)
        return self.client.encrypt_each(rows, use="identification")

    def plain(self, person: int, sample: int = 0) -> NDArray[np.float64]:
        """What the fused template should be, computed by NumPy."""
        parts = [row[0].astype(np.float64)
                 for row in self.rows(range(person, person + 1), sample).values()]
        joined = np.concatenate([part / np.linalg.norm(part) for part in parts])
        z: NDArray[np.float64] = self.model.projection @ joined
        fused: NDArray[np.float64] = z * self.model.approximation(float(z @ z))
        return fused


@pytest.fixture(scope="session", autouse=True)
def _state(tmp_path_factory: pytest.TempPathFactory) -> None:
    os.environ["HEFT_STATE_DIR"] = str(tmp_path_factory.mktemp("state"))


@pytest.fixture(scope="session")
def world() -> Iterator[World]:
    """Made once: keys take most of the time."""
    data = heft.TrainingData.synthesise(
        identities=30, samples=SAMPLES, dimensions=(64, 48), jitter=0.3)
    model = heft.Model.train(data, gamma=16, epochs=5)
    with heft.KeyOwner.generate(model) as owner:
        owner.set_budget(scores=10**6, decisions=10**6, client_bits=10**9, rejections=10**6)
        client = heft.Client(model, owner.encryption_key())
        with heft.Matcher(model, owner.evaluation_keys(), owner.enrolment_keys()) as matcher:
            yield World(data, model, owner, client, matcher)


@pytest.fixture
def gallery(tmp_path: pathlib.Path) -> str:
    """Where a gallery may be made."""
    return str(tmp_path / "gallery")
