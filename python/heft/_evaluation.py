# SPDX-License-Identifier: Apache-2.0
"""Measuring: models on people, and scores of systems."""

from __future__ import annotations

import os
from typing import Any, Final, Literal, Mapping, Optional, Sequence, Union

from heft import errors
from heft._library import Progress, call
from heft._model import Model
from heft._record import Made, Record, field, many, said, warned
from heft._scores import ScoreTable
from heft._training import TrainingData
from heft._values import Path, list_of, mapping_of, path_of, text_of

_Split = Literal["train", "val", "test"]
_SplitOrAll = Literal["train", "val", "test", "all"]


class Report(Record):
    """The result of an evaluation."""

    results: Final[dict[str, Any]] = field(
        "All numbers: data, model, one row per system, gap, decisions, times.")
    text: Final[str] = field("The main numbers, as lines of text.")
    page: Final[str] = field("One HTML page; empty unless it was requested.")
    pictures: Final[dict[str, str]] = field("Pictures (SVG) by file name, if they were requested.")
    warnings: Final[list[str]] = field("Why some numbers should not be relied on.", many(said))
    scores: Final[Optional[ScoreTable]] = field(
        "A ScoreTable of the comparisons, if it was requested; otherwise None.")


def _models(models: object) -> list[Model]:
    """One model or several."""
    if isinstance(models, Model):
        return [models]
    made = list_of(models, "models")
    if not all(isinstance(model, Model) for model in made):
        raise TypeError("models: give Models")
    return made


def _run(study: str, models: list[Model], given: dict[str, Any],
         names: Optional[list[str]] = None) -> Report:
    """Runs a study of heft_evaluate with the arguments of a call, which have the names of options."""
    others = ("data", "model", "models", "distractors", "strangers", "progress")
    options = {name: value for name, value in given.items() if name not in others}
    report, scores = call("heft_evaluate", study, given["data"], models, names, len(models),
                          given.get("distractors"), given.get("strangers"), options, given["progress"])
    table = ScoreTable._of(scores)
    return warned(Report(Made({**report, "scores": table if len(table) else None})))


def evaluate(
        data: TrainingData, model: Model, *, split: _SplitOrAll = "test", replicates: int = 1000,
        seed: int = 1, page: bool = False, pictures: bool = False, scores: bool = False,
        command: str = "", progress: Progress = None) -> Report:
    """Measures a model on one split: every sample against every other, plain and encrypted,
    with temporary keys. This takes minutes for some hundred samples.

    scores: keep the score of each pair. command: the command that the page names to repeat
    the evaluation. InvalidArgument, Cancelled; Unavailable if the page or pictures need
    gnuplot and it is not installed."""
    return _run("evaluation", [model], locals())


def measure_scores(
        scores: Union[ScoreTable, Mapping[str, ScoreTable]], *,
        fmrs: Sequence[float] = (0.1, 0.01, 0.001, 0.0001), replicates: int = 1000, seed: int = 1,
        curve: bool = False, page: bool = False, pictures: bool = False, command: str = "",
        progress: Progress = None) -> Report:
    """AUROC, EER, and FMR with FNMR at thresholds for fmrs, of a ScoreTable or several by
    name, as `heft evaluate FILE`. A table with plain scores also gives the change by
    encryption. curve: every point of the ROC. InvalidArgument if genuine or impostor scores
    are missing; Cancelled, Unavailable."""
    tables = {"scores": scores} if isinstance(scores, ScoreTable) else mapping_of(scores, "scores")
    if not all(isinstance(table, ScoreTable) for table in tables.values()):
        raise TypeError("scores: give ScoreTables")
    names = [text_of(name, "scores") for name in tables]
    report = call("heft_scores_measure", list(tables.values()), names, len(names), {
        "fmrs": list_of(fmrs, "fmrs"), "replicates": replicates, "seed": seed, "curve": curve, "page": page,
        "pictures": pictures, "command": command}, progress)
    return warned(Report(Made({**report, "scores": None})))


def check_drawing() -> None:
    """Raises Unavailable if gnuplot, which draws pages and pictures, is not installed."""
    call("heft_check_drawing")


