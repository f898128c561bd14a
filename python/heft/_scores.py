# SPDX-License-Identifier: Apache-2.0
"""Scores of comparisons: files of HEFT and of others, NumPy arrays and DataFrames."""

from __future__ import annotations

import importlib
from functools import cached_property
from typing import Any, Literal, Optional, Sequence, Tuple, Union

import numpy as np
from numpy.typing import NDArray

from heft import errors
from heft._library import call
from heft._values import Labels, Object, Path, labels_of, path_of, view_of

Numbers = Union[NDArray[np.floating[Any]], NDArray[np.integer[Any]], Sequence[float]]
Form = Literal["csv", "bob4", "bob5", "genuine", "impostor"]

# heft_score_pair.
_PAIR = np.dtype({
    "names": ["enrolled", "probe", "enrolled_label", "probe_label", "split", "genuine", "score", "plain"],
    "formats": ["u4", "u4", "u4", "u4", "u4", "?", "f8", "f8"],
    "offsets": [0, 4, 8, 12, 16, 20, 24, 32], "itemsize": 40})
# The CSV's columns of names: the field, and the list of names.
_NAMES = {"bio_ref_subject_id": ("enrolled", "subjects"), "bio_ref_template_id": ("enrolled_label", "labels"),
          "probe_subject_id": ("probe", "subjects"), "probe_template_id": ("probe_label", "labels")}


def _array(given: object, kinds: str, what: str) -> NDArray[Any]:
    """An array of one dimension, of these kinds of numbers."""
    try:
        array = np.asarray(given)
    except (ValueError, TypeError):
        array = np.asarray(None)
    if array.ndim != 1 or array.dtype.kind not in kinds:
        raise errors.InvalidArgument(f"{what}: give an array of {'bool' if kinds == 'b' else 'numbers'}, of "
                                     "one dimension")
    return array


class _Columns:
    """Comparisons in the form of C's."""

    def __init__(self, count: int):
        self.pairs = np.zeros(count, _PAIR)

    def set(self, field: str, values: Union[Sequence[Any], NDArray[Any]]) -> None:
        """Sets a field of all comparisons."""
        if len(values) != len(self.pairs):
            raise errors.InvalidArgument(f"{field}: {len(values)} for {len(self.pairs)} scores")
        self.pairs[field] = values

    def name(self, field: str, given: object, numbers: dict[str, int]) -> None:
        """Sets a field to the indices of names, each of which is held once, in order of appearance."""
        texts = [""] * len(self.pairs) if given is None else labels_of(given)
        self.set(field, [numbers.setdefault(text, len(numbers)) for text in texts])


