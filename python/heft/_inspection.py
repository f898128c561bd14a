# SPDX-License-Identifier: Apache-2.0
"""Functions without a role: files, profiles and plans, files of vectors, conditions, and times."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, Mapping, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from heft._library import Progress, call
from heft._record import Record, field
from heft._records import FileInfo, ProfileInfo
from heft._trust import Trust
from heft._values import (Names, Path, Source, condition_text, conditions_of, labels_of, metadata_of,
                          number_of, path_of, source_of, text_of)

if TYPE_CHECKING:
    from heft._model import Model


_NOW = 2**64 - 1  # HEFT_NOW


def inspect(file: Source) -> FileInfo:
    """Reads the header of a file. DataLoss for bytes that are not a HEFT file."""
    return FileInfo(call("heft_inspect", *source_of(file, "file")))


def describe_file(path: Path, *, plan: bool = False, trust: Optional[Trust] = None) -> Tuple[dict[str, Any], str]:
    """Checks a file or a gallery and describes it, as `heft inspect`. Returns the facts, and
    the same in words. plan: for a model, also how it is evaluated. trust: takes only a
    signed file whose signer it lists. DataLoss; errors of Gallery, Model.load and open_signed."""
    described = call("heft_describe_file", path_of(path), {"plan": plan}, trust)
    return described["facts"], described["text"]


def describe_plan(model: Model) -> dict[str, Any]:
    """How a model is evaluated (docs/design.md, "Two rings"): levels, scales, keys and
    counts for each ring, as printed by `heft inspect --plan --json`. InvalidArgument if the
    model does not fit its profile."""
    return dict(call("heft_describe_plan", model))


def describe_profile(name: str) -> ProfileInfo:
    """The parameters of a profile. InvalidArgument lists the profiles."""
    return ProfileInfo(call("heft_describe_profile", name))


def profile_of(params_id: str) -> Optional[ProfileInfo]:
    """The profile with these parameters (FileInfo.params_id), or None."""
    profile = call("heft_profile_of", params_id)
    return None if profile is None else ProfileInfo(profile)


# ---- Files of vectors and labels.


def read_vectors(path: Path) -> NDArray[np.float32]:
    """The feature vectors of a file, one per row, as float32. The file is NumPy's .npy, or
    text with one vector per line (docs/data.md). DataLoss; InvalidArgument with row and
    column; NotFound."""
    values, rows, dimension = call("heft_vectors_read", path_of(path))
    return np.frombuffer(values, np.float32).reshape(rows, dimension).copy()


def read_labels(path: Path) -> list[str]:
    """The labels of a file: one per line, or one list in brackets as Python prints it.
    InvalidArgument."""
    return list(call("heft_labels_read", path_of(path)))


# ---- Metadata.


class Condition(Record):
    """A condition on metadata: a key has one of these values or, without values, a number
    within bounds. It can be used instead of a text such as "site=berlin", and is needed
    for values that contain "|" or ".."."""

    key: Final[str] = field("The key of the metadata.")
    values: Final[list[str]] = field("The allowed values; none: the condition is on a number.")
    at_least: Final[Optional[float]] = field("Lower bound of the number, or None.")
    at_most: Final[Optional[float]] = field("Upper bound of the number, or None.")

    def __init__(self, key: str, values: Optional[Names] = None, *, at_least: Optional[float] = None,
                 at_most: Optional[float] = None) -> None:
        """A condition. InvalidArgument if the arguments do not form one."""
        bounds = {name: None if bound is None else repr(number_of(bound, name))  # also inf, for its error
                  for name, bound in (("at_least", at_least), ("at_most", at_most))}
        self._read(json.dumps({"key": text_of(key, "key"), "values": labels_of(values), **bounds}))

    def _read(self, text: str) -> None:
        super().__init__(call("heft_condition_read", text))

    @staticmethod
    def parse(text: str) -> Condition:
        """Reads "site=berlin", "list=a|b" or "age=18..30". InvalidArgument."""
        made = Condition.__new__(Condition)
        made._read(condition_text(text, "text"))
        return made

    @property
    def _condition(self) -> str:
        return json.dumps(self.to_dict())

    def __str__(self) -> str:
        return str(call("heft_condition_read", self._condition)["text"])


Where = Union[str, Condition, Sequence[Union[str, Condition]]]


def fits(metadata: Mapping[str, Names], where: Optional[Where]) -> bool:
    """Whether the metadata meet all conditions; of a key with several values, any one may meet
    it. InvalidArgument for invalid metadata or conditions."""
    asked = {"metadata": metadata_of(metadata), "where": conditions_of(where)}
    return bool(call("heft_fits", asked))


def parse_expiry(text: str, *, now: Optional[int] = None) -> int:
    """The time of expiry in Unix seconds, for enrol, from a date ("2027-01-31", at 00:00
    UTC), a time ("2027-01-31T12:30:00Z") or a duration from now ("90d"; s, m, h, d and
    y). InvalidArgument for other text, and for a time in the past."""
    return int(call("heft_parse_expiry", text, _NOW if now is None else now))


# ---- Times.


def _benchmark(name: str, given: dict[str, Any]) -> dict[str, Any]:
    """A measurement with the arguments of a call, which have the names of options."""
    options = {**given, "dimensions": list(given["dimensions"]), "gammas": list(given["gammas"])}
    progress = options.pop("progress")
    return dict(call(name, options, progress))


def run_benchmark(*, iterations: int = 20, templates: int = 1024, dimensions: Sequence[int] = (512, 512),
                  gammas: Sequence[int] = (), degree: int = 3, profile: str = "standard",
                  skip_large: bool = False, large_templates: int = 1000000, batch: int = 64,
                  progress: Progress = None) -> dict[str, Any]:
    """Measures whole operations of all roles on this machine, with random vectors, as `heft
    bench`. This takes minutes. InvalidArgument, Cancelled."""
    return _benchmark("heft_run_benchmark", locals())


def run_sweep(*, iterations: int = 20, templates: int = 1024, dimensions: Sequence[int] = (512, 512),
              gammas: Sequence[int] = (), degree: int = 3, profile: str = "standard",
              skip_large: bool = False, large_templates: int = 1000000, batch: int = 64,
              progress: Progress = None) -> Tuple[dict[str, Any], dict[str, str]]:
    """Measures how these times grow; returns the numbers, and pictures (SVG) by file name.
    Unavailable without gnuplot."""
    sweep = _benchmark("heft_run_sweep", locals())
    return sweep["result"], sweep["pictures"]
