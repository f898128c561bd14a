# SPDX-License-Identifier: Apache-2.0
"""All roles in the folders of a workspace."""

from __future__ import annotations

import importlib
import pathlib
import threading
from typing import Any

import numpy as np
import pytest
from conftest import World

import heft

PEOPLE = range(6)
LABELS = [f"person {i}" for i in PEOPLE]


@pytest.fixture
def people(world: World, tmp_path: pathlib.Path) -> heft.Workspace:
    """A workspace with six people."""
    workspace = heft.Workspace.create(tmp_path / "people", model=world.model)
    assert workspace.add(world.rows(PEOPLE), LABELS).added == 6
    return workspace


def named(decisions: list[heft.Decision]) -> list[str]:
    return [decision.identity for decision in decisions]


def test_four_lines(tmp_path: pathlib.Path) -> None:
    data = heft.TrainingData.synthesise(identities=60, samples=4, dimensions=(64, 48))
    faces, voices = data.vectors("face"), data.vectors("voice")
    people = heft.Workspace.create(tmp_path / "people", data, method="none")
    people.add({"face": faces[:24:4], "voice": voices[:24:4]}, LABELS)
    assert named(people.search({"face": faces[1:24:4], "voice": voices[1:24:4]})) == LABELS


def test_people_are_found_verified_and_removed(people: heft.Workspace, world: World) -> None:
    found = people.search(world.rows(range(4, 8), sample=1), score=0.67)
    assert named(found) == ["person 4", "person 5", "", ""]
    one = {name: rows[0] for name, rows in world.rows(range(2, 3), sample=1).items()}
    assert named(people.search(one, score=0.67)) == ["person 2"], "one vector is one row"
    claims = people.verify(world.rows(PEOPLE, sample=2), "person 3", score=0.63)
    assert [decision.accepted for decision in claims] == [i == 3 for i in PEOPLE]
    removed = people.remove("person 4")
    assert (removed.removed, removed.templates, removed.overwritten) == (1, 5, True)
    assert named(people.search(world.rows(range(4, 6), sample=1), score=0.67)) == ["", "person 5"]
    with pytest.raises(heft.NotFound, match="person 4"):
        people.remove(["person 4"])


def test_rates_are_those_of_the_model(people: heft.Workspace, world: World) -> None:
    probe = world.rows(range(1), sample=1)
    assert people.search(probe)[0].threshold.rate == 0.01
    assert people.search(probe, fpir=0.05)[0].threshold.rate == 0.05
    assert people.verify(probe, "person 0", fmr=0.01)[0].threshold.of == "comparisons"
    with pytest.raises(heft.InvalidArgument):
        people.search(probe, fpir=0.05, score=0.5)


def test_it_is_opened_again(people: heft.Workspace, world: World, tmp_path: pathlib.Path) -> None:
    people.close()
    with pytest.raises(heft.FailedPrecondition, match="closed"):
        people.search(world.rows(range(1)))
    with heft.Workspace(tmp_path / "people") as again:
        assert named(again.search(world.rows(range(1), sample=1), score=0.67)) == ["person 0"]
    assert len(heft.Gallery(str(tmp_path / "people" / "server" / "gallery"))) == 6


def test_what_cannot_be_is_refused(people: heft.Workspace, world: World, tmp_path: pathlib.Path) -> None:
    with pytest.raises(heft.AlreadyExists, match="is a workspace already"):
        heft.Workspace.create(tmp_path / "people", model=world.model)
    with pytest.raises(heft.AlreadyExists, match="person 0"):
        people.add(world.rows(PEOPLE), LABELS)
    with pytest.raises(heft.InvalidArgument, match="no labels"):
        people.add(world.rows(PEOPLE))
    with pytest.raises(heft.InvalidArgument, match="1 of 2 modalities: .*face, voice"):
        people.add({"face": world.rows(PEOPLE)["face"]}, LABELS)
    with pytest.raises(heft.InvalidArgument, match="dimension 48"):
        people.search({"face": world.rows(PEOPLE)["voice"]})
    with pytest.raises(heft.NotFound):
        heft.Workspace(tmp_path / "nowhere")
    with pytest.raises(heft.FailedPrecondition, match="not a workspace"):
        heft.Workspace(tmp_path)
    with pytest.raises(heft.InvalidArgument, match="data"):
        heft.Workspace.create(tmp_path / "new")
    with pytest.raises(TypeError):
        importlib.import_module("pickle").dumps(people)