class ScoreTable(Object):
    """Scores of comparisons, as in files of scores (docs/evaluation.md)."""

    _NAME = "this table"

    def __init__(self, score: Numbers, genuine: Union[None, NDArray[np.bool_], Sequence[bool]] = None, *,
                 enrolled: Optional[Labels] = None, probe: Optional[Labels] = None,
                 enrolled_label: Optional[Labels] = None, probe_label: Optional[Labels] = None,
                 split: Optional[Labels] = None, plain: Optional[Numbers] = None) -> None:
        """From arrays: score, one similarity per comparison, NaN for a failed one; and either the
        compared people, enrolled and probe (str or int), or genuine (bool). Labels name
        templates and probes. plain: the same scores computed without encryption.
        InvalidArgument."""
        if (enrolled is None) != (probe is None):
            raise errors.InvalidArgument("give enrolled and probe together, or neither")
        if enrolled is None and genuine is None:
            raise errors.InvalidArgument("give genuine, or enrolled and probe")
        scores = _array(score, "fiu", "score")
        columns = _Columns(len(scores))
        columns.set("score", scores)
        subjects: dict[str, int] = {}
        labels: dict[str, int] = {}
        splits: dict[str, int] = {}
        columns.name("enrolled_label", enrolled_label, labels)
        columns.name("probe_label", probe_label, labels)
        columns.name("split", split, splits)
        if enrolled is not None:
            columns.name("enrolled", enrolled, subjects)
            columns.name("probe", probe, subjects)
            columns.set("genuine", columns.pairs["enrolled"] == columns.pairs["probe"])
        if genuine is not None:
            columns.set("genuine", _array(genuine, "b", "genuine"))
        if plain is not None:
            columns.set("plain", _array(plain, "fiu", "plain"))
        self._held = call("heft_scores_make", columns.pairs.ctypes, len(scores), list(subjects),
                          len(subjects), list(labels), len(labels), list(splits), len(splits),
                          int(plain is not None))

    # ---- Files.

    @staticmethod
    def load(path: Path) -> ScoreTable:
        """Loads a file of scores: CSV of `heft evaluate --scores` or of bob.bio, or bob.bio's four
        or five columns, recognised by the first line. InvalidArgument with the line and its
        error, NotFound."""
        return ScoreTable._of(call("heft_scores_read", path_of(path), None, 0))

    @staticmethod
    def parse(text: str) -> ScoreTable:
        """Reads the text of such a file."""
        return ScoreTable._of(call("heft_scores_parse", text, None, 0))

    @staticmethod
    def load_lists(genuine: Path, impostor: Path, *, histogram: bool = False) -> ScoreTable:
        """Loads PyEER's form: a file of genuine scores and one of impostor scores, in the last
        column of each. histogram: line k of the second file, from 0, is the number of scores k."""
        return ScoreTable._of(call("heft_scores_read", path_of(genuine), path_of(impostor), int(histogram)))

    @staticmethod
    def parse_lists(genuine: str, impostor: str, *, histogram: bool = False) -> ScoreTable:
        """Reads the texts of such files."""
        if impostor is None:
            raise TypeError("impostor: give a str, not NoneType")
        return ScoreTable._of(call("heft_scores_parse", genuine, impostor, int(histogram)))

    def to_text(self, form: Form = "csv") -> str:
        """The text of a file of form csv, bob4 or bob5, or one of PyEER's two, genuine or impostor;
        numbers are read back exactly.
        InvalidArgument for scores without names in bob4 and bob5, and for names with a blank
        there."""
        return self._text(form).decode()

    def _text(self, form: str) -> bytes:
        return bytes(call("heft_scores_format", self, form))

    def save(self, path: Path, form: Form = "csv") -> None:
        """Writes that file, which is replaced as a whole."""
        call("heft_file_write", path_of(path), self._text(form))

    def to_lists(self) -> Tuple[str, str]:
        """PyEER's two texts, with genuine and impostor scores; failed comparisons are left out."""
        return self._text("genuine").decode(), self._text("impostor").decode()

    # ---- DataFrames.

    @staticmethod
    def from_dataframe(frame: Any) -> ScoreTable:
        """Reads a pandas DataFrame with the CSV's columns: score and, for the people,
        bio_ref_subject_id and probe_subject_id, or kind. InvalidArgument."""
        pandas: Any = importlib.import_module("pandas")
        if not isinstance(frame, pandas.DataFrame):
            raise TypeError("frame: give a pandas DataFrame")
        if "score" not in frame.columns:
            raise errors.InvalidArgument('the frame has no column "score"')
        columns: dict[str, Any] = {}
        for column, field in [*((column, names[0]) for column, names in _NAMES.items()), ("split", "split")]:
            if column in frame.columns:  # a missing value is no label
                values = frame[column].astype("object")
                columns[field] = values.where(values.notna(), "")
        if "kind" in frame.columns:
            kind = frame["kind"]
            if not kind.isin(["genuine", "impostor"]).all():
                raise errors.InvalidArgument("kind: write genuine or impostor")
            columns["genuine"] = kind.eq("genuine").to_numpy("bool")
        if "plain" in frame.columns:
            columns["plain"] = frame["plain"]
        return ScoreTable(frame["score"], **columns)

    def to_dataframe(self) -> Any:
        """A pandas DataFrame with the CSV's columns; names are categories."""
        pandas: Any = importlib.import_module("pandas")
        def categories(codes: NDArray[Any], names: list[str]) -> Any:
            return pandas.Categorical.from_codes(codes.astype("int64"), names)

        columns: dict[str, Any] = {}
        for column, (field, names) in _NAMES.items() if self.named else ():
            columns[column] = categories(self._column(field), self._facts[names])
        columns["kind"] = categories(self.genuine, ["impostor", "genuine"])
        columns["split"] = categories(self.split, self.splits)
        columns["score"] = self.score
        if self.plain is not None:
            columns["plain"] = self.plain
        return pandas.DataFrame(columns)

    def select_split(self, split: str) -> ScoreTable:
        """The comparisons of one split only. NotFound lists the splits."""
        return ScoreTable._of(call("heft_scores_select", self, split))

    # ---- Columns.

    @cached_property
    def _facts(self) -> dict[str, Any]:
        return dict(call("heft_scores_describe", self))

    def _column(self, field: str) -> NDArray[Any]:
        """One field of all comparisons, without a copy."""
        address, count = call("heft_scores_pairs", self)
        type_, offset = _PAIR.fields[field][:2]  # type: ignore[index]
        return view_of(self._handle, address and address + offset, (count,), type_.str, (_PAIR.itemsize,))

    @property
    def score(self) -> NDArray[np.float64]:
        """float64, a read-only view; NaN for a failed comparison."""
        return self._column("score")

    @property
    def plain(self) -> Optional[NDArray[np.float64]]:
        """The same scores computed without encryption, a view; None if the table has none."""
        return self._column("plain") if self._facts["with_plain"] else None

    @property
    def genuine(self) -> NDArray[np.bool_]:
        """bool, a read-only view."""
        return self._column("genuine")

    @property
    def enrolled(self) -> NDArray[np.uint32]:
        """The enrolled person, an index into subjects; a view."""
        return self._column("enrolled")

    @property
    def probe(self) -> NDArray[np.uint32]:
        """The person of the probe, an index into subjects; a view."""
        return self._column("probe")

    @property
    def enrolled_label(self) -> NDArray[np.uint32]:
        """The template, an index into labels; a view."""
        return self._column("enrolled_label")

    @property
    def probe_label(self) -> NDArray[np.uint32]:
        """The probe, an index into labels; a view."""
        return self._column("probe_label")

    @property
    def split(self) -> NDArray[np.uint32]:
        """The split, an index into splits; a view."""
        return self._column("split")

    @property
    def subjects(self) -> list[str]:
        """Names of people."""
        return list(self._facts["subjects"])

    @property
    def labels(self) -> list[str]:
        """Names of templates and probes; may be empty texts."""
        return list(self._facts["labels"])

    @property
    def splits(self) -> list[str]:
        """Names of splits; may be empty texts."""
        return list(self._facts["splits"])

    @property
    def named(self) -> bool:
        """False if scores are only genuine or impostor, without subjects."""
        return bool(self._facts["named"])

    @property
    def failures(self) -> int:
        """Number of comparisons without a score."""
        return int(self._facts["failures"])

    def __len__(self) -> int:
        return int(self._facts["comparisons"])

    def _shown(self) -> dict[str, Any]:
        facts = self._facts
        return {"comparisons": len(self), "failures": self.failures, "named": self.named,
                "with_plain": facts["with_plain"], "subjects": len(facts["subjects"]), "splits": self.splits}

    def _words(self) -> str:
        return f"of {len(self)} comparisons"
