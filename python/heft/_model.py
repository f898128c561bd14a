# SPDX-License-Identifier: Apache-2.0
"""Models: the projection, the normalisation and the tables for decisions."""

from __future__ import annotations

import copy
import json
import os
from functools import cached_property
from typing import Any, Final, Literal, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from heft._library import Handle, Progress, call
from heft._record import Made, Record, field, many, pair, plain, warn, warned
from heft._records import ChosenThreshold, DecisionTable, LearnEpoch
from heft._tables import split
from heft._training import TrainingData, data_of
from heft._trust import Trust
from heft._values import (Labels, Object, Path, Source, Vectors, all_rows_of, list_of, number_of, path_of,
                          source_of, view_of)
from heft._words import in_python

_Data = Union[TrainingData, Path, Mapping[str, Vectors]]
Method = Literal["", "learned", "pca", "none"]
Recipe = Literal["generalising", "paper"]


class Polynomial(Record):
    """The polynomial sum_k coefficients[k] * t^k with t = (s - centre) / half_width."""

    coefficients: Final[list[float]] = field("Coefficients, lowest power first.")
    centre: Final[float] = field("Centre of the interval of s.")
    half_width: Final[float] = field("Half of the width of that interval.")
    degree: Final[int] = field("Degree of the polynomial.")

    def __init__(self, values: Made):
        super().__init__(values)
        self._plain: list[float] = values["plain"]

    def __call__(self, s: float) -> float:
        """The value p(s)."""
        return _at([self], s)[0]

    def derivative(self, s: float) -> float:
        """p'(s)."""
        return _at([self], s)[1]

    def in_powers_of_s(self) -> Polynomial:
        """The same polynomial with centre 0 and half_width 1."""
        return Polynomial(Made({"coefficients": self._plain, "centre": 0.0, "half_width": 1.0,
                                "degree": self.degree, "plain": self._plain}))


class Approximation(Record):
    """Polynomials that are applied one after the other to approximate 1/sqrt(s)."""

    name: Final[str] = field("minimax, least_squares or paper.")
    stages: Final[list[Polynomial]] = field("The polynomials; the first is applied first.", many(Polynomial))
    interval: Final[Tuple[float, float]] = field(
        "The interval of squared norms for which it is accurate.", pair)
    degree: Final[int] = field("Product of the polynomials' degrees.")

    def __init__(self, values: Made):
        super().__init__(values)
        self._worst: float = values["max_relative_error"]

    def __call__(self, s: float) -> float:
        """The value f(s)."""
        return _at(self.stages, s)[0]

    def derivative(self, s: float) -> float:
        """f'(s)."""
        return _at(self.stages, s)[1]

    def max_relative_error(self) -> float:
        """Largest relative error, max |f(s) sqrt(s) - 1|, over the interval."""
        return self._worst

    @staticmethod
    def fit(degree: int, interval: Tuple[float, float], kind: str = "minimax") -> Approximation:
        """The polynomial of a degree from 1 to 31 that approximates 1/sqrt(s) best on an interval
        of s. kind: minimax (least maximum of the relative error) or least_squares."""
        low, high = (number_of(bound, "interval") for bound in interval)
        return Approximation(call("heft_approximation_fit", degree, low, high, kind))


def _at(stages: list[Polynomial], s: float) -> Tuple[float, float]:
    """The value at s of polynomials that are applied one after the other, and its derivative."""
    value, slope = call("heft_approximation_at", json.dumps(plain(stages)), number_of(s, "s"))
    return value, slope


def _modalities(names: Optional[Sequence[str]]) -> dict[str, Any]:
    """The option of a set of modalities."""
    return {} if names is None else {"modalities": list_of(names, "modalities")}


