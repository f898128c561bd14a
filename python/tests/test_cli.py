# SPDX-License-Identifier: Apache-2.0
"""Python and the command line read each other's files, and say the same."""

import json
import os
import pathlib
import subprocess

import numpy as np
import pytest

import heft
from conftest import World

NOISE = 3e-3  # of two encryptions of the same vectors, and rounding


def run(program: str, *arguments: object) -> dict[str, object]:
    command = [os.environ[program], *map(str, arguments), "--json"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


def scores(found: dict[str, object]) -> dict[str, float]:
    candidates = found["candidates"]
    assert isinstance(candidates, list)
    return {c["identity"]: c["score"] for c in candidates}


@pytest.fixture
def place(world: World, tmp_path: pathlib.Path) -> pathlib.Path:
    """A model and keys on disk, made by Python; vectors of eight people and a probe."""
    world.model.save(tmp_path / "model.heft")
    owner = heft.KeyOwner.generate(world.model, tmp_path / "keys")
    owner.set_budget(scores=1000)
    for name, rows in world.rows(range(8)).items():
        np.save(tmp_path / f"{name}.npy", rows)
    for name, rows in world.rows(range(5, 6), 1).items():
        np.save(tmp_path / f"{name}-probe.npy", rows)
    (tmp_path / "labels.txt").write_text("".join(f"person {i}\n" for i in range(8)))
    return tmp_path


def by_command_line(place: pathlib.Path) -> dict[str, float]:
    """Encrypts, enrols and identifies with the tools; the scores of the probe."""
    model = ("--model", place / "model.heft")
    keys = ("--keys", place / "keys/evaluation.keys", "--gallery", place / "cli")
    for name in ("face", "voice"):
        client = (*model, "--key", place / "keys/encryption.key", "--modality", name)
        run("HEFT_PROGRAM", "encrypt", *client, "--in", place / f"{name}.npy", "--labels",
            place / "labels.txt", "--out", place / f"{name}.ct")
        run("HEFT_PROGRAM", "encrypt", *client, "--in", place / f"{name}-probe.npy", "--for",
            "identification", "--out", place / f"{name}-probe.ct")
    samples = ("--in", place / "face.ct", "--in", place / "voice.ct")
    probe = ("--in", place / "face-probe.ct", "--in", place / "voice-probe.ct")
    run("HEFT_SERVER_PROGRAM", "enrol", *model, *keys, *samples)
    run("HEFT_SERVER_PROGRAM", "pending", *model, *keys, "--out", place / "pending.ct")
    secret = ("--secret-key", place / "keys/secret.key")
    run("HEFT_PROGRAM", "trust", "add", "--trust", place / "keys/trust.heft", "--role", "server",
        "--key", place / "cli/server.pub")
    run("HEFT_PROGRAM", "answer", *model, *secret, "--in", place / "pending.ct", "--out",
        place / "admission.heft")
    run("HEFT_SERVER_PROGRAM", "apply", *model, *keys, "--in", place / "admission.heft")
    run("HEFT_SERVER_PROGRAM", "identify", *model, *keys, *probe, "--out", place / "scores.ct")
    return scores(run("HEFT_PROGRAM", "decrypt", *model, *secret, "--in", place / "scores.ct",
                      "--scores", "--top", 8))


def test_scores_are_those_of_the_command_line(world: World, place: pathlib.Path) -> None:
    theirs = by_command_line(place)
    owner = heft.KeyOwner.load(heft.Model.load(place / "model.heft"), place / "keys")
    client = heft.Client(world.model, place / "keys/encryption.key")
    matcher = heft.Matcher(world.model, place / "keys/evaluation.keys",
                           place / "keys/enrolment.keys",
                           trust=heft.Trust.load(place / "keys/trust.heft"))
    labels = (place / "labels.txt").read_text().splitlines()
    rows = {name: np.load(place / f"{name}.npy") for name in ("face", "voice")}
    probe = {name: np.load(place / f"{name}-probe.npy") for name in ("face", "voice")}
    ours = str(place / "python")
    matcher.enrol(ours, client.encrypt_each(rows, labels))
    matcher.activate(ours, owner.approve(matcher.pending(ours)).signed_admission, owner.public_key)
    reply = matcher.identify(ours, client.encrypt_each(probe, use="identification"))
    mine = {c.identity: c.score for c in owner.open(reply, publish=8).candidates}
    assert len(mine) == len(theirs) == 8
    for identity, score in theirs.items():
        assert mine[identity] == pytest.approx(score, abs=NOISE)

    # The tools' files in Python's hands, and a Python reply in the tools'.
    files = {name: place / f"{name}-probe.ct" for name in ("face", "voice")}
    crossed = owner.open(matcher.identify(str(place / "cli"), files), publish=8)
    assert {c.identity: c.score for c in crossed.candidates}.keys() == theirs.keys()
    assert crossed.candidates[0].identity == "person 5"
    fresh = client.encrypt_each(probe, use="identification")
    (place / "reply.ct").write_bytes(matcher.identify(str(place / "cli"), fresh))
    again = scores(run("HEFT_PROGRAM", "decrypt", "--model", place / "model.heft", "--secret-key",
                       place / "keys/secret.key", "--in", place / "reply.ct", "--scores", "--top", 8))
    for identity, score in theirs.items():
        assert again[identity] == pytest.approx(score, abs=NOISE)


def test_the_tools_read_what_python_wrote(world: World, place: pathlib.Path) -> None:
    (place / "face.ct").write_bytes(world.client.encrypt("face", world.rows(range(3))["face"]))
    said = run("HEFT_PROGRAM", "inspect", place / "face.ct")
    assert said["kind"] == "encrypted samples" == heft.inspect(place / "face.ct").name
    world.data.save(place / "data")
    run("HEFT_PROGRAM", "train", "--data", place / "data", "--gamma", 8, "--epochs", 2,
        "--no-exact", "--out", place / "trained.heft")
    theirs = heft.Model.load(place / "trained.heft")
    ours = heft.Model.train(place / "data", gamma=8, epochs=2)
    assert theirs.id == ours.id and theirs.decision_id == ours.decision_id
