# SPDX-License-Identifier: Apache-2.0
"""Wrapped probes against one server process: heft-matcher over HTTP, and a process without audit.key.

An attacker forges probes that are so long that their norms wrap around (tests/forge_probes.cc), and
asks again with any probe whose proof the key owner has taken. The suite tries a few; the long run is

  export HEFT_WRAPPED_TRIES=10000
  cmake build/release && ctest --test-dir build/release -R python_wrapped_test -V
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
from typing import Callable, Iterator, Optional

import numpy as np
import pytest

import heft
from conftest import SAMPLES
from heft._requests import HEFT_TYPE, form
from heft.service import Service

TRIES = int(os.environ.get("HEFT_WRAPPED_TRIES", "150"))
PASSES = 1e-4  # how often a vector that wraps passes the proof (SECURITY.md)
FPIR = 1e-2
AGAIN = 50  # tries with a probe that has passed
BATCH = 100  # probes that are forged at once
ENROLLED = 24
GALLERY = "people"

Ask = Callable[[object], bytes]


def allowed(tries: int, rate: float) -> int:
    """The most events that chance explains at this rate; it makes more once in 10^9 runs."""
    term = total = (1 - rate) ** tries
    events = 0
    while total < 1 - 1e-9 and events < tries:
        term *= (tries - events) / (events + 1) * rate / (1 - rate)
        total += term
        events += 1
    return events


class Place:
    """A model, a key owner with a fresh key, and a gallery of people that did not train the model."""

    def __init__(self, folder: pathlib.Path):
        self.folder = folder
        data = heft.TrainingData.synthesise(identities=224, samples=SAMPLES, dimensions=(96, 64), jitter=0.3)
        vectors = {name: data.vectors(name) for name in data.modalities}
        first = ENROLLED * SAMPLES
        self.people = {name: rows[:first] for name, rows in vectors.items()}
        self.model = heft.Model.train({name: rows[first:] for name, rows in vectors.items()},
                                      data.labels[first:], gamma=32, epochs=5)
        self.model.save(folder / "model.heft")
        self.owner = heft.KeyOwner.generate(self.model, folder / "keys")
        # Of the searches of one client in a day.
        self.owner.set_budget(client_bits=10**9)
        self.client = heft.Client(self.model, folder / "keys/encryption.key")
        self.matcher = heft.Matcher(self.model, folder / "keys/evaluation.keys",
                                    folder / "keys/enrolment.keys")
        self.gallery = f"{folder}/store:{GALLERY}"
        heft.Gallery.create(self.gallery, self.matcher)
        self.matcher.enrol(self.gallery, self.client.encrypt_each(
            self.rows(range(ENROLLED), 0), [f"person {i}" for i in range(ENROLLED)]))
        word = self.owner.approve(self.matcher.pending(self.gallery)).signed_admission
        assert self.matcher.activate(self.gallery, word, self.owner.public_key).activated == ENROLLED

    def rows(self, people: range, sample: int) -> dict[str, np.typing.NDArray[np.float32]]:
        at = [person * SAMPLES + sample for person in people]
        return {name: rows[at] for name, rows in self.people.items()}

    def genuine(self, person: int) -> object:
        return self.client.encrypt_each(self.rows(range(person, person + 1), 1), use="identification")

    def decide(self, reply: bytes) -> heft.Decision:
        return self.owner.decide(reply, fpir=FPIR)

    def forge(self) -> Iterator[bytes]:
        """Wrapped probes without end."""
        folder = self.folder / "forged"
        while True:
            folder.mkdir()
            subprocess.run([os.environ["HEFT_FORGE_PROBES"], self.folder / "model.heft",
                            self.folder / "keys/encryption.key", str(BATCH), folder], check=True)
            for file in sorted(folder.iterdir()):
                yield file.read_bytes()
            shutil.rmtree(folder)


@pytest.fixture
def place(tmp_path: pathlib.Path) -> Place:
    return Place(tmp_path)


def attack(place: Place, ask: Ask) -> None:
    forged = place.forge()
    passed = accepted = repeats = passed_again = 0
    hit: Optional[bytes] = None
    left = 0
    for _ in range(TRIES):
        again = left > 0
        probe = hit if again else next(forged)
        decision = place.decide(ask(probe))
        proven = not decision.refusal
        passed += proven
        accepted += decision.accepted
        if again:
            repeats += 1
            passed_again += proven
            left -= 1
        elif proven:
            hit, left = probe, AGAIN
    print(f"{TRIES} tries: {passed} passed the proof, {passed_again} of {repeats} repeats; {accepted} accepted")
    assert accepted <= allowed(TRIES, FPIR)
    assert passed <= allowed(TRIES, PASSES)
    assert passed_again <= allowed(repeats, PASSES)


def check_server(place: Place, ask: Ask, content: Callable[[bytes], bytes]) -> None:
    """Genuine probes are found, before and after the attack. Each request has a factor of its own,
    so a probe that is asked again has another reply, and the key owner opens it."""
    def found(person: int) -> None:
        decision = place.decide(ask(place.genuine(person)))
        assert (decision.accepted, decision.identity) == (True, f"person {person}"), decision.refusal

    found(0)
    probe = place.genuine(1)
    replies = [ask(probe) for _ in range(3)]
    assert len({content(reply) for reply in replies}) == len(replies)
    for reply in replies:
        assert place.decide(reply).accepted
    attack(place, ask)
    found(2)


@pytest.mark.skipif(shutil.which("heft-matcher") is None, reason="heft-matcher is not built")
def test_against_the_daemon(place: Place) -> None:
    work = place.folder / "service"
    work.mkdir(mode=0o700)
    script = pathlib.Path(__file__).with_name("faces_world.sh")
    helper = subprocess.Popen(
        ["bash", str(script), "http", work, place.folder / "store", place.folder / "keys",
         place.folder / "model.heft"], text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert helper.stdin is not None and helper.stdout is not None
    try:
        url = helper.stdout.readline().strip()
        assert url.startswith("https:"), (work / "log").read_text()
        pki = work / "pki"
        service = Service(url, authorities=pki / "ca.pem", certificate=pki / "client.pem",
                          private_key=pki / "client.key")

        def ask(files: object) -> bytes:
            body, kind = form(files)  # type: ignore[arg-type]
            return service.ask("POST", f"/v1/identify/{GALLERY}", body, kind, accept=HEFT_TYPE)[1]

        check_server(place, ask, lambda reply: heft.read_signed(reply).file)
    finally:
        helper.stdin.close()
        helper.wait(60)
    assert (place.folder / "store/audit.key").exists()


def test_against_a_process_without_audit_key(place: Place) -> None:
    audit = place.folder / "store/audit.key"
    audit.unlink()

    def ask(files: object) -> bytes:
        return place.matcher.identify(place.gallery, files, sign=False)  # type: ignore[arg-type]

    check_server(place, ask, lambda reply: reply)
    assert not audit.exists()