class Model(Object):
    """The model that client, matcher and key owner share: the projection that fuses the
    modalities, the normalisation, and the tables for decisions. It is public: it contains
    no template and no key."""

    _NAME = "this model"

    # ---- Files.

    @staticmethod
    def load(source: Source, *, trust: Optional[Trust] = None) -> Model:
        """Loads a model from a file, or its bytes. If trust lists trainers, one of them must have
        signed the model. NotFound, DataLoss, InvalidArgument; FailedPrecondition for a
        signature."""
        data, name = source_of(source, "model", "model")
        return Model._of(call("heft_model_open", data, trust, name))

    def save(self, path: Path) -> None:
        """Writes the model file, which is replaced as a whole. Unavailable."""
        call("heft_file_write", path_of(path), self.to_bytes())

    def to_bytes(self) -> bytes:
        """The bytes that save writes."""
        return bytes(call("heft_model_serialize", self))

    def __reduce__(self) -> Tuple[Any, ...]:
        return Model.load, (self.to_bytes(),)

    # ---- Training.

    @staticmethod
    def train(
            data: _Data, labels: Optional[Labels] = None, split: Optional[Labels] = None, *,
            gamma: int = 0, method: Method = "", recipe: Recipe = "generalising", degree: int = 0,
            fit: str = "", profile: str = "standard", weight_of_pairs: float = 0.25, margin: float = 0.5,
            grid_search: bool = False, epochs: int = 0, patience: int = 0, learning_rate: float = 0.0,
            weight_decay: float = 0.0001, shrinkage: float = -1.0, drop_modality: float = 0.0,
            modality_weights: Sequence[float] = (), seed: int = 1, against_wolves: bool = False,
            with_exact: bool = False, checkpoint: Optional[Path] = None,
            curve: Optional[list[LearnEpoch]] = None, progress: Progress = None) -> Model:
        """Trains a model from data: TrainingData, a data folder, or a mapping of arrays with
        labels (and split), as for TrainingData. The options are those of `heft train`
        (docs/learning.md). For 0, an empty value, or a shrinkage below 0, training chooses the
        value. Methods "pca" and "none" need no labels.

        checkpoint: a file for the state after every epoch, from which training continues.
        curve: a list to which every epoch is appended. progress: a function of (what, done,
        total, note) that returns False to stop, or True for a bar. The result depends only on
        data, options and seed. InvalidArgument, FailedPrecondition, Cancelled."""
        options = _options(locals())
        if curve is not None and not isinstance(curve, list):
            raise TypeError(f"curve: give a list, not {type(curve).__name__}")
        if checkpoint is not None:
            options["checkpoint"] = os.fsdecode(path_of(checkpoint))
        options["with_curve"] = curve is not None
        people = data_of(data, labels, split, labelled=False)
        handle, steps = call("heft_learn", people, options, progress)
        if curve is not None:
            curve.extend(LearnEpoch(step) for step in steps)
        return Model._of(handle)._warned()

    @staticmethod
    def train_folds(
            data: TrainingData, folds: int = 5, fold_seed: int = 1, *,
            gamma: int = 0, method: Method = "", recipe: Recipe = "generalising", degree: int = 0,
            fit: str = "", profile: str = "standard", weight_of_pairs: float = 0.25, margin: float = 0.5,
            grid_search: bool = False, epochs: int = 0, patience: int = 0, learning_rate: float = 0.0,
            weight_decay: float = 0.0001, shrinkage: float = -1.0, drop_modality: float = 0.0,
            modality_weights: Sequence[float] = (), seed: int = 1, against_wolves: bool = False,
            with_exact: bool = False, progress: Progress = None) -> list[Model]:
        """Trains one model for each of folds parts of the people (3 or more), from the people of
        all other parts, for evaluate_folds. The split of the data is not used; fold_seed
        assigns people to parts. The rest is as for train."""
        options = _options(locals())
        models = _models(call("heft_learn_folds", data, folds, fold_seed, options, progress), folds)
        warn(text for model in models for text in model.warnings)
        return models

    def calibrate(
            self, data: _Data, labels: Optional[Labels] = None, split: Optional[Labels] = None, *,
            seed: int = 1, against_wolves: bool = False, progress: Progress = None) -> Model:
        """Returns this model with thresholds, searches and calibration fitted to data: people who
        did not train its projection.

        data, labels and split are as for train. Rows marked train or val are left out if the
        other people suffice. id stays the same, so galleries and keys remain valid;
        decision_id changes. seed: random seed of the intervals.
        InvalidArgument for too few people or other modalities, FailedPrecondition for people
        who trained the model, Cancelled."""
        people = data_of(data, labels, split)
        options = {"seed": seed, "against_wolves": against_wolves}
        return Model._of(call("heft_calibrate", self, people, options, progress))._warned()

    def _warned(self) -> Model:
        warn(self.warnings)
        return self

    @property
    def warnings(self) -> list[str]:
        """Warnings of training and calibration about this model, such as too few people. train and
        calibrate give the same as heft.Warning."""
        return [in_python(warning) for warning in self._of_training["warnings"]]

    @staticmethod
    def load_folds(folder: Path, data: TrainingData, folds: int = 5, fold_seed: int = 1) -> list[Model]:
        """Loads the models of a folder, each from fold_file(folder, fold). FailedPrecondition
        unless they were trained in these folds, with data of as many rows."""
        return _models(call("heft_load_folds", path_of(folder), data, folds, fold_seed), folds)

    @property
    def split_seed(self) -> int:
        """The split_seed of TrainingData.load when the model was trained."""
        return int(self._of_training["split_seed"])

    # ---- Parts.

    # What the library tells is kept: a model does not change.

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return dict(call("heft_model_describe", self))

    @cached_property
    def _of_training(self) -> dict[str, Any]:
        return dict(call("heft_model_describe_training", self))

    @cached_property
    def _tables(self) -> list[DecisionTable]:
        return [DecisionTable(table) for table in call("heft_model_tables", self)]

    @cached_property
    def _tables_for(self) -> dict[Optional[Tuple[str, ...]], DecisionTable]:
        return {}

    def _matrix(self, exact: bool) -> NDArray[np.float64]:
        address, rows, columns = call("heft_model_projection", self, int(exact))
        return view_of(self._handle, address, (rows, columns), "f8")

    @property
    def modalities(self) -> list[Tuple[str, int]]:
        """(name, dimension) of each modality."""
        return [(one["name"], one["dimension"]) for one in self._facts["modalities"]]

    @property
    def gamma(self) -> int:
        """Fused dimension."""
        return int(self._facts["gamma"])

    @property
    def projection(self) -> NDArray[np.float64]:
        """float64 of shape (gamma, sum of dimensions); a read-only view. It is applied to the
        concatenated vectors, each of unit length."""
        return self._matrix(exact=False)

    @property
    def exact_projection(self) -> NDArray[np.float64]:
        """A projection that was trained with exact normalisation, for comparison; may have no
        rows."""
        return self._matrix(exact=True)

    @property
    def approximation(self) -> Approximation:
        """Approximation of 1/sqrt(|z|^2)."""
        return Approximation(self._facts["approximation"])

    @property
    def profile(self) -> str:
        """Profile of the encryption parameters."""
        return str(self._facts["profile"])

    @property
    def sample_agreement(self) -> Optional[float]:
        """Mean product of two samples' z, divided by the mean |z|^2, or None."""
        agreement: Optional[float] = self._facts["sample_agreement"]
        return agreement

    @property
    def tables(self) -> list[DecisionTable]:
        """The meaning of scores, by the modalities of the probe; all modalities first. May be
        empty."""
        return list(self._tables)

    @property
    def training_summary(self) -> dict[str, Any]:
        """The trainer's record: options, AUROC, warnings, ..."""
        return copy.deepcopy(dict(self._facts["training"]))

    @property
    def id(self) -> str:
        """Id of everything that a gallery depends on, 32 hexadecimal digits."""
        return str(self._facts["model_id"])

    @property
    def decision_id(self) -> str:
        """Id of everything that decisions depend on: the model and its tables."""
        return str(self._facts["decision_id"])

    # ---- Fusion without encryption.

    def transform(self, vectors: Union[Mapping[str, Vectors], Any]) -> NDArray[np.float32]:
        """Fuses row i of all modalities without encryption, as the server does under encryption:
        float32 of shape (rows, gamma), of nearly unit length. For plots and baselines: these are
        plain templates.

        vectors: a mapping from modalities to arrays, or a DataFrame, as for Workspace.add; an absent
        modality counts as missing. A heft.Warning says how many rows are outside the interval of the
        approximation. InvalidArgument."""
        if hasattr(vectors, "columns"):
            vectors, _ = split(vectors, self.modalities, None)
        rows = all_rows_of(vectors)
        fused = np.empty((rows[0][0].rows if rows else 0, self.gamma), np.float32)
        outside = call("heft_model_fuse", self, rows, len(rows), fused.ctypes, fused.size)
        if outside:
            warn([f"{outside} of {len(fused)} rows are outside the interval of the model's approximation: "
                  "their length is meaningless, and the key owner would reject such templates"])
        return fused

    # ---- Decisions.

    def threshold_for(self, fmr: float, modalities: Optional[Sequence[str]] = None) -> ChosenThreshold:
        """The threshold of one comparison for a false match rate, for probes with these modalities
        (default: all of the model). InvalidArgument outside (0, 1); OutOfRange beyond the
        table's points; FailedPrecondition if there is no table for the modalities."""
        return warned(ChosenThreshold(call("heft_model_threshold", self, number_of(fmr, "fmr"),
                                           _modalities(modalities))))

    def threshold_for_search(self, fpir: float, people: int, templates: int = 1,
                             modalities: Optional[Sequence[str]] = None) -> ChosenThreshold:
        """The threshold of a search for a false positive identification rate, in a gallery of this
        many people with at most this many templates each, for probes with these modalities.
        Errors as threshold_for's."""
        return warned(ChosenThreshold(call("heft_model_search_threshold", self, number_of(fpir, "fpir"),
                                           people, templates, _modalities(modalities))))

    def names_of(self, set: int) -> list[str]:  # pylint: disable=redefined-builtin
        """The names of a set of modalities, given as in DecisionTable.modalities."""
        return list(call("heft_model_names_of", self, set))

    def table_for(self, modalities: Optional[Sequence[str]] = None) -> DecisionTable:
        """The decision table for probes with these modalities (default: all of the model).
        InvalidArgument, FailedPrecondition."""
        chosen = _modalities(modalities)
        key = None if modalities is None else tuple(chosen["modalities"])
        if key not in self._tables_for:
            self._tables_for[key] = DecisionTable(call("heft_model_table", self, chosen))
        return self._tables_for[key]

    def _shown(self) -> dict[str, Any]:
        return {"model_id": self.id, "decision_id": self.decision_id, "modalities": dict(self.modalities),
                "gamma": self.gamma, "profile": self.profile}

    def _words(self) -> str:
        modalities = " ".join(f"{name}:{dimension}" for name, dimension in self.modalities)
        return f"{modalities}, gamma {self.gamma}, profile {self.profile}"


def _options(given: dict[str, Any]) -> dict[str, Any]:
    """The options of heft_learn among the arguments of a call, which have the same names."""
    others = ("data", "labels", "split", "folds", "fold_seed", "curve", "progress", "checkpoint")
    return {**{name: value for name, value in given.items() if name not in others},
            "modality_weights": list(given["modality_weights"])}


def _models(handle: Handle, folds: int) -> list[Model]:
    """The models of a heft_models."""
    return [Model._of(call("heft_models_get", handle, fold)) for fold in range(folds)]
