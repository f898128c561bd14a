# SPDX-License-Identifier: Apache-2.0
"""Methods of records, by the name of the record (heft._records), which has the fields."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Union

from heft._library import call
from heft._values import number_of

if TYPE_CHECKING:
    from heft._records import ChosenThreshold, Decision


class AuditFinding:
    """Is true if the finding is that everything is right."""

    def __bool__(self: Any) -> bool:
        return bool(self.right)


class DecisionThreshold:
    """Whether there are enough comparisons behind it."""

    @property
    def supported(self: Any) -> bool:
        """Whether the comparisons suffice for 30 false matches."""
        record = {"fmr": self.fmr, "impostor_pairs": self.impostor_pairs}
        return bool(call("heft_decision_number", "supported", record))


class ScoreCalibration:
    """Evidence."""

    def log_likelihood_ratio(self: Any, score: float) -> float:
        """The log-likelihood ratio of a score, natural logarithm."""
        record = {"slope": self.slope, "intercept": self.intercept, "score": number_of(score, "score")}
        return float(call("heft_decision_number", "log_likelihood_ratio", record))


class ImpostorTail:
    """Rates of strangers."""

    def _number(self: Any, what: str, **arguments: float) -> Any:
        record = {name: number_of(value, name) for name, value in arguments.items()}
        record.update(start=self.start, rate=self.rate, scale=self.scale, shape=self.shape,
                      evenness=self.evenness)
        return call("heft_decision_number", what, record)

    def rate_at(self: Any, threshold: float) -> float:
        """The share of comparisons that reach a threshold, which must be at least start."""
        return float(self._number("rate_at", threshold=threshold))

    def fpir(self: Any, threshold: float, people: float) -> float:
        """The probability that a stranger's search of so many people returns a name."""
        return float(self._number("fpir", threshold=threshold, people=people))

    def threshold_for(self: Any, fpir: float, people: float) -> float:
        """The threshold at which that probability is fpir; start if it is lower already there."""
        return float(self._number("threshold_for", fpir=fpir, people=people))


class OpenedScores:
    """Candidates as a table, and decisions."""

    def to_dataframe(self: Any) -> Any:
        """The candidates as a pandas DataFrame: identity, score, templates, log_likelihood_ratio."""
        import pandas  # type: ignore[import]  # pylint: disable=import-outside-toplevel

        names = ("identity", "score", "templates", "log_likelihood_ratio")
        return pandas.DataFrame({name: [getattr(one, name) for one in self.candidates] for name in names})

    def decide(self: Any, threshold: Union[ChosenThreshold, float]) -> Decision:
        """Decides at a ChosenThreshold or a score."""
        from heft import _records  # pylint: disable=import-outside-toplevel

        chosen = isinstance(threshold, _records.ChosenThreshold)
        at = threshold.to_dict() if chosen else number_of(threshold, "threshold")  # type: ignore[union-attr]
        return _records.Decision(call("heft_scores_decide", json.dumps(self.to_dict()), json.dumps(at)))


class AuditHead:
    """Is written as LINES:HASH."""

    def __str__(self: Any) -> str:
        return f"{self.lines}:{self.hash}"
