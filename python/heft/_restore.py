# SPDX-License-Identifier: Apache-2.0
"""Functions that pickle calls to restore objects."""

from __future__ import annotations

from heft._heft import Model, Trust


def model(data: bytes) -> Model:
    """A Model from its bytes."""
    return Model.load(data)


def trust(text: str) -> Trust:
    """A Trust from its text."""
    return Trust.parse(text)