def test_a_passphrase_seals_the_key(world: World, tmp_path: pathlib.Path) -> None:
    with heft.Workspace.create(tmp_path / "sealed", model=world.model, passphrase="horse") as sealed:
        assert sealed.add(world.rows(PEOPLE), LABELS).templates == 6
    with pytest.raises(heft.FailedPrecondition):
        heft.Workspace(tmp_path / "sealed")
    with pytest.raises(heft.InvalidArgument, match="passphrase"):
        heft.Workspace(tmp_path / "sealed", passphrase="cow")
    assert heft.Workspace(tmp_path / "sealed", passphrase=lambda: "horse").model.id == world.model.id


def test_what_was_decided_before_the_budget_was_spent(
        people: heft.Workspace, world: World, tmp_path: pathlib.Path) -> None:
    owner = heft.KeyOwner.load(people.model, tmp_path / "people" / "owner")
    owner.set_budget(scores=4, decisions=4, client_bits=10**6)  # two of a client's on a person
    rows = {name: np.repeat(rows, 3, axis=0) for name, rows in world.rows(range(1), sample=1).items()}
    with pytest.raises(heft.BudgetSpent) as spent:
        people.search(rows, score=0.67)
    assert named(spent.value.decisions) == ["person 0"] * 2  # type: ignore[attr-defined]


class Table:
    """What a DataFrame is here: columns, and the values of each."""

    def __init__(self, values: dict[str, Any]) -> None:
        self.values, self.columns = values, list(values)

    def __getitem__(self, name: str) -> Any:
        return self.values[name]


def test_tables_are_taken(world: World, tmp_path: pathlib.Path) -> None:
    rows = world.rows(PEOPLE)
    people = heft.Workspace.create(tmp_path / "people", model=world.model)
    numbers = {f"voice_{i}": rows["voice"][:, i] for i in range(rows["voice"].shape[1])}
    table: dict[str, Any] = {"face": list(rows["face"]), **numbers, "label": LABELS, "who": LABELS[::-1]}
    assert people.add(Table(table)).added == 6
    probes = world.rows(PEOPLE, sample=1)
    assert named(people.search(Table({m: list(v) for m, v in probes.items()}), score=0.67)) == LABELS
    other = heft.Workspace.create(tmp_path / "other", model=world.model)
    assert other.add(Table(table), "who").added == 6
    assert named(other.search(probes, score=0.67)) == LABELS[::-1]
    with pytest.raises(heft.InvalidArgument, match="no column whom"):
        other.add(Table(table), "whom")
    with pytest.raises(heft.InvalidArgument, match="no column of vectors: expected face or voice"):
        other.search(Table({"x": [1.0]}))
    del numbers["voice_7"]
    with pytest.raises(heft.InvalidArgument, match="no column voice_7"):
        other.search(Table({"face": list(rows["face"]), **numbers}))


def test_pandas_frames(world: World, tmp_path: pathlib.Path) -> None:
    pandas: Any = pytest.importorskip("pandas")
    people = heft.Workspace.create(tmp_path / "people", model=world.model)
    frame = pandas.DataFrame({"label": LABELS, **{m: list(v) for m, v in world.rows(PEOPLE).items()}})
    assert people.add(frame).added == 6


def test_threads_take_turns(people: heft.Workspace, world: World) -> None:
    found: list[str] = []
    probes = [world.rows(range(i, i + 1), sample=1) for i in PEOPLE]
    threads = [threading.Thread(target=lambda p=p: found.extend(named(people.search(p, score=0.67))))
               for p in probes]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == LABELS


def test_a_role_moves_out(people: heft.Workspace, tmp_path: pathlib.Path) -> None:
    folder = tmp_path / "people"
    people.close()
    heft.Workspace.export_role(folder, "server", tmp_path / "server")
    assert len(heft.Gallery(str(tmp_path / "server" / "gallery"))) == 6
    with pytest.raises(heft.FailedPrecondition, match="has left"):
        heft.Workspace(folder)
