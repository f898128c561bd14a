# SPDX-License-Identifier: Apache-2.0
"""Fusion without encryption: Model.transform, and heft.Fusion with scikit-learn's protocol."""

import copy
import importlib
import inspect
import pickle
import sys
import types
import warnings
from typing import Any

import numpy as np
import pytest

import heft
from conftest import World

pytestmark = pytest.mark.filterwarnings("ignore::heft.Warning")  # few people
SIZES = {"face": 24, "voice": 16}
PARAMETERS: dict[str, Any] = {"modalities": SIZES, "gamma": 8, "method": "pca"}


def people() -> tuple[Any, Any]:
    """A row per sample, the modalities side by side, and the person of each."""
    data = heft.TrainingData.synthesise(identities=20, samples=4, dimensions=(24, 16), jitter=0.2)
    return np.hstack([data.vectors(name) for name in SIZES]), np.asarray(data.labels)


def by_modality(x: Any) -> dict[str, Any]:
    return {"face": x[:, :24], "voice": x[:, 24:]}


def test_plain_templates_are_those_under_encryption(world: World) -> None:
    rows = world.rows(range(8))
    fused = world.model.transform(rows)
    assert fused.dtype == np.float32 and fused.shape == (8, world.model.gamma)
    for person in range(8):
        np.testing.assert_allclose(fused[person], world.plain(person), rtol=1e-5, atol=1e-7)
    scaled: Any = {name: (7 * array).astype(np.float64) for name, array in rows.items()}
    np.testing.assert_allclose(world.model.transform(scaled), fused, rtol=1e-4, atol=1e-6)
    assert world.model.transform({name: array[0] for name, array in rows.items()}).shape == (1, 16)


def test_plain_scores_are_those_that_are_opened(world: World, gallery: str) -> None:
    world.enrol(gallery, range(4))
    opened = world.owner.open(world.matcher.identify(gallery, world.probe(2)))
    templates = world.model.transform(world.rows(range(4)))
    probe = world.model.transform(world.rows(range(2, 3), 1))[0]
    scores = templates @ (probe / np.linalg.norm(probe))
    assert {one.identity: one.score for one in opened.candidates} == pytest.approx(
        {f"person {i}": score for i, score in enumerate(scores)}, abs=0.002)


def test_what_cannot_be_fused(world: World) -> None:
    rows = world.rows(range(3))
    # Of no person: the longest projections of all.
    longest: Any = {"face": np.linalg.svd(world.model.projection[:, :64])[2][:1],
                    "voice": np.linalg.svd(world.model.projection[:, 64:])[2][:1]}
    with pytest.warns(heft.Warning, match="1 of 1 rows are outside") as said:
        world.model.transform(longest)
    assert said[0].filename == __file__
    wrong: list[dict[str, Any]] = [{}, {"nose": rows["face"]}, {"face": rows["voice"]},
                                   {"face": rows["face"], "voice": rows["voice"][:2]},
                                   {"face": np.zeros((3, 64), np.float32)}, {"face": rows["face"][:0]}]
    for vectors in wrong:
        with pytest.raises(heft.InvalidArgument):
            world.model.transform(vectors)


def test_a_transformer() -> None:
    x, y = people()
    fusion = heft.Fusion(**PARAMETERS)
    with pytest.raises(heft.FailedPrecondition, match="fit"):
        fusion.transform(x)
    assert fusion.fit(x, y) is fusion and fusion.n_features_in_ == 40
    fused = fusion.transform(x)
    assert fused.dtype == np.float32 and fused.shape == (80, 8) == (80, fusion.model_.gamma)
    assert np.array_equal(fused, fusion.model_.transform(by_modality(x)))
    assert np.array_equal(fused, fusion.transform(by_modality(x)))
    assert np.array_equal(fused, heft.Fusion(**PARAMETERS).fit_transform(x.astype(np.float64), y))
    assert list(fusion.get_feature_names_out()) == [f"fusion{i}" for i in range(8)]
    assert np.allclose(np.linalg.norm(fused, axis=1), 1, atol=0.2)
    again = pickle.loads(pickle.dumps(fusion))
    assert np.array_equal(again.transform(x), fused) and again.get_params() == fusion.get_params()
    for wrong in (x[:, 1:], x[0], x.astype(int)):
        with pytest.raises(heft.InvalidArgument):
            fusion.transform(wrong)
    # Modalities in another order than the model's.
    swapped = heft.Fusion(**PARAMETERS).set_params(modalities={"voice": 16, "face": 24})
    assert np.array_equal(swapped.fit_transform(np.hstack([x[:, 24:], x[:, :24]]), y), fused)