def evaluate_folds(
        data: TrainingData, models: Union[Sequence[Model], Mapping[str, Sequence[Model]]], *,
        folds: int = 5, fold_seed: int = 1, encrypted: bool = True, partial_probes: bool = False,
        replicates: int = 1000, seed: int = 1, page: bool = False, scores: bool = False,
        command: str = "", progress: Progress = None) -> Report:
    """Compares models over the folds in which they were trained (Model.train_folds). Each
    person is tested once, by a model that was trained without this person. models: a list,
    or several lists by name. Errors as evaluate's."""
    given = dict(locals())
    sets = dict(models) if isinstance(models, dict) else {"": models}
    pairs = [(text_of(name, "models"), model) for name, of in sets.items() for model in _models(of)]
    return _run("folds", [model for _, model in pairs], given, [name for name, _ in pairs])


def compare_choices(
        data: TrainingData, *, folds: int = 5, fold_seed: int = 1, encrypted: bool = True,
        replicates: int = 1000, seed: int = 1, page: bool = False, command: str = "",
        progress: Progress = None) -> Report:
    """Trains and compares the choices of a model's owner: fused dimension, approximation,
    weights. This takes about an hour."""
    return _run("choices", [], locals())


def evaluate_samples(
        data: TrainingData, models: Union[Model, Sequence[Model]], *, folds: int = 5, fold_seed: int = 1,
        samples: Sequence[int] = (1, 2, 4), probes: Sequence[int] = (1, 2), draws: int = 5, seed: int = 1,
        encrypted: bool = True, replicates: int = 1000, bootstrap_seed: int = 1, page: bool = False,
        pictures: bool = False, command: str = "", progress: Progress = None) -> Report:
    """Measures the gain of several samples per person, at enrolment and for the probe: as
    their mean, and as separate templates. models: one per fold. FailedPrecondition for
    models without sample_agreement; errors as evaluate_folds'."""
    return _run("samples", _models(models), {**locals(), "samples": list_of(samples, "samples"),
                                             "probes": list_of(probes, "probes")})


def evaluate_protection(
        data: TrainingData, model: Model, *, split: _Split = "test", samples: int = 300, seed: int = 1,
        page: bool = False, pictures: bool = False, command: str = "", progress: Progress = None) -> Report:
    """Measures the protection of templates (ISO/IEC 24745, 30136): unlinkability under two
    keys, irreversibility, renewability. split: the people whose templates are measured.
    Errors as evaluate's."""
    return _run("protection", [model], locals())


def evaluate_searches(
        data: TrainingData, models: Union[Model, Sequence[Model]], *,
        calibrate_on: Sequence[int] = (200, 1000), draws: int = 40, seed: int = 1, split: _Split = "test",
        page: bool = False, command: str = "", progress: Progress = None) -> Report:
    """Measures whether FPIR thresholds hold in galleries of 10 to 10,000 people, simulated
    with the statistics of the data. models: one, or those of all folds. InvalidArgument,
    Cancelled."""
    return _run("searches", _models(models),
                {**locals(), "calibrate_on": list_of(calibrate_on, "calibrate_on")})


def evaluate_gallery(
        data: TrainingData, model: Model, distractors: TrainingData,
        strangers: Optional[TrainingData] = None, *, split: _SplitOrAll = "test", encrypted: bool = True,
        page: bool = False, command: str = "", progress: Progress = None) -> Report:
    """Measures searches of a gallery with the first samples of the split's people and of
    distractors, who are other people. strangers: people who search and are not enrolled;
    None: each distractor, with its own template left out. InvalidArgument, Cancelled."""
    return _run("gallery", [model], locals())


def evaluate_protocol(
        data: TrainingData, model: Model, folder: Path, names: Path, *, encrypted: bool = True,
        replicates: int = 1000, seed: int = 1, page: bool = False, scores: bool = False,
        command: str = "", progress: Progress = None) -> Report:
    """Runs a protocol from lists: folder has groups dev and eval in bob.bio's form
    (docs/protocols.md), names has one name per row of the data. NotFound, InvalidArgument
    with file and line, Cancelled."""
    return _run("protocol", [model], {**locals(), "folder": os.fsdecode(path_of(folder)),
                                      "names": os.fsdecode(path_of(names))})
