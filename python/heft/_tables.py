# SPDX-License-Identifier: Apache-2.0
"""Vectors and labels from a table with columns, such as a pandas.DataFrame; pandas is optional."""

from __future__ import annotations

from typing import Any, Iterable, Optional, Sequence

import numpy as np
from numpy.typing import NDArray

from heft.errors import InvalidArgument


def _vectors(table: Any, modality: str, dimension: int) -> Optional[NDArray[np.float32]]:
    """The rows of a modality, from a column of vectors or from one column per number; None if the
    table has neither."""
    columns = list(table.columns)
    if modality in columns:
        return np.stack([np.asarray(row, dtype=np.float32) for row in table[modality]])
    numbers = [f"{modality}_{i}" for i in range(dimension)]
    if numbers[0] not in columns:
        return None
    absent = [name for name in numbers if name not in columns]
    if absent:
        raise InvalidArgument(
            f"{modality} has {dimension} dimensions, but the table has no column {absent[0]}")
    return np.column_stack([np.asarray(table[name], dtype=np.float32) for name in numbers])


def has_vectors(table: Any, modalities: Iterable[str]) -> bool:
    """Whether it is a table with a column of one of these modalities, or with its first number."""
    columns = list(getattr(table, "columns", ()))
    return any(name in columns or f"{name}_0" in columns for name in modalities)


def split(table: Any, modalities: Sequence[tuple[str, int]],
          labels: Any) -> tuple[dict[str, NDArray[np.float32]], Any]:
    """The vectors by modality, and the labels: the given sequence, or the values of a column."""
    found = {name: rows for name, dimension in modalities
             if (rows := _vectors(table, name, dimension)) is not None}
    if not found:
        names = " or ".join(name for name, _ in modalities)
        raise InvalidArgument(f"the table has no column of vectors: expected {names}, "
                              f"or {modalities[0][0]}_0 and following")
    columns = list(table.columns)
    if labels is None:
        return found, list(map(str, table["label"])) if "label" in columns else None
    if isinstance(labels, str):
        if labels not in columns:
            raise InvalidArgument(f"labels: the table has no column {labels}")
        return found, list(map(str, table[labels]))
    return found, labels