def test_other_forms_of_data() -> None:
    x, y = people()
    mapped = heft.Fusion(gamma=8, method="pca").fit(by_modality(x), y)
    assert mapped.modalities_ == SIZES
    alone = heft.Fusion(gamma=8, method="pca").fit(x)  # without labels
    assert alone.modalities_ == {"features": 40} and alone.transform(x[:3]).shape == (3, 8)
    pandas: Any = pytest.importorskip("pandas")
    frame = pandas.DataFrame(x, columns=[f"{name}_{i}" for name, size in SIZES.items() for i in range(size)])
    fusion = heft.Fusion(**PARAMETERS).fit(frame.assign(label=y))
    assert np.array_equal(fusion.transform(frame), mapped.transform(x))
    assert list(fusion.fit(frame, y).feature_names_in_) == list(frame.columns)
    assert np.array_equal(fusion.model_.transform(frame), mapped.transform(x))
    assert np.array_equal(alone.transform(frame), alone.transform(x))


def test_parameters_are_those_of_training() -> None:
    trained = inspect.signature(heft.Model.train).parameters
    fusion = heft.Fusion()
    given = fusion.get_params()
    assert given.pop("modalities") is None and given.pop("fit_kind") == trained["fit"].default
    left_out = {"data", "labels", "split", "fit", "checkpoint", "curve", "progress"}
    assert {name: one.default for name, one in trained.items() if name not in left_out} == given
    sizes = {"face": 3}
    assert fusion.set_params(modalities=sizes, epochs=2) is fusion
    assert fusion.get_params(deep=False)["modalities"] is sizes and repr(fusion) == (
        "Fusion(modalities={'face': 3}, epochs=2)")
    with pytest.raises(heft.InvalidArgument, match="luck"):
        fusion.set_params(epochs=3, luck=1)
    assert fusion.epochs == 2 and copy.deepcopy(fusion).get_params() == fusion.get_params()
    assert fusion.to_dict()["model"] is None and fusion.to_dict()["params"]["modality_weights"] == []


def test_warnings_of_training_are_of_the_callers_line() -> None:
    x, y = people()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        fusion = heft.Fusion(**PARAMETERS).fit(x, y)
    assert [str(one.message) for one in said] == fusion.model_.warnings and said
    assert {one.filename for one in said} == {__file__}
    assert all(one.category is heft.Warning for one in said)


def test_tags_are_those_of_a_transformer(monkeypatch: pytest.MonkeyPatch) -> None:
    utils: Any = types.SimpleNamespace(Tags=types.SimpleNamespace, TargetTags=types.SimpleNamespace,
                                  TransformerTags=types.SimpleNamespace)
    monkeypatch.setitem(sys.modules, "sklearn.utils", utils)
    tags = heft.Fusion().__sklearn_tags__()
    assert tags.estimator_type == "transformer" and tags.transformer_tags.preserves_dtype == ["float32"]
    assert tags.target_tags.required and not heft.Fusion(method="pca").__sklearn_tags__().target_tags.required


def test_scikit_learn_takes_it() -> None:
    base: Any = pytest.importorskip("sklearn.base")
    pipelines: Any = importlib.import_module("sklearn.pipeline")
    selection: Any = importlib.import_module("sklearn.model_selection")
    neighbours: Any = importlib.import_module("sklearn.neighbors")
    validation: Any = importlib.import_module("sklearn.utils.validation")
    x, y = people()
    fusion = heft.Fusion(modalities=SIZES, gamma=8, epochs=3)
    fresh = base.clone(fusion.fit(x, y))
    assert fresh.get_params() == fusion.get_params() and not hasattr(fresh, "model_")
    validation.check_is_fitted(fusion)
    with pytest.raises(Exception, match="not fitted"):
        validation.check_is_fitted(fresh)
    pipeline = pipelines.make_pipeline(fresh, neighbours.KNeighborsClassifier(1))
    folds = selection.StratifiedKFold(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", heft.Warning)
        assert selection.cross_val_score(pipeline, x, y, cv=folds).mean() > 0.3
        search = selection.GridSearchCV(pipeline, {"fusion__gamma": [2, 8]}, cv=folds).fit(x, y)
    assert search.best_params_ == {"fusion__gamma": 8}
    assert search.best_estimator_[:-1].transform(x).shape == (80, 8)
    assert list(search.best_estimator_[:-1].get_feature_names_out())[0] == "fusion0"
    assert "Fusion" in repr(pipeline) and "Fusion" in pipeline._repr_html_()
