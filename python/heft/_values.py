# SPDX-License-Identifier: Apache-2.0
"""Arguments of calls: paths, files, vectors, labels and conditions; and the base of closable objects."""

from __future__ import annotations

import operator
import os
from types import TracebackType
from typing import Any, Iterable, Mapping, NoReturn, Optional, Sequence, TypeVar, Union

import numpy as np
from numpy.typing import NDArray

from heft import errors
from heft._library import Handle, Rows, call, text_bytes
from heft._record import Shown

Path = Union[str, "os.PathLike[str]"]
Buffer = Union[bytes, bytearray, memoryview]
Source = Union[Buffer, Path]
Samples = Union[Source, Sequence[Source], Mapping[str, Source]]
Vectors = Union[NDArray[np.float32], NDArray[np.float64], Sequence[float], Sequence[Sequence[float]]]
Labels = Union[str, Sequence[str], Sequence[int], NDArray[Any]]
Names = Union[str, Sequence[str]]

def is_path(value: object) -> bool:
    """Whether it is a str or an os.PathLike."""
    return isinstance(value, (str, os.PathLike))


def is_buffer(value: object) -> bool:
    """Whether it has bytes."""
    try:
        memoryview(value).release()  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def is_source(value: object) -> bool:
    """Whether it is one file, by its bytes or path, rather than several."""
    return is_path(value) or is_buffer(value)


def path_of(path: object) -> bytes:
    """A path of str or os.PathLike. TypeError for anything else."""
    encoded = os.fsencode(path)  # type: ignore[arg-type]
    if b"\0" in encoded:
        raise ValueError("embedded null byte")
    return encoded


def paths_told(told: Any, folder: object) -> Any:
    """A result with paths in a folder. JSON is UTF-8, and a folder's name may be any bytes."""
    path = path_of(folder)
    shown = path.decode(errors="replace")
    if isinstance(told, dict):
        return {name: paths_told(one, folder) for name, one in told.items()}
    if isinstance(told, list):
        return [paths_told(one, folder) for one in told]
    return os.fsdecode(path) + told[len(shown):] if isinstance(told, str) and told.startswith(shown) else told


def source_of(source: object, what: str, kind: str = "") -> tuple[Any, str]:
    """A file and its name in errors: a buffer, which is not copied, or a path, which is read.
    kind: one of heft_file_read, which has a largest size."""
    if is_path(source):
        path = path_of(source)
        return call("heft_file_read", path, kind), path.decode(errors="replace")
    if not is_buffer(source):
        raise TypeError(f"{what}: give bytes or the path of a file")
    return source, what


def sources_of(sources: object, what: str, kind: str = "") -> list[tuple[Any, str]]:
    """One file or several, with their names in errors."""
    if sources is None:
        return []
    if is_source(sources):
        return [source_of(sources, what, kind)]
    return [source_of(one, f"{what} {i}", kind) for i, one in enumerate(_iterable(sources))]


def files_of_samples(samples: object) -> list[tuple[Any, str]]:
    """The files of a mapping from names in errors, of a sequence, or the one that is given."""
    if isinstance(samples, dict):
        return [source_of(one, str(name), "samples") for name, one in dict(samples).items()]
    return sources_of(samples, "samples", "samples")


def _iterable(value: object) -> Iterable[Any]:
    if isinstance(value, Iterable):
        return value
    raise TypeError(f"'{type(value).__name__}' object is not iterable")


def text_of(text: object, what: str) -> str:
    """A str with a UTF-8 form and without a NUL. TypeError for anything else."""
    if not isinstance(text, str):
        raise TypeError(f"{what}: give a str, not {type(text).__name__}")
    text_bytes(text, what)
    return text


def number_of(value: Any, what: str) -> float:
    """A number of any type. TypeError for a text and anything else."""
    if not isinstance(value, (str, bytes, bytearray)):
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            pass
    raise TypeError(f"{what}: give a number, not {type(value).__name__}")


def list_of(values: Any, what: str) -> list[Any]:
    """A list of what has at least one element, and is no text."""
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise TypeError(f"{what}: give a list, not {type(values).__name__}")
    made = list(values)
    if not made:
        raise errors.InvalidArgument(f"{what}: give at least one")
    return made


def mapping_of(mapping: object, what: str) -> dict[Any, Any]:
    """A copy of a dict, which other code may change meanwhile. TypeError for anything else."""
    if not isinstance(mapping, dict):
        raise TypeError(f"{what}: give a dict, not {type(mapping).__name__}")
    return dict(mapping)


def _label(label: object) -> str:
    if isinstance(label, str):
        return text_of(label, "labels")
    if not isinstance(label, (bool, np.bool_)):
        try:
            return str(operator.index(label))  # type: ignore[arg-type]
        except TypeError:
            pass
    raise TypeError(f"labels are str or int, not {type(label).__name__}")


def labels_of(labels: object) -> list[str]:
    """None, one label, or a sequence of str or int. TypeError for anything else."""
    if labels is None:
        return []
    if isinstance(labels, str):
        return [text_of(labels, "labels")]
    return [_label(label) for label in _iterable(labels)]


def row_labels(labels: object, rows: int, what: str = "labels") -> Optional[list[str]]:
    """A label for each row, or None."""
    names = labels_of(labels)
    if names and len(names) != rows:
        raise errors.InvalidArgument(f"{len(names)} {what} for {rows} rows: give one for each row, or none")
    return names or None


def metadata_of(metadata: object) -> list[str]:
    """KEY=VALUE of a mapping from keys to a text or several."""
    if metadata is None:
        return []
    # No key has "=", which would end it early, nor "*".
    return [f"{text_of(key, 'metadata').replace('=', '*')}={text}"
            for key, value in mapping_of(metadata, "metadata").items() for text in labels_of(value)]


