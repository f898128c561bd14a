# SPDX-License-Identifier: Apache-2.0
"""The base of records (heft._records): plain results with fields, made of JSON."""

from __future__ import annotations

import base64
import html
from typing import Any, Callable, ClassVar, Mapping, Optional, Union

from heft._words import in_python as said

__all__ = ["Record", "field", "file", "many", "optional", "pair", "plain", "said"]


def file(text: Union[str, bytes]) -> bytes:
    """A file, which JSON has as base64, unless it came beside it."""
    return text if isinstance(text, bytes) else base64.b64decode(text)


def pair(values: list[float]) -> tuple[float, ...]:
    """An interval."""
    return tuple(values)


def many(make: Callable[[Any], Any]) -> Callable[[list[Any]], list[Any]]:
    """Makes a list of values."""
    return lambda values: [make(value) for value in values]


def optional(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Makes a value, or None."""
    return lambda value: None if value is None else make(value)


def plain(value: Any) -> Any:
    """A field's value in a form for JSON: records are dicts, tuples lists, and files base64 text."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    return value


class _Field:
    """A read-only field of a record, with its meaning."""

    def __init__(self, text: str, make: Optional[Callable[[Any], Any]]):
        self.__doc__, self.make, self.name = text, make, ""

    def __set_name__(self, owner: type[Record], name: str) -> None:
        self.name = name
        owner.FIELDS = {**owner.FIELDS, name: self}

    def __get__(self, record: Optional[Record], owner: Optional[type] = None) -> Any:
        return self if record is None else record.__dict__[self.name]

    def __set__(self, record: Record, value: object) -> None:
        raise AttributeError(f"{type(record).__name__}.{self.name} cannot be set: a result is read-only")


def field(text: str, make: Optional[Callable[[Any], Any]] = None) -> Any:
    """Declares a field. `make` makes its value of the JSON's."""
    return _Field(text, make)


class Record:
    """Fields, a repr of them, as text and for notebooks, and to_dict()."""

    FIELDS: ClassVar[dict[str, _Field]] = {}

    def __init__(self, values: Mapping[str, Any]):
        for name, one in self.FIELDS.items():
            value = values[name]
            self.__dict__[name] = value if one.make is None else one.make(value)

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in self.__dict__.items())
        return f"{type(self).__name__}({shown})"

    def to_dict(self) -> dict[str, Any]:
        """All fields by name, in a form for JSON: records are dicts, and files base64 text."""
        return {name: plain(value) for name, value in self.__dict__.items()}

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{name}</th><td>{html.escape(repr(value))}</td></tr>"
                       for name, value in self.to_dict().items())
        return f"<table><caption>{type(self).__name__}</caption>{rows}</table>"
