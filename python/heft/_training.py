# SPDX-License-Identifier: Apache-2.0
"""Data of people for training: vectors with identities."""

from __future__ import annotations

import os
from functools import cached_property
from typing import Any, Iterable, Mapping, Optional, Sequence, Union

import numpy as np
from numpy.typing import NDArray

from heft import errors
from heft._library import call, given
from heft._records import LearnEpoch
from heft._values import (Labels, Object, Path, Vectors, list_of, mapping_of, matrix_of, number_of, path_of,
                          row_labels, rows_of, text_of)

_Each = Union[None, float, Sequence[float]]


def _each(numbers: _Each, what: str) -> Optional[list[float]]:
    """One number for all modalities, or one each."""
    if numbers is None:
        return None
    each = numbers if isinstance(numbers, Iterable) and not isinstance(numbers, str) else [numbers]
    return [number_of(number, what) for number in each]


class TrainingData(Object):
    """Feature vectors of one or more modalities with identities, from which a model is
    trained."""

    _NAME = "these data"

    def __init__(self, vectors: Mapping[str, Vectors], labels: Labels, split: Optional[Labels] = None, *,
                 split_seed: int = 1) -> None:
        """From arrays: vectors maps a modality's name to an array (rows x dimension, float32 or
        float64, copied); row i of all of them belongs to labels[i]. split has "train",
        "val" or "test" for each row, the same for all rows of an identity; without it
        split_seed assigns people. Modalities are sorted by name. InvalidArgument for different
        numbers of rows, NaN or infinity."""
        held = {}
        for name, array in mapping_of(vectors, "vectors").items():
            held[text_of(name, "vectors")], single = matrix_of(array, name)
            if single:
                raise errors.InvalidArgument(f"{name}: give a matrix with one sample per row")
        # In alphabetical order, as those of a folder.
        rows = [rows_of(name, held[name]) for name in sorted(held)]
        count = len(held[min(held)]) if held else 0
        self._held = call("heft_dataset_from_rows", rows, len(rows), row_labels(labels, count),
                          row_labels(split, count, "splits"), split_seed)

    @staticmethod
    def _load(folder: Path, split_seed: int = 1, *, labelled: bool) -> TrainingData:
        options = {"split_seed": split_seed, "labelled": labelled}
        return TrainingData._of(call("heft_dataset_load", path_of(folder), options))

    @staticmethod
    def load(folder: Path, *, split_seed: int = 1) -> TrainingData:
        """From a data folder (docs/data.md): NAME.npy or NAME.txt for each modality, labels.txt,
        split.txt. NotFound, DataLoss, InvalidArgument."""
        return TrainingData._load(folder, split_seed, labelled=True)

    @staticmethod
    def synthesise(*, identities: int = 190, samples: int = 6, dimensions: Sequence[int] = (512, 128),
                   jitter: _Each = None, within: _Each = None, noise: _Each = None,
                   rank_identity: Optional[int] = None, rank_within: Optional[int] = None,
                   all_pairs_of: Sequence[int] = (), seed: int = 1) -> TrainingData:
        """Synthetic people with modalities face, voice, modality3, ... and the statistics of real
        embeddings of faces and voices.

        If jitter, within, noise, rank_identity or rank_within is given, the factor model of
        heft/dataset.h is used instead. The first three are one number, or one per modality;
        with a smaller jitter, people are easier to distinguish. all_pairs_of: number of samples
        of each modality; rows are then all combinations of them. InvalidArgument."""
        return TrainingData._of(call("heft_dataset_synthesise", {
            "identities": identities, "samples": samples, "dimensions": list_of(dimensions, "dimensions"),
            "all_pairs_of": list(all_pairs_of), "seed": seed,
            **given(jitter=_each(jitter, "jitter"), within=_each(within, "within"),
                    noise=_each(noise, "noise"), rank_identity=rank_identity, rank_within=rank_within)}))

    @staticmethod
    def of_papers_size(*, seed: int = 1) -> TrainingData:
        """Synthetic people in the size of the paper's data: 188 people with 376 faces and 5,380
        voices, in 10,760 pairs."""
        return TrainingData._of(call("heft_dataset_synthesise", {"papers_size": True, "seed": seed}))

    def save(self, folder: Path) -> None:
        """Writes a data folder, with vectors as float32."""
        call("heft_dataset_write", self, path_of(folder))

    def vectors(self, modality: str) -> NDArray[np.float32]:
        """The vectors of one modality, float32, a copy."""
        for number, one in enumerate(self._facts["modalities"]):
            if one["name"] == modality:
                out = np.empty((len(self), one["dimension"]), np.float32)
                call("heft_dataset_vectors", self, number, out.ctypes, out.size)
                return out
        raise errors.InvalidArgument(f'the data have no modality "{modality}"')

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return dict(call("heft_dataset_describe", self))

    def __len__(self) -> int:
        return int(self._facts["rows"])

    @property
    def labels(self) -> list[str]:
        """Identity of each row."""
        return list(self._facts["labels"])

    @property
    def modalities(self) -> list[str]:
        """Names of the modalities."""
        return [one["name"] for one in self._facts["modalities"]]

    @property
    def dimensions(self) -> list[int]:
        """Dimension of each modality."""
        return [one["dimension"] for one in self._facts["modalities"]]

    def _shown(self) -> dict[str, Any]:
        return {"rows": len(self), "people": len(set(self._facts["labels"])),
                "modalities": dict(zip(self.modalities, self.dimensions))}

    def _words(self) -> str:
        modalities = " ".join(f"{name}:{size}" for name, size in zip(self.modalities, self.dimensions))
        return f"{modalities}, {len(self)} rows"

    @property
    def left_out(self) -> list[str]:
        """Text files of the folder that were not read as a modality."""
        return list(self._facts["left_out"])


def data_of(data: object, labels: Optional[Labels], split: Optional[Labels], *,
            labelled: bool = True) -> TrainingData:
    """TrainingData, a folder, or arrays with labels."""
    if isinstance(data, dict):
        return TrainingData(data, labels, split)  # type: ignore[arg-type]
    if labels is not None or split is not None:
        have = "these data have" if isinstance(data, TrainingData) else "a folder has"
        raise errors.InvalidArgument(f"{have} labels and split already")
    if isinstance(data, TrainingData):
        return data
    return TrainingData._load(data, labelled=labelled)  # type: ignore[arg-type]


def fold_file(folder: Path, fold: int) -> str:
    """The path of a fold's model, from 0, in a folder."""
    return os.fsdecode(call("heft_fold_file", path_of(folder), fold))


def draw_learning_curve(curve: Sequence[LearnEpoch], best_epoch: int) -> str:
    """Draws the curve that Model.train filled, as a picture (SVG). Unavailable without
    gnuplot."""
    return bytes(call("heft_draw_learning_curve", {
        "epochs": [step.epoch for step in curve], "train_auroc": [step.train_auroc for step in curve],
        "val_auroc": [step.val_auroc for step in curve], "best_epoch": best_epoch})).decode()
