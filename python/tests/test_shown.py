# SPDX-License-Identifier: Apache-2.0
"""What objects show: repr, notebooks, to_dict; and Python warnings."""

import inspect
import json
import pathlib
import warnings
from typing import Any, Callable

import numpy as np
import pytest

import heft
import heft.decision_keys
import heft.service
from conftest import World


def objects(world: World, gallery: str, folder: pathlib.Path) -> list[Any]:
    """One of each class that holds something of the library's."""
    world.enrol(gallery, range(2))
    source = folder / "evaluation.keys"
    source.write_bytes(world.owner.evaluation_keys())
    canaries = world.owner.make_canaries(1)
    trust = heft.Trust()
    trust.add("server", "matcher", heft.Gallery(gallery).server_key)
    return [world.model, world.data, world.client, world.matcher, world.owner, heft.Gallery(gallery),
            heft.ExpandedKeys.make(world.model, source), heft.ShardList("people", ["ab" * 16]), trust,
            heft.SigningKey.generate(), canaries, canaries.people[0], heft.Fusion(gamma=4),
            heft.ScoreTable(np.array([0.5, 0.1]), np.array([True, False])),
            heft.Workspace.create(folder / "people", model=world.model)]


def test_all_classes_show_something(world: World, gallery: str, tmp_path: pathlib.Path) -> None:
    shown = objects(world, gallery, tmp_path)
    for one in shown:
        name = type(one).__name__
        facts, page = one.to_dict(), one._repr_html_()
        assert json.loads(json.dumps(facts)) == facts, name
        assert name in repr(one) and "\n" not in repr(one) and len(repr(one)) < 160, name
        assert page.startswith("<table>") and all(fact in page for fact in facts), name
    classes = {type(one) for one in shown}
    public = [getattr(heft, name) for name in heft.__all__ if inspect.isclass(getattr(heft, name))]
    assert {one for one in public if not issubclass(one, (Exception, heft._record.Record))} == classes
    assert all(hasattr(one, "to_dict") and hasattr(one, "_repr_html_") for one in public
               if not issubclass(one, Exception))
    assert heft.Gallery(gallery).to_dict()["templates"] == 2
    assert world.model.to_dict()["modalities"] == {"face": 64, "voice": 48}


def test_closed_objects_show_that(world: World, gallery: str) -> None:
    world.enrol(gallery, range(1))
    closed: list[Any] = [heft.KeyOwner.generate(world.model), heft.SigningKey.generate(), heft.Gallery(gallery),
                         heft.Matcher(world.model, world.owner.evaluation_keys())]
    for one in closed:
        one.close()
        assert "closed" in repr(one) and "closed" in one._repr_html_() and one.to_dict() == {"closed": True}


def test_secrets_are_not_shown(world: World) -> None:
    canaries = world.owner.make_canaries(1, ["ida", "jon", "kay"])
    for one in (canaries, canaries.people[0]):
        assert "ida" not in f"{one!r}{one.to_dict()}{one._repr_html_()}"
    assert set(world.owner.to_dict()) == {"key_id", "public_key", "journal_file", "shared"}


def test_records_are_short_and_escaped(world: World) -> None:
    values: Any = {"results": {"a": "<b>"}, "text": "x" * 5000, "page": "", "pictures": {},
                   "warnings": [], "scores": heft.ScoreTable(np.array([0.5]), np.array([True]))}
    report = heft.Report(values)
    assert len(repr(report)) < 600 and len(report._repr_html_()) < 1000 and "&lt;b&gt;" in report._repr_html_()
    assert json.loads(json.dumps(report.to_dict()))["scores"]["comparisons"] == 1
    signed = heft.read_signed(heft.SigningKey.generate().sign(world.model.to_bytes(), "trainer"))
    assert len(repr(signed)) < 1000 and "bytes>" in repr(signed)


def test_services_show_no_credential(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ssl.SSLContext.load_verify_locations", lambda *_: None)
    service = heft.service.Service("https://matcher.example", authorities="ca.pem", api_key="secret")
    keys = heft.decision_keys.DecisionKeys({"keys": [{"kid": "one", "x": "secret"}]})
    decided = heft.service.Decision.of({"accepted": True, "identity": "ann"}, "a.b.c")
    for one in (service, keys, decided, heft.service.Added(1)):
        assert json.dumps(one.to_dict()) and one._repr_html_().startswith("<table>")
        assert "secret" not in f"{one!r}{one._repr_html_()}" and type(one).__name__ in repr(one)
    assert service.to_dict() == {"url": "https://matcher.example:443"}


def said_by(call: Callable[[], object]) -> list[str]:
    """The texts of a call's warnings, which name its line."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        call()
    assert all(one.category is heft.Warning and one.filename == __file__ for one in said)
    return [str(one.message) for one in said]


def test_a_warning_is_given_once(world: World, gallery: str) -> None:
    world.enrol(gallery, range(3))
    reply = world.matcher.identify(gallery, world.probe(1))
    chosen: list[Any] = []
    told = said_by(lambda: chosen.append(world.owner.threshold_for(reply, fpir=0.001)))
    assert told == [chosen[0].warning] and "24 people" in told[0]
    assert said_by(lambda: chosen.append(world.owner.decide(reply, fpir=0.001))) == told
    assert chosen[1].threshold.warning == told[0]
    assert said_by(lambda: chosen[1].to_dict()) == []
    sound = world.matcher.identify(gallery, world.probe(1))
    assert said_by(lambda: world.owner.decide(sound, score=0.5)) == []
    table = heft.ScoreTable(np.array([0.9, 0.8, 0.1, 0.2]), np.array([True, True, False, False]))
    reports: list[heft.Report] = []
    assert said_by(lambda: reports.append(heft.measure_scores(table, fmrs=[0.01], replicates=10))) == (
        reports[0].warnings)


def test_a_search_of_many_warns_once(world: World, tmp_path: pathlib.Path) -> None:
    with heft.Workspace.create(tmp_path / "people", model=world.model) as workspace:
        workspace.add(world.rows(range(3)), ["ann", "bob", "cy"])
        found: list[heft.Decision] = []
        told = said_by(lambda: found.extend(workspace.search(world.rows(range(3), 1), fpir=0.001)))
        assert told == [found[0].threshold.warning] and told[0] and len(found) == 3