def conditions_of(where: object) -> list[str]:
    """The texts of "site=berlin" and its like, or of Conditions, one or several."""
    if where is None:
        return []
    if isinstance(where, str) or hasattr(where, "_condition"):
        where = [where]
    return [one._condition if hasattr(one, "_condition") else condition_text(one, "where")
            for one in _iterable(where)]


def condition_text(text: object, what: str) -> str:
    """A condition as users write it. What begins as JSON is no such text: the library would read it."""
    if text_of(text, what).startswith("{"):
        raise errors.InvalidArgument(f'"{text}" is not a condition: give KEY=VALUE, KEY=VALUE|VALUE or '
                                     "KEY=NUMBER..NUMBER")
    return str(text)


def matrix_of(array: object, what: str) -> tuple[NDArray[np.float32], bool]:
    """Rows of float32, and whether it was a single vector. A contiguous float32 array is not copied."""
    try:
        given = np.asarray(array)
    except (ValueError, TypeError) as error:
        raise errors.InvalidArgument(f"{what}: vectors are an array of float32 or float64: {error}") from None
    if given.dtype.kind != "f" or given.itemsize > 8:
        raise errors.InvalidArgument(f"{what}: vectors must be an array of float32 or float64")
    if given.ndim not in (1, 2):
        raise errors.InvalidArgument(f"{what}: an array of {given.ndim} dimensions; give one vector, or a "
                                     "matrix with one vector per row")
    rows = np.require(given, np.float32, ["C", "A"])
    return np.atleast_2d(rows), given.ndim == 1


def rows_of(modality: str, matrix: NDArray[np.float32]) -> tuple[Rows, Any]:
    """heft_rows of a matrix, and what must live as long."""
    name = text_bytes(modality, "modality")
    return Rows(name, matrix.ctypes.data, matrix.shape[0], matrix.shape[1]), (name, matrix)


def all_rows_of(vectors: object) -> list[tuple[Rows, Any]]:
    """heft_rows of a mapping from modalities to vectors."""
    return [rows_of(text_of(name, "vectors"), matrix_of(array, name)[0])
            for name, array in mapping_of(vectors, "vectors").items()]


class _View:
    """An array of the library's, whose owner lives as long as the view."""

    def __init__(self, owner: Handle, interface: dict[str, Any]):
        self.owner, self.__array_interface__ = owner, interface


def view_of(owner: Handle, address: Optional[int], shape: tuple[int, ...], type_: str,
            strides: Optional[tuple[int, ...]] = None) -> NDArray[Any]:
    """A read-only view of numbers that an object has, by their address, shape and NumPy's type."""
    if address is None or 0 in shape:
        return np.zeros((0,) * len(shape), type_)
    return np.asarray(_View(owner, {"version": 3, "data": (address, True), "shape": shape, "typestr":
                                    np.dtype(type_).str, "strides": strides}))


_Made = TypeVar("_Made", bound="Object")
_Opened = TypeVar("_Opened", bound="Closable")


class Object(Shown):
    """An object of the library. `_shown` has its facts for repr, to_dict and notebooks. `_NAME` names it
    in errors, "this matcher"; `_NO_COPY` says why it is not pickled or copied, and what to do instead."""

    __slots__ = ("_held", "__weakref__")
    _NAME = "this object"
    _NO_COPY = ""
    _held: Optional[Handle]

    def __init__(self, *_: object, **__: object) -> None:
        name = type(self).__name__
        makers = [f"{name}.{one}" for one, it in vars(type(self)).items() if isinstance(it, staticmethod)]
        raise TypeError(f"{name} has no constructor: call {' or '.join(makers)}")

    @classmethod
    def _of(cls: type[_Made], handle: Handle) -> _Made:
        made = cls.__new__(cls)
        made._held = handle  # pylint: disable=protected-access
        return made

    @property
    def _handle(self) -> Handle:
        handle = self._held
        if handle is None:
            raise errors.FailedPrecondition(f"{self._NAME} is closed: make another one")
        return handle

    def _shown(self) -> dict[str, Any]:
        """The facts of an open object, in a form for JSON: no secret, and nothing that takes long."""
        return {}

    def _words(self) -> str:
        """The facts in the repr of an open object."""
        return ", ".join(f"{name} {value}" for name, value in self._shown().items())

    def to_dict(self) -> dict[str, Any]:
        """Facts about the object, in a form for JSON: ids, names and sizes."""
        return {"closed": True} if self._closed else self._shown()

    def __repr__(self) -> str:
        words = ", closed" if self._closed else f" {self._words()}".rstrip()
        return f"<heft.{type(self).__name__}{words}>"

    @property
    def _closed(self) -> bool:
        return False

    def _refuse_copy(self, *_: object) -> NoReturn:
        raise TypeError(self._NO_COPY)

    def __init_subclass__(cls) -> None:
        if cls._NO_COPY:
            for name in ("__reduce__", "__reduce_ex__", "__copy__", "__deepcopy__"):
                setattr(cls, name, Object._refuse_copy)


class Closable(Object):
    """An object that can be closed. Calls that use it go on to their end."""

    __slots__ = ()

    def close(self) -> None:
        """Frees the object after the calls that use it have returned."""
        self._held = None

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        return self._closed

    @property
    def _closed(self) -> bool:
        return self._held is None

    def __enter__(self: _Opened) -> _Opened:
        self._handle  # pylint: disable=pointless-statement
        return self

    def __exit__(self, kind: Optional[type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType], /) -> None:
        self.close()
