# SPDX-License-Identifier: Apache-2.0
"""Arguments that the library must not take for others, and what is said of wrong ones."""

import copy
import pathlib
import pickle
from typing import Any, Callable

import numpy as np
import pytest

import heft
from conftest import World
from heft import _library

FACE = np.ones(64, np.float32)
MOST = 2**64 - 1


def test_wrong_arguments_are_told_by_name(world: World, gallery: str, tmp_path: pathlib.Path) -> None:
    world.enrol(gallery, range(1))
    client, matcher, files = world.client, world.matcher, world.probe(0)
    enrolled = client.encrypt_each(world.rows(range(1)), ["x"])
    synthesise = heft.TrainingData.synthesise
    invalid, wrong = heft.InvalidArgument, TypeError
    calls: list[tuple[type[Exception], str, Callable[..., Any], tuple[Any, ...], dict[str, Any]]] = [
        # A text ends with its last character.
        (invalid, "^modality: a text contains a NUL", client.encrypt, ("face\0junk", FACE), {}),
        (invalid, "^vectors: a text contains a NUL", heft.TrainingData, ({"face\0junk": [FACE]}, ["x"]), {}),
        (invalid, "^use: a text contains a NUL", client.encrypt, ("face", FACE), {"use": "enrolment\0"}),
        (invalid, "key of metadata", matcher.enrol, (gallery, enrolled), {"metadata": {"site=berlin": "x"}}),
        (invalid, "key of metadata", heft.fits, ({"site=berlin": "x"}, "site=berlin"), {}),
        # None and an empty list are not the default.
        (invalid, "dimensions: give at least one", synthesise, (), {"dimensions": ()}),
        (wrong, "^use: give a value, not None", client.encrypt, ("face", FACE), {"use": None}),
        (wrong, "^life: give a value, not None", matcher.identify, (gallery, files), {"life": None}),
        (wrong, "^sign: give a value, not None", matcher.identify, (gallery, files), {"sign": None}),
        (wrong, "^seed: give a value, not None", synthesise, (), {"seed": None}),
        (wrong, "^gamma: give a value, not None", heft.Model.train, (world.data,), {"gamma": None}),
        # Numbers and their ranges.
        (invalid, r'^life= is -1: it must be in \[0, 18446744073709551615\]', matcher.identify,
         (gallery, files), {"life": -1}),
        (invalid, r'^gamma= is 4294967296: it must be in \[', heft.Model.train, (world.data,),
         {"gamma": 2**32}),
        (wrong, r"^seed: 18446744073709551616 is not in \[", synthesise, (), {"seed": MOST + 1}),
        # Objects by their classes.
        (wrong, "^give a heft.Model, not NoneType$", heft.Client, (None, world.owner.encryption_key()), {}),
        (wrong, "^give a heft.TrainingData, not int$", heft.evaluate, (3, world.model), {}),
        (wrong, "^distractors: give a heft.TrainingData, not int$", heft.evaluate_gallery,
         (world.data, world.model, 3), {}),
        (wrong, "^give a heft.Matcher, not NoneType$", heft.Gallery(gallery).remove, (None, ["x"]), {}),
        (wrong, "^give a heft.Trust, not int$", matcher.activate, (gallery, b"", 3), {}),
        (wrong, "^give a heft.Trust, not int$", matcher.identify_together, (gallery, [files]), {"trust": 3}),
        (wrong, "^give a heft.ShardList, not int$", world.owner.open, ([b""],), {"shards": 3}),
    ]
    for kind, said, call, arguments, options in calls:
        with pytest.raises(kind, match=said):
            call(*arguments, **options)
            pytest.fail(f"{said}: accepted")
    assert type(matcher.identify(gallery, files, sign=0)) is bytes  # type: ignore[arg-type]


def test_numbers_of_64_bits_reach_the_library(world: World, gallery: str) -> None:
    world.enrol(gallery, range(1))
    assert len(heft.TrainingData.synthesise(identities=3, samples=2, seed=MOST)) == 6
    heft.Model.train(world.data, method="pca", gamma=16, seed=2**63)
    assert world.matcher.pending(gallery, templates=MOST, bytes=MOST)
    made = heft.Gallery.create(gallery + "-kept", world.matcher, retention_seconds=MOST)
    assert made.info().retention_seconds == MOST
    owner = heft.KeyOwner.generate(world.model)
    owner.set_budget(decisions=MOST)
    assert owner.budget().limits.decisions == MOST


def test_results_are_read_only(world: World, gallery: str) -> None:
    world.enrol(gallery, range(2))
    opened: Any = world.owner.open(world.matcher.identify(gallery, world.probe(0)))
    before = opened.to_dict()
    opened.candidates.append(1)
    assert opened.to_dict() == before and len(opened.candidates) == 2
    changes: list[tuple[Callable[..., None], tuple[object, ...]]] = [
        (setattr, ("kind", "x")), (setattr, ("foo", 1)), (delattr, ("kind",))]
    for change, arguments in changes:
        with pytest.raises(AttributeError, match="a result is read-only$"):
            change(opened, *arguments)
    assert copy.deepcopy(opened).to_dict() == pickle.loads(pickle.dumps(opened)).to_dict() == before
    stage = pickle.loads(pickle.dumps(world.model.approximation)).stages[0]
    assert stage.in_powers_of_s().degree == stage.degree
    values: Any
    for values in ({}, {"accepted": True}, 3):
        with pytest.raises(TypeError, match="Decision has no constructor"):
            heft.Decision(values)
    assert not hasattr(heft.Decision, "FIELDS")


@pytest.mark.parametrize("again", [pickle.dumps, copy.deepcopy])
def test_what_is_not_pickled_says_so(world: World, again: Callable[[object], object]) -> None:
    for thing in (world.data, heft.ScoreTable([0.5], genuine=[True]), heft.ShardList("g", ["1" * 32])):
        with pytest.raises(TypeError, match=f"^a heft.{type(thing).__name__} is not pickled or copied"):
            again(thing)


def test_small_calls_run_in_the_callers_thread() -> None:
    def short(name: str) -> bool:
        return bool(_library._declared(name).short)

    small = ["heft_model_threshold", "heft_model_tables", "heft_model_describe", "heft_fits",
             "heft_bucket_of", "heft_bucket_address", "heft_shards_number", "heft_shards_describe",
             "heft_trust_add", "heft_trust_describe", "heft_trust_text", "heft_condition_read",
             "heft_scores_decide"]
    assert [name for name in small if not short(name)] == []
    # Those that wait for locks, files, people or others, or that work for long.
    slow = ["heft_gallery_stats", "heft_gallery_open", "heft_gallery_newest", "heft_audit_key_make",
            "heft_matcher_identify", "heft_matcher_fold", "heft_key_owner_generate", "heft_key_owner_budget",
            "heft_learn", "heft_calibrate", "heft_client_encrypt", "heft_dataset_synthesise",
            "heft_trust_save", "heft_trust_load", "heft_model_load", "heft_shards_load", "heft_vectors_read",
            "heft_evaluate", "heft_authorise", "heft_signing_key_sign", "heft_draw_learning_curve",
            "heft_workspace_add", "heft_run_benchmark", "heft_expanded_keys_make", "heft_audit_verify_logs",
            "heft_give_way"]
    assert [name for name in slow if short(name)] == []
