# SPDX-License-Identifier: Apache-2.0
"""What all objects show of themselves; and the base of records (heft._records): plain results with
fields, made of JSON."""

from __future__ import annotations

import base64
import html
import sys
import warnings
from typing import (Any, Callable, ClassVar, Dict, Iterable, Iterator, Mapping, NewType, NoReturn, Optional,
                    TypeVar, Union)

from heft import errors
from heft._words import in_python as said

__all__ = ["Made", "Record", "Shown", "field", "file", "many", "optional", "pair", "plain", "said", "warn",
           "warned"]

_LONG = 200  # characters or bytes of a value that are shown


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
    return value.tolist() if hasattr(value, "tolist") else value


def brief(value: Any) -> str:
    """The repr of a value. A long text is cut off, and of a long file the size is given."""
    if isinstance(value, bytes) and len(value) > _LONG:
        return f"<{len(value)} bytes>"
    if isinstance(value, str) and len(value) > _LONG:
        return f"{value[:_LONG]!r}..."
    if isinstance(value, list):
        return f"[{', '.join(map(brief, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {brief(one)}' for key, one in value.items())}}}"
    return repr(value)


class Shown:
    """What notebooks show of an object: a table of its facts."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Facts about the object, in a form for JSON. Never a secret."""
        raise NotImplementedError

    def _table(self) -> Mapping[str, Any]:
        """The rows of the table."""
        return self.to_dict()

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr><th>{html.escape(name)}</th><td>{html.escape(brief(value))}</td></tr>"
                       for name, value in self._table().items())
        return f"<table><caption>{type(self).__name__}</caption>{rows}</table>"


# ---- Warnings.

# Fields that have texts of warnings.
_WARNINGS = ("warning", "key_warning", "warnings", "owner_journal_fork", "why")


def warn(texts: Iterable[str]) -> None:
    """Gives each text once as a heft.Warning, for the line that called the package."""
    frame, level = sys._getframe(), 1  # pylint: disable=protected-access
    while frame.f_back is not None and frame.f_globals.get("__name__", "").split(".")[0] == "heft":
        frame, level = frame.f_back, level + 1
    for text in dict.fromkeys(texts):
        warnings.warn(text, errors.Warning, stacklevel=level)


def _warnings_of(value: Any) -> Iterator[str]:
    if isinstance(value, Record):
        for name, one in value.__dict__.items():
            if name in _WARNINGS:
                yield from [one] if isinstance(one, str) else one
            else:
                yield from _warnings_of(one)
    elif isinstance(value, list):
        for one in value:
            yield from _warnings_of(one)


_Result = TypeVar("_Result")


def warned(result: _Result) -> _Result:
    """A result of a call, after the warnings in it."""
    warn(text for text in _warnings_of(result) if text)
    return result


# ---- Records.

Made = NewType("Made", Dict[str, Any])  # the values of a record. Only calls make them.


def _copied(value: Any) -> Any:
    """A copy of a list or mapping, with those in it: a caller's change does not change the record."""
    if isinstance(value, list):
        return [_copied(one) for one in value]
    return {key: _copied(one) for key, one in value.items()} if isinstance(value, dict) else value


class _Field:
    """A read-only field of a record, with its meaning."""

    def __init__(self, text: str, make: Optional[Callable[[Any], Any]]):
        self.__doc__, self.make, self.name = text, make, ""

    def __set_name__(self, owner: type[Record], name: str) -> None:
        self.name = name
        owner._FIELDS = {**owner._FIELDS, name: self}  # pylint: disable=protected-access

    def __get__(self, record: Optional[Record], owner: Optional[type] = None) -> Any:
        return self if record is None else _copied(record.__dict__[self.name])

    def __set__(self, record: Record, value: object) -> None:
        """With it, a field comes before the record's own dict, and a read makes a copy."""


def field(text: str, make: Optional[Callable[[Any], Any]] = None) -> Any:
    """Declares a field. `make` makes its value of the JSON's."""
    return _Field(text, make)


class Record(Shown):
    """Fields, a repr of them, as text and for notebooks, and to_dict()."""

    _FIELDS: ClassVar[dict[str, _Field]] = {}

    def __init__(self, values: Made):
        if not isinstance(values, dict) or not self._FIELDS.keys() <= values.keys():
            raise TypeError(f"{type(self).__name__} has no constructor: it is the result of a call")
        for name, one in self._FIELDS.items():
            value = values[name]
            self.__dict__[name] = value if one.make is None else one.make(value)

    def __setattr__(self, name: str, value: NoReturn) -> None:
        if name.startswith("_"):  # of a subclass
            return super().__setattr__(name, value)
        raise AttributeError(f"{type(self).__name__}.{name} cannot be set: a result is read-only")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__}.{name} cannot be deleted: a result is read-only")

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={brief(value)}" for name, value in self._table().items())
        return f"{type(self).__name__}({shown})"

    def to_dict(self) -> dict[str, Any]:
        """All fields by name, in a form for JSON: records are dicts, and files base64 text."""
        return {name: plain(value) for name, value in self._table().items()}

    def _table(self) -> Mapping[str, Any]:
        return {name: self.__dict__[name] for name in self._FIELDS}
