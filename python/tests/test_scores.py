# SPDX-License-Identifier: Apache-2.0
"""Files of scores as arrays and DataFrames, measured as the command line and NumPy measure them."""

import io
import json
import os
import pathlib
import subprocess
from typing import Any

import numpy as np
import pytest

import heft
from conftest import SAMPLES, World

pd: Any = pytest.importorskip("pandas")

CSV = """bio_ref_subject_id,bio_ref_template_id,probe_subject_id,probe_template_id,kind,split,score,plain
ann,a1,ann,p1,genuine,test,0.9,0.875
"bob, the elder",b1,ann,p1,impostor,test,0.125,0.25
ann,a1,"bob, the elder",p2,impostor,fold 2,nan,-0.5
"""


def test_a_file_is_arrays(tmp_path: pathlib.Path) -> None:
    (tmp_path / "scores.csv").write_text(CSV)
    table = heft.ScoreTable.load(tmp_path / "scores.csv")
    assert len(table) == 3 and table.named and table.failures == 1
    np.testing.assert_array_equal(table.score, [0.9, 0.125, np.nan])
    plain = table.plain
    assert plain is not None
    np.testing.assert_array_equal(plain, [0.875, 0.25, -0.5])
    assert table.score.dtype == np.float64 and table.genuine.dtype == np.bool_
    assert table.genuine.tolist() == [True, False, False]
    assert [table.subjects[i] for i in table.enrolled] == ["ann", "bob, the elder", "ann"]
    assert [table.subjects[i] for i in table.probe] == ["ann", "ann", "bob, the elder"]
    assert [table.labels[i] for i in table.enrolled_label] == ["a1", "b1", "a1"]
    assert [table.labels[i] for i in table.probe_label] == ["p1", "p1", "p2"]
    assert [table.splits[i] for i in table.split] == ["test", "test", "fold 2"]
    # Views of the table's own memory: they keep the table alive, and are read-only.
    score = table.score
    assert not score.flags.writeable and not score.flags.owndata
    del table
    np.testing.assert_array_equal(score, [0.9, 0.125, np.nan])
    with pytest.raises(ValueError):
        score[0] = 1


