# SPDX-License-Identifier: Apache-2.0
"""Arguments of wrong types and values: errors name the argument, and nothing is done before."""

from __future__ import annotations

import decimal
import fractions
from typing import Any, Callable

import numpy as np
import pytest

import heft
from conftest import World


def test_what_errors_say(world: World, gallery: str) -> None:
    """Each call, the kind of its error, and words in it."""
    world.enrol(gallery)
    held, model, owner = heft.Gallery(gallery), world.model, world.owner
    probe = world.matcher.identify(held, world.probe(0))
    opened = owner.open(probe)
    json_where = '{"key":"a","values":["x"]}'
    wrong: list[tuple[Callable[[], Any], Any, str]] = [
        (lambda: heft.Model.train(world.data, curve=()), TypeError, "curve: give a list"),  # type: ignore
        (lambda: heft.Condition("a", at_least=float("nan")), heft.InvalidArgument, "a bound of a is not a finite"),
        (lambda: heft.Condition("a", at_most=-np.inf), heft.InvalidArgument, "a bound of a is not a finite"),
        (lambda: heft.Condition("a", at_least="3"), TypeError, "at_least: give a number"),  # type: ignore
        (lambda: heft.Condition.parse(json_where), heft.InvalidArgument, "is not a condition: give KEY=VALUE"),
        (lambda: heft.fits({}, json_where), heft.InvalidArgument, "is not a condition"),
        (lambda: held.page(where=json_where), heft.InvalidArgument, "is not a condition"),
        (lambda: model.names_of(-1), TypeError, r"set: -1 is not in"),
        (lambda: model.names_of(2**40), TypeError, "set: "),
        (lambda: model.names_of(1.0), TypeError, "set: give a whole number, not float"),  # type: ignore
        (lambda: held.page(start=-1), heft.InvalidArgument, r"^start= is -\d: it must be in"),
        (lambda: heft.Model.train(world.data, weight_of_pairs="x"),  # type: ignore
         heft.InvalidArgument, "^weight_of_pairs= must be a number"),
        (lambda: heft.TrainingData.synthesise(samples="x"), heft.InvalidArgument, "^samples= must"),  # type: ignore
        (lambda: owner.open(probe, publish=1.5), heft.InvalidArgument, "^publish= must"),  # type: ignore
        (lambda: owner.decide(probe, score=0.5, security_bits=1.5),  # type: ignore
         heft.InvalidArgument, "^security_bits= must"),
        (lambda: owner.decide_part(probe, [1.5]), TypeError, "owners: give a whole number"),  # type: ignore
        (lambda: world.matcher.enrol_many(gallery, world.rows(range(2)), ["a", "b"], client=world.client, start=-5),
         heft.InvalidArgument, r"^start= is -\d: it must be in"),
        (lambda: heft.TrainingData.synthesise(dimensions=()), heft.InvalidArgument, "dimensions: give at least one"),
        (lambda: heft.Trust.parse(3), TypeError, "text: give a str, not int"),  # type: ignore
        (lambda: heft.Trust.parse("\ud800"), heft.InvalidArgument, "UTF-8"),
        (lambda: heft.Model(b"x"), TypeError, "call Model.load or Model.train"),
        (heft.KeyOwner, TypeError, "call KeyOwner.generate or KeyOwner.load"),
        (lambda: opened.decide(float("nan")), heft.InvalidArgument, "threshold: give a number"),
        (lambda: opened.decide("0.5"), TypeError, "threshold: give a number, not str"),  # type: ignore
        (lambda: model.threshold_for(0.01, []), heft.InvalidArgument, "modalities: give at least one"),
        (lambda: model.table_for("face"), TypeError, "modalities: give a list, not str"),
        (lambda: model.threshold_for("0.1"), TypeError, "fmr: give a number, not str"),  # type: ignore
        (lambda: model.threshold_for_search("x", 3), TypeError, "fpir: give a number"),  # type: ignore
        (lambda: owner.decide(probe, score="1"), TypeError, "score: give a number"),  # type: ignore
        (lambda: heft.open_signed(probe, heft.Trust(), roles="trainr"),  # type: ignore
         heft.InvalidArgument, 'no role "trainr"'),
        (lambda: heft.Gallery.restore("none", gallery, receipts="absent"), heft.NotFound, "absent"),
        (lambda: heft.measure_scores(heft.ScoreTable([1.0], [True]), fmrs="x"),  # type: ignore
         TypeError, "fmrs: give a list"),
        (lambda: heft.TrainingData({"a": np.ones((2, 4))}, ["x", "y"], ["train"]),
         heft.InvalidArgument, "1 splits for 2 rows"),
    ]
    for call, kind, words in wrong:
        with pytest.raises(kind, match=words):
            call()


def test_numbers_of_all_types() -> None:
    """What is a number, is one."""
    three = heft.Condition("age", at_least=3.0)
    for number in (3, np.float32(3), np.int64(3), decimal.Decimal(3), fractions.Fraction(3)):
        assert heft.Condition("age", at_least=number).to_dict() == three.to_dict()  # type: ignore
    assert heft.parse_expiry("90d", now=0) == 90 * 86400


def test_a_model_keeps_what_it_tells(world: World) -> None:
    """A model does not change."""
    model = heft.Model.load(world.model.to_bytes())
    assert model.tables[0] is model.tables[0] and model.table_for() is model.table_for()
    assert model.table_for(["voice"]) is not model.table_for()
    model.tables.clear()
    assert model.tables and model.names_of(3) == ["face", "voice"] and model.names_of(0) == []
    assert model.training_summary is not model.training_summary


def test_a_refused_batch_says_where_to_continue(world: World, gallery: str) -> None:
    """The advice of the library, also where a KeyOwner refuses."""
    with heft.KeyOwner.generate(world.model) as other:
        other.close()
        with pytest.raises(heft.FailedPrecondition, match=r"before row 30 \(from 0\).*continue from it") as caught:
            world.matcher.enrol_many(gallery, world.rows(range(30)), np.arange(30), client=world.client,
                                     owner=other)
        assert caught.value.start == 30