def test_what_is_written_reads_back(tmp_path: pathlib.Path) -> None:
    table = heft.ScoreTable.parse(CSV)
    assert table.to_text() == CSV
    table.save(tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_text() == CSV
    assert table.to_lists() == ("0.9\n", "0.125\n")
    with pytest.raises(heft.InvalidArgument, match="write CSV"):
        table.to_text("bob4")
    short = heft.ScoreTable([0.5, 0.25], enrolled=["a", "b"], probe=["a", "a"])
    assert short.to_text("bob4") == "a a a 0.5\nb a a 0.25\n"
    assert short.to_text("bob5") == "a a a a 0.5\nb b a a 0.25\n"
    short.save(tmp_path / "bob5", "bob5")
    assert heft.ScoreTable.load(tmp_path / "bob5").genuine.tolist() == [True, False]
    with pytest.raises(heft.InvalidArgument, match="form"):
        table.to_text("xml")  # type: ignore[arg-type]
    part = table.select_split("fold 2")
    assert len(part) == 1 and part.failures == 1
    with pytest.raises(heft.NotFound, match="fold 2"):
        table.select_split("dev")


def test_lists(tmp_path: pathlib.Path) -> None:
    (tmp_path / "genuine").write_text("ann 0.5\nbob 0.75\n")
    (tmp_path / "impostor").write_text("0.25\n")
    table = heft.ScoreTable.load_lists(tmp_path / "genuine", tmp_path / "impostor")
    assert not table.named and table.score.tolist() == [0.5, 0.75, 0.25] and table.plain is None
    counted = heft.ScoreTable.parse_lists("3\n", "2\n0\n1\n", histogram=True)
    assert counted.score.tolist() == [3, 0, 0, 2]
    with pytest.raises(heft.InvalidArgument, match="10000000"):
        heft.ScoreTable.parse_lists("1\n", "99999999999\n", histogram=True)
    with pytest.raises(heft.InvalidArgument):
        table.to_text()
    assert heft.ScoreTable([1, 2], [True, False]).to_lists() == ("1\n", "2\n")


def test_frames() -> None:
    table = heft.ScoreTable.parse(CSV)
    frame = table.to_dataframe()
    read = pd.read_csv(io.StringIO(CSV))
    assert list(frame.columns) == list(read.columns)
    for column in frame.columns:
        assert frame[column].astype(object).fillna("-").tolist() == (
            read[column].astype(object).fillna("-").tolist()), column
    assert str(frame.bio_ref_subject_id.dtype) == "category"
    frame.loc[0, "score"] = 0.75  # its own: the table stays as it is
    assert table.score[0] == 0.9
    for one in (table.to_dataframe(), read):
        assert heft.ScoreTable.from_dataframe(one).to_text() == CSV
    unnamed = heft.ScoreTable([0.5, 0.25], [True, False]).to_dataframe()
    assert list(unnamed.columns) == ["kind", "split", "score"]
    again = heft.ScoreTable.from_dataframe(unnamed)
    assert not again.named and again.genuine.tolist() == [True, False]
    rows = read.drop(columns=["kind", "split", "bio_ref_template_id"])
    rows["probe_template_id"] = [np.nan, "x", None]
    bare = heft.ScoreTable.from_dataframe(rows)
    assert [bare.labels[i] for i in bare.probe_label] == ["", "x", ""]
    for wrong in (read.drop(columns="score"), read.drop(columns="probe_subject_id"),
                  read.assign(kind="genuine"), read.assign(kind="other"), unnamed.drop(columns="kind")):
        with pytest.raises(heft.InvalidArgument):
            heft.ScoreTable.from_dataframe(wrong)
    with pytest.raises(TypeError):
        heft.ScoreTable.from_dataframe({"score": [1.0]})


WRONG: list[tuple[list[Any], dict[str, Any]]] = [
    ([[0.5]], {}),
    ([[]], {"genuine": []}),
    ([[0.5]], {"genuine": [1]}),
    ([[0.5, 0.5]], {"genuine": [True]}),
    ([[np.inf]], {"genuine": [True]}),
    ([[0.5]], {"genuine": [True], "plain": [-np.inf]}),
    ([[0.5]], {"genuine": [True], "plain": [1.0, 2.0]}),
    ([["0.5"]], {"genuine": [True]}),
    ([[[0.5]]], {"genuine": [True]}),
    ([[True]], {"genuine": [True]}),
    ([[0.5]], {"enrolled": ["a"]}),
    ([[0.5]], {"enrolled": ["a"], "probe": ["a", "b"]}),
    ([[0.5]], {"enrolled": [""], "probe": ["a"]}),
    ([[0.5]], {"enrolled": ["a\nb"], "probe": ["a"]}),
    ([[0.5]], {"enrolled": ["\ud800"], "probe": ["a"]}),
    ([[0.5]], {"enrolled": ["a" * 5000], "probe": ["a"]}),
    ([[0.5]], {"enrolled": ["a"], "probe": ["b"], "genuine": [True]}),
    ([[0.5]], {"genuine": [True], "split": ["\x1b[2J"]}),
    ([[0.5]], {"genuine": [True], "probe_label": ["a", "b"]}),
    ([object()], {"genuine": [True]}),
]


@pytest.mark.parametrize("arguments, options", WRONG, ids=range(len(WRONG)))
def test_what_is_no_table(arguments: list[Any], options: dict[str, Any]) -> None:
    with pytest.raises(heft.InvalidArgument):
        heft.ScoreTable(*arguments, **options)


@pytest.mark.parametrize("text", ["", "no scores", "score,kind\n1,2\n", CSV + "ann,1\n",
                                  CSV.replace("0.9", "inf"), CSV.replace("genuine", "impostor"),
                                  CSV.replace("p1", "p\x00"), "\ufeff", "a b c 0.5\na b c\n"])
def test_what_is_no_file(text: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(heft.InvalidArgument):
        heft.ScoreTable.parse(text)
    (tmp_path / "scores").write_text(text)
    with pytest.raises(heft.InvalidArgument, match="scores"):
        heft.ScoreTable.load(tmp_path / "scores")
    with pytest.raises(heft.NotFound):
        heft.ScoreTable.load(tmp_path / "nowhere")


def drawn() -> heft.ScoreTable:
    """Scores of 12 people, 3 samples each, drawn; and the same a little changed."""
    rng = np.random.default_rng(7)
    people = [f"person {i}" for i in range(12) for _ in range(3)]
    rows, cols = np.triu_indices(len(people), 1)
    enrolled, probe = [people[i] for i in rows], [people[i] for i in cols]
    same = np.array([a == b for a, b in zip(enrolled, probe)])
    plain = rng.normal(np.where(same, 0.6, 0.1), 0.2)
    score = plain + rng.normal(0, 1e-3, plain.shape)
    return heft.ScoreTable(score, enrolled=enrolled, probe=probe, plain=plain)


def test_rates_are_numpys_and_the_command_lines(tmp_path: pathlib.Path) -> None:
    table = drawn()
    report = heft.measure_scores(table, replicates=50, curve=True)
    genuine, impostor = table.score[table.genuine], table.score[~table.genuine]
    wins = (genuine[:, None] > impostor).mean() + 0.5 * (genuine[:, None] == impostor).mean()
    text = json.dumps(report.results)
    (system,) = report.results["systems"][:1]
    assert system["auroc"]["value"] == pytest.approx(float(wins), abs=1e-12), text[:500]
    assert report.scores is None and report.page == "" and report.pictures == {}
    table.save(tmp_path / "scores.csv")
    done = subprocess.run(
        [os.environ["HEFT_PROGRAM"], "evaluate", tmp_path / "scores.csv", "--replicates", "50",
         "--all-points", "--json"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    theirs = json.loads(done.stdout)
    for ours, other in zip(report.results["systems"], theirs["systems"]):
        assert ours["auroc"] == other["auroc"] and ours["eer"] == other["eer"]
    several = heft.measure_scores({"one": table, "two": table.select_split("")}, replicates=50)
    assert "one" in several.text and "two" in several.text


def test_measuring_is_refused(tmp_path: pathlib.Path) -> None:
    table = drawn()
    alone = heft.ScoreTable([0.5, 0.25], [True, True])
    with pytest.raises(heft.InvalidArgument):
        heft.measure_scores(alone)
    wrong: list[dict[str, Any]] = [{"fmrs": [2.0]}, {"replicates": -1}, {"fmrs": [float("nan")]}]
    for options in wrong:
        with pytest.raises(heft.InvalidArgument):
            heft.measure_scores(table, **options)
    with pytest.raises(heft.InvalidArgument):
        heft.measure_scores({})
    kinds: list[Any] = [{"a": "no table"}, [table], None]
    for kind in kinds:
        with pytest.raises(TypeError):
            heft.measure_scores(kind)
    with pytest.raises(heft.Cancelled):
        heft.measure_scores(table, progress=lambda what, done, total, note: False)


def test_an_evaluation_gives_its_scores(world: World, tmp_path: pathlib.Path) -> None:
    report = heft.evaluate(world.data, world.model, replicates=10, scores=True)
    table = report.scores
    assert table is not None and table.plain is not None and table.failures == 0
    assert float(np.abs(table.score - table.plain).max()) < 5e-3
    test = set(table.subjects)
    assert test < set(world.data.labels) and len(test) == 6
    assert len(table) == 36 * 35 // 2
    assert int(table.genuine.sum()) == 6 * 15
    measured = heft.measure_scores(table, replicates=10)
    assert measured.results["systems"][0]["auroc"]["value"] > 0.9
    table.save(tmp_path / "scores.csv")
    assert heft.ScoreTable.load(tmp_path / "scores.csv").to_text() == table.to_text()


def test_calibrate(world: World) -> None:
    everybody = heft.TrainingData.synthesise(
        identities=54, samples=SAMPLES, dimensions=(64, 48), jitter=0.3, seed=5)
    some = slice(0, 24 * SAMPLES)
    vectors = {name: everybody.vectors(name)[some] for name in everybody.modalities}
    labels = everybody.labels[some]
    with pytest.warns(UserWarning, match="impostor comparisons"):
        model = world.model.calibrate(vectors, labels, seed=2)
    assert model.id == world.model.id and model.decision_id != world.model.decision_id
    summary = model.training_summary["calibration"]
    assert (summary["people"], summary["samples"]) == (24, 24 * SAMPLES)
    assert set(summary["warnings"]) <= set(model.warnings)
    told: list[str] = []

    def note(what: str, done: int, total: int, text: str) -> None:
        told.append(what)

    again = world.model.calibrate(vectors, labels, seed=2, progress=note)
    assert again.decision_id == model.decision_id and set(told) == {"calibrating"}
    with pytest.raises(heft.InvalidArgument, match="10 are needed"):
        few = {name: rows[:12] for name, rows in vectors.items()}
        world.model.calibrate(few, labels[:12])
    with pytest.raises(heft.FailedPrecondition, match="trained the model"):
        everywhere = {name: world.data.vectors(name) for name in world.data.modalities}
        world.model.calibrate(everywhere, world.data.labels)
    with pytest.raises(heft.Cancelled):
        world.model.calibrate(vectors, labels, progress=lambda *event: False)


def test_folds(world: World, tmp_path: pathlib.Path) -> None:
    curve: list[heft.LearnEpoch] = []
    model = heft.Model.train(world.data, gamma=8, epochs=2, curve=curve)
    assert [step.epoch for step in curve][:2] == [0, 1] and model.split_seed == 1
    assert all(0 <= step.val_auroc <= 1 for step in curve)
    models = heft.Model.train_folds(world.data, 3, gamma=8, epochs=1)
    assert len(models) == 3 and len({model.id for model in models}) == 3
    for fold, one in enumerate(models):
        one.save(heft.fold_file(tmp_path, fold))
    assert pathlib.Path(heft.fold_file(tmp_path, 0)).name == "fold-1.heft"
    again = heft.Model.load_folds(tmp_path, world.data, 3)
    assert [one.decision_id for one in again] == [one.decision_id for one in models]
    report = heft.evaluate_folds(world.data, {"eight": models}, folds=3, encrypted=False,
                                 replicates=10, scores=True)
    scores = report.scores
    assert scores is not None and len(scores.splits) == 3
    assert set(scores.subjects) == set(world.data.labels), "everybody is tested once"
    with pytest.raises(heft.InvalidArgument):
        heft.evaluate_folds(world.data, models, folds=4, encrypted=False)
    with pytest.raises(heft.FailedPrecondition):
        heft.Model.load_folds(tmp_path, world.data, 3, fold_seed=9)
    with pytest.raises(TypeError):
        heft.evaluate_folds(world.data, [1, 2, 3])  # type: ignore[list-item]
