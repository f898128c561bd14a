# SPDX-License-Identifier: Apache-2.0
"""Calls of HEFT's C library (include/heft/c), as its headers declare them.

``call`` takes the inputs of a function in their order and returns its outputs. The interpreter's lock
is free meanwhile. Errors are the exceptions of heft.errors.
"""

from __future__ import annotations

import atexit
import ctypes as c
import functools
import json
import operator
import os
import pathlib
import queue
import sys
import threading
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Callable, NoReturn, Optional, Sequence, Union

import numpy as np

from heft import __version__, errors
from heft._c_functions import FUNCTIONS
from heft._progress import bar

Passphrase = Union[None, str, Callable[[], str]]
Progress = Union[None, bool, Callable[[str, int, int, str], object]]
Within = Callable[[], "AbstractContextManager[None]"]
Work = Callable[[], tuple[Any, Optional[BaseException]]]  # a call: what it returns or raises


class Bytes(c.Structure):
    """heft_bytes."""

    _fields_ = [("data", c.c_void_p), ("size", c.c_size_t)]


class Rows(c.Structure):
    """heft_rows."""

    _fields_ = [("modality", c.c_char_p), ("values", c.c_void_p), ("rows", c.c_size_t),
                ("dimension", c.c_size_t)]


_ASK = c.CFUNCTYPE(c.c_ssize_t, c.c_void_p, c.c_void_p, c.c_size_t)
_ASKED = c.c_size_t(-1).value  # HEFT_ASKED


class Asked(c.Structure):
    """heft_passphrase."""

    _fields_ = [("ask", _ASK), ("user", c.c_void_p)]


_POINTER = c.POINTER(c.c_void_p)
CALLBACKS: dict[str, Any] = {
    "heft_monitor": c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_char_p, c.c_size_t, c.c_size_t, c.c_char_p),
    "heft_take_reply": c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_size_t, Bytes),
    "heft_interrupted": c.CFUNCTYPE(c.c_int),
    "heft_sign": c.CFUNCTYPE(c.c_int, c.c_void_p, Bytes, c.c_void_p, c.c_void_p),
    "heft_answer_request": c.CFUNCTYPE(c.c_int, c.c_void_p, Bytes, _POINTER),
}
_TYPES: dict[str, Any] = {
    "void": None, "int": c.c_int, "double": c.c_double, "size_t": c.c_size_t, "uint32_t": c.c_uint32,
    "int64_t": c.c_int64, "uint64_t": c.c_uint64, "heft_status": c.c_int, "heft_bytes": Bytes,
    "const char *": c.c_char_p, "const char *const *": c.POINTER(c.c_char_p),
    "const heft_rows *": c.POINTER(Rows), "const heft_bytes *": c.POINTER(Bytes),
    "const heft_score_pair *": c.c_void_p,
}
_OUTPUTS: dict[str, Any] = {
    "const char **": c.c_char_p, "int64_t *": c.c_int64, "uint64_t *": c.c_uint64, "double *": c.c_double,
    "int *": c.c_int, "size_t *": c.c_size_t, "uint32_t *": c.c_uint32,
    "const double **": c.c_void_p, "const heft_score_pair **": c.c_void_p,  # addresses of views
}
_WHOLE = {"int": (-2**31, 2**31 - 1), "uint32_t": (0, 2**32 - 1), "size_t": (0, 2**64 - 1),
          "int64_t": (-2**63, 2**63 - 1), "uint64_t": (0, 2**64 - 1)}
_CANCELLED, _UNAVAILABLE, _OUT_OF_MEMORY = 1, 14, 100
_LOST = 0.2  # seconds after which a thread looks whether a signal took away what it waits for


def _find() -> c.CDLL:
    """The library beside this package, or else the system's. Only the same version has all functions."""
    beside = pathlib.Path(__file__).with_name("libheft_c.so.1")
    library = c.CDLL(str(beside) if beside.exists() else "libheft_c.so.1")
    library.heft_version.restype = c.c_char_p
    found = library.heft_version().decode()
    if found != __version__:
        raise ImportError(f"libheft_c.so.1 is version {found}, and this package is version {__version__}: "
                          "install the same version of both")
    return library


_LIBRARY = _find()


@functools.lru_cache(maxsize=None)
def _handle_kind(type_: str) -> Optional[str]:
    """"model" of "const heft_model *" and of "heft_model **"."""
    words = type_.removeprefix("const ").removesuffix("*const *").rstrip("* ")
    plain = words.startswith("heft_") and f"{words} *" not in _TYPES and f"const {words} *" not in _TYPES
    return words[5:] if plain and type_.endswith("*") and words != "heft_status" else None


def _c_type(type_: str) -> Any:
    if type_ in _TYPES:
        return _TYPES[type_]
    if type_ in CALLBACKS:
        return CALLBACKS[type_]
    return c.c_void_p  # a handle, an array, or the place of an output


# Functions that neither take long nor wait, beside those whose declaration says so; and exceptions: of
# galleries by their names, those that run a program or do long sums, and of the thread that makes calls.
_SHORT = ("heft_options_", "heft_files_", "heft_file_")
_LONG = ("heft_gallery_", "heft_audit_key_", "heft_draw_", "heft_check_drawing", "heft_seal_",
         "heft_give_way")
_SHORT_KINDS = ("options", "result", "buffer", "model", "models", "trust", "shards", "expanded_keys", "error")
_PLACES = ("path", "folder", "source", "out", "files")  # names of what is in the file system


def _is_short(type_: str, name: str) -> bool:
    """Whether a function with this parameter can be short: it is small, and neither a callback, samples,
    keys, a gallery nor a file."""
    kind = _handle_kind(type_)
    known = kind in _SHORT_KINDS if kind else type_ in _WHOLE or type_ in _OUTPUTS or type_ in (
        "double", "const char *", "const char *const *")
    return known and name not in _PLACES


class _Function:
    """A declared function: what it returns, and (type, name) of what it takes."""

    def __init__(self, name: str):
        returns, self.parameters = FUNCTIONS[name]
        self.raw = getattr(_LIBRARY, name)
        self.raw.restype = _c_type(returns)
        self.raw.argtypes = [_c_type(type_) for type_, _ in self.parameters]
        self.fails = bool(self.parameters) and self.parameters[-1] == ("heft_error **", "error")
        self.short = not self.fails or name.startswith(_SHORT) or (
            not name.startswith(_LONG) and all(_is_short(*parameter) for parameter in self.parameters))


_functions: dict[str, _Function] = {}


def _declared(name: str) -> _Function:
    found = _functions.get(name)
    if found is None:
        found = _functions[name] = _Function(name)
    return found


def function(name: str) -> Any:
    """The function of ctypes, for calls with arrays of outputs."""
    return _declared(name).raw


# Classes of other names than the library's.
_CLASSES = {"dataset": "TrainingData", "scores": "ScoreTable", "shards": "ShardList"}


def _class_of(kind: str) -> str:
    return "heft." + _CLASSES.get(kind, kind.title().replace("_", ""))


class Handle:
    """An object of the library. It is freed with this one, so after the calls that use it."""

    def __init__(self, kind: str, pointer: Optional[int]):
        self.kind, self.pointer = kind, pointer
        self._free = function(f"heft_{kind}_free")

    def __del__(self) -> None:
        pointer, self.pointer = getattr(self, "pointer", None), None
        if pointer:
            self._free(pointer)

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"a {_class_of(self.kind)} is not pickled or copied: keep its file, or what it is "
                        "made of")


# ---- Inputs.


def bytes_view(data: Any, keep: list[Any]) -> Bytes:
    """A heft_bytes of any buffer, which is not copied. `keep` holds what must live as long."""
    if data is None:
        return Bytes(None, 0)
    if isinstance(data, bytes):
        keep.append(data)
        return Bytes(c.cast(c.c_char_p(data), c.c_void_p), len(data))
    view = np.frombuffer(memoryview(data).cast("B"), dtype=np.uint8)
    keep.append(view)  # NumPy holds the buffer
    return Bytes(view.ctypes.data or None, view.size)


def _copy(view: Bytes) -> bytes:
    return c.string_at(view.data, view.size) if view.size else b""


def utf8(text: str, what: str) -> bytes:
    """The UTF-8 form of a text. A subclass of str may have another encode."""
    try:
        return str.encode(text)
    except UnicodeEncodeError:
        raise errors.InvalidArgument(
            f"{what}: a text has no UTF-8 form (it contains half of a surrogate pair)") from None


def text_bytes(value: Union[str, bytes], name: str) -> bytes:
    """A text in UTF-8. It has no NUL, which would end it."""
    if not isinstance(value, (str, bytes)):
        raise _wrong("const char *", name, value)
    text = utf8(value, name) if isinstance(value, str) else value
    if b"\0" in text:
        raise errors.InvalidArgument(f"{name}: a text contains a NUL character")
    return text


def given(**values: Any) -> dict[str, Any]:
    """The options that are not None."""
    return {name: value for name, value in values.items() if value is not None}


def options_of(values: dict[str, Any]) -> Handle:
    """heft_options of the values, by their types. The elements of a list are added."""
    options: Handle = call("heft_options_new")
    for name, value in values.items():
        many = isinstance(value, (list, tuple))
        if many and not value:
            call("heft_options_set_empty_list", options, name)
        for one in value if many else [value]:
            if one is None:
                raise TypeError(f"{name}: give a value, not None")
            if isinstance(one, (bool, np.bool_)):
                call("heft_options_set_flag", options, name, int(one))
            elif isinstance(one, str):
                call(f"heft_options_{'add' if many else 'set'}_text", options, name, text_bytes(one, name))
            elif isinstance(one, (float, np.floating)) or many:
                call(f"heft_options_{'add' if many else 'set'}_number", options, name, float(one))
            elif isinstance(one, (int, np.integer)):
                number = whole_of(one, name, -2**63, 2**64 - 1)
                kind = "integer" if number < 2**63 else "unsigned"
                call(f"heft_options_set_{kind}", options, name, number)
            else:
                call("heft_options_set_bytes", options, name, one)
    return options


def files_of(files: Sequence[tuple[Any, str]]) -> Handle:
    """heft_files of (bytes, name in errors)."""
    made: Handle = call("heft_files_new")
    for data, name in files:
        call("heft_files_add", made, data, name)
    return made


def _wrong(type_: str, name: str, value: object) -> TypeError:
    """The error of an argument of another type. The class says enough of one that C names by its kind."""
    kind = _handle_kind(type_)
    wanted = _class_of(kind) if kind else "str" if type_ == "const char *" else "value"
    said = "" if name == kind else f"{name}: "
    return TypeError(f"{said}give a {wanted}, not {type(value).__name__}")


def pointer_of(value: Any, type_: str, name: str, keep: list[Any]) -> Optional[int]:
    """The pointer to an object. `keep` holds what must live as long."""
    if type_ == "const heft_options *" and isinstance(value, dict):
        value = options_of(value)
    elif type_ == "const heft_files *" and isinstance(value, (list, tuple)):
        value = files_of(value)
    if value is not None and not isinstance(value, Handle):
        value = getattr(value, "_handle", value)
    keep.append(value)
    if value is None:
        return None
    if not isinstance(value, Handle) or value.kind != _handle_kind(type_):
        raise _wrong(type_, name, value)
    return value.pointer


def _input(type_: str, name: str, value: Any, watch: "Watch", keep: list[Any]) -> Any:
    if type_ == "const char *":
        return None if value is None else text_bytes(value, name)
    if type_ == "heft_bytes":
        return watch.passphrase(value, keep) if name == "passphrase" else bytes_view(value, keep)
    if type_ == "const char *const *":
        return None if value is None else (c.c_char_p * len(value))(*[text_bytes(one, name) for one in value])
    if type_ == "const heft_rows *":
        keep.append(value)
        return (Rows * len(value))(*[rows for rows, _ in value])
    if type_ == "const heft_bytes *":
        return None if value is None else (Bytes * len(value))(*[watch.passphrase(one, keep) for one in value])
    if type_ == "heft_monitor":
        watch.take(value)
        return CALLBACKS[type_](watch.monitor)
    if type_ == "heft_take_reply":
        return CALLBACKS[type_](lambda _, number, data: watch.pass_on(value, number, _copy(data)))
    if type_ == "heft_sign":
        return value
    if type_ == "heft_answer_request":
        return CALLBACKS[type_]() if value is None else CALLBACKS[type_](
            lambda _, data, out: watch.answer(value, data, out))
    if type_.endswith("*const *") and _handle_kind(type_) is not None:
        return (c.c_void_p * len(value))(*[pointer_of(one, type_, name, keep) for one in value])
    if _handle_kind(type_) is not None:
        return pointer_of(value, type_, name, keep)
    return whole_of(value, name, *_WHOLE[type_]) if type_ in _WHOLE else value


def whole_of(value: Any, name: str, least: int, most: int) -> int:
    """A whole number of a type. ctypes would cut it off."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name}: give a whole number, not {type(value).__name__}") from None
    if not least <= number <= most:
        raise TypeError(f"{name}: {number} is not in [{least}, {most}]")
    return number


def signer_of(function: Callable[[bytes], Any]) -> Any:
    """A heft_sign, for any thread. It must live as long as the library can call it."""
    if not callable(function):
        raise TypeError("sign: a function from a message to its Ed25519 signature")

    def sign(_: None, message: Bytes, signature: int, reason: int) -> int:
        try:
            made = bytes(memoryview(function(_copy(message))))
            if len(made) != 64:
                raise ValueError("it must return a signature of 64 bytes")
            c.memmove(signature, made, len(made))
            return 0
        except BaseException as error:  # pylint: disable=broad-except
            why = str(error).encode(errors="replace")[:255]  # HEFT_C_REASON, with a zero byte
            c.memmove(reason, why, len(why))
            return _UNAVAILABLE
    return CALLBACKS["heft_sign"](sign)


# ---- Progress and interrupts.


class Watch:
    """What a call reports, and whether it goes on. The user's functions run in the caller's thread:
    in the main thread a call runs in a thread of its own, so that signals arrive here meanwhile."""

    def __init__(self) -> None:
        self.error: Optional[BaseException] = None  # what a function or a signal has raised
        self._progress: Optional[Callable[[str, int, int, str], object]] = None
        self._bar: Any = None
        self.results: list[tuple[Any, Optional[BaseException]]] = []  # what the call returns or raises
        self._process = 0
        self._sent = False  # to the worker
        self._asks: Optional[queue.SimpleQueue[Any]] = None  # questions to the caller's thread
        self._answers: Any = None  # where an answer goes, while its function runs

    def take(self, progress: Progress) -> None:
        """Progress as the user gave it: a function, True for a bar, or nothing."""
        if progress is True:
            self._progress = self._bar = bar()
        elif callable(progress):
            self._progress = progress
        elif progress is not None and progress is not False:
            raise errors.InvalidArgument(
                "progress: give a function of (what, done, total, note), or True for a bar")

    def close(self) -> None:
        """Ends the bar."""
        if self._bar is not None:
            self._bar.close()

    def monitor(self, _: Any, what: bytes, done: int, total: int, note: bytes) -> int:
        """A heft_monitor."""
        if self.error is None and total > 0 and self._progress is not None:
            said = self._ask(self._progress, what.decode(), done, total, note.decode())
            if said is False:
                return 1
        return 0 if self.error is None else 1

    def pass_on(self, function: Callable[..., object], *arguments: Any) -> int:
        """Calls a function of the user's; _CANCELLED if it raises."""
        if self.error is None:
            self._ask(function, *arguments)
        return 0 if self.error is None else _CANCELLED

    def answer(self, function: Callable[..., object], data: Bytes, out: Any) -> int:
        """A heft_answer_request: the function returns bytes."""
        said = self._ask(function, _copy(data)) if self.error is None else None
        if said is None:
            return _CANCELLED
        return int(_declared("heft_buffer_copy").raw(bytes_view(said, []), out, None))

    def passphrase(self, given: Passphrase, keep: list[Any]) -> Bytes:
        """heft_asked of a text, or of a function, which is called if the call needs its answer."""
        if given is None:
            return Bytes(None, 0)
        if not isinstance(given, str) and not callable(given):
            raise TypeError("passphrase: give a str, or a function that returns one")
        if isinstance(given, str):
            utf8(given, "passphrase")
        asked = Asked(_ASK(lambda _, text, room: self._write_passphrase(given, text, room)))
        keep.append(asked)
        return Bytes(c.addressof(asked), _ASKED)

    def _write_passphrase(self, given: Passphrase, text: int, room: int) -> int:
        said = self._ask(given) if callable(given) else given
        if self.error is not None:
            return -1
        try:
            secret = bytearray(said, "utf-8")  # type: ignore[call-overload]
        except (TypeError, UnicodeEncodeError):
            self.error = errors.InvalidArgument(
                "the function for the passphrase did not return a str with a UTF-8 form")
            return -1
        if len(secret) <= room:
            c.memmove(text, (c.c_char * len(secret)).from_buffer(secret), len(secret))
        length = len(secret)
        secret[:] = bytes(length)
        return length

    def _ask(self, function: Callable[..., object], *arguments: Any) -> object:
        """The function's answer, in the caller's thread. What it raises ends the call."""
        if self._asks is None:
            return self._try(function, arguments)
        answers: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._asks.put((function, arguments, answers))
        while self.error is None:  # a signal can take the question or the answer away
            try:
                inner, said = answers.get(timeout=_LOST)
            except queue.Empty:
                continue
            if inner is None:
                return said
            inner.do(said)  # a call of the function's, in the thread of the call that it belongs to
        return None

    def _try(self, function: Callable[..., object], arguments: tuple[Any, ...]) -> object:
        try:
            return function(*arguments)
        except BaseException as error:  # pylint: disable=broad-except
            self.error = error if self.error is None else self.error
            return None

    def run(self, work: Work) -> None:
        """Has the worker do a call of the main thread, and answers its questions until it is back.

        A signal can raise an exception after any call, function's start and jump back. The inner
        handlers have none, and the outer one is for the jump."""
        outer = _Worker.waits
        if outer is not None and (outer.results or outer._process != os.getpid()):
            outer = None  # left early, or the parent's
        try:
            jobs = _Worker.jobs() if outer is None else outer._answers
        except RuntimeError:  # no thread can start
            jobs = None
        if jobs is None:  # or a signal's handler calls: the worker has no time for it
            self.do(work)
            return
        self._asks, self._process = queue.SimpleQueue(), os.getpid()
        while True:
            try:
                while True:
                    try:
                        _Worker.waits = self
                        self._serve(self._asks, jobs, work)
                        _Worker.waits = outer
                        return
                    except BaseException as error:  # pylint: disable=broad-except
                        self.error = error if self.error is None else self.error
            except BaseException as error:  # pylint: disable=broad-except
                self.error = error if self.error is None else self.error

    def _serve(self, asks: queue.SimpleQueue[Any], jobs: queue.SimpleQueue[Any], work: Work) -> None:
        """Answers questions until the call is back. It goes on where a signal has ended it."""
        self._answers = None
        if not self._sent:
            jobs.put((self, work))
            self._sent = True
        while not self.results:
            if os.getpid() != self._process:
                self.results.append((None, errors.FailedPrecondition(
                    "a child of fork cannot go on with its parent's call")))
                return
            try:
                asked = asks.get(timeout=_LOST)
            except queue.Empty:
                continue
            if asked is not None:
                function, arguments, self._answers = asked
                said = self._try(function, arguments)
                answers, self._answers = self._answers, None
                answers.put((None, said))

    def do(self, work: Work) -> None:
        """Does the call in this thread, unless that is done."""
        outer: Optional[Watch] = getattr(_Worker.here, "watch", None)
        if self.results:
            return
        _Worker.here.watch = self
        try:
            self.results.append(work() if self.error is None else (None, self.error))
        except BaseException as error:  # pylint: disable=broad-except
            self.results.append((None, error))
        finally:
            _Worker.here.watch = outer
            if self._asks is not None:
                self._asks.put(None)


class _Worker:
    """Does the calls of the main thread, one after the other, in a thread."""

    _jobs: Optional[queue.SimpleQueue[tuple[Watch, Work]]] = None
    waits: Optional[Watch] = None  # the innermost call for which the main thread waits
    here = threading.local()  # watch: of the call that runs in this thread

    @classmethod
    def jobs(cls) -> queue.SimpleQueue[tuple[Watch, Work]]:
        """What the worker of this process does. A child of fork makes another."""
        if cls._jobs is None:
            jobs: queue.SimpleQueue[tuple[Watch, Work]] = queue.SimpleQueue()
            threading.Thread(target=cls._do, args=(jobs,), name="heft", daemon=True).start()
            cls._jobs = jobs
        return cls._jobs

    @classmethod
    def forget(cls) -> None:
        """For a child of fork, which has no threads."""
        cls._jobs = None

    @staticmethod
    def _do(jobs: queue.SimpleQueue[tuple[Watch, Work]]) -> None:
        while True:
            Watch.do(*jobs.get())


os.register_at_fork(after_in_child=_Worker.forget)


def interrupted() -> bool:
    """Whether the call that runs in this thread is to end."""
    watch: Optional[Watch] = getattr(_Worker.here, "watch", None)
    return watch is not None and watch.error is not None


_interrupted_check = CALLBACKS["heft_interrupted"](interrupted)
function("heft_set_interrupted_check")(_interrupted_check)
# A thread that waits while the interpreter ends cannot ask it any more.
atexit.register(function("heft_set_interrupted_check"), CALLBACKS["heft_interrupted"]())


# ---- Calls.


def raise_error(status: int, error: c.c_void_p) -> NoReturn:
    """Raises the exception of a heft_error, and frees it."""
    raise made_error(status, error)


def made_error(status: int, error: c.c_void_p) -> Exception:
    """The exception of a heft_error, which is freed."""
    message = (function("heft_error_message")(error) or b"").decode(errors="replace")
    function("heft_error_free")(error)
    if status == _OUT_OF_MEMORY:
        return MemoryError(message)
    return errors.error_of(function("heft_status_name")(status).decode(), message)


def output(type_: str, value: Any) -> Any:
    """What an output is in Python: bytes, JSON, a handle, a text or a number."""
    kind = _handle_kind(type_)
    if type_ == "const char **":
        return None if value.value is None else value.value.decode()
    if kind is None:
        return value.value
    handle = Handle(kind, value.value)
    if kind == "buffer":
        return _copy(function("heft_buffer_bytes")(handle.pointer))
    if kind == "result":
        return json.loads(call("heft_result_json", handle))
    return handle


def call(name: str, *inputs: Any, left: Optional[list[Any]] = None,
         within: Within = nullcontext) -> Any:
    """Calls a function with all its inputs, in their order, and returns its outputs: none, one, or a
    tuple. A monitor or another callback takes one input; its `void *user` takes none. left: takes the
    numbers among the outputs, also of a call that fails. within: what holds during the call, and is
    entered and left where no signal arrives."""
    declared = _declared(name)
    watch = Watch()
    keep: list[Any] = []  # what must live as long as the call
    outputs: list[tuple[str, Any]] = []
    arguments: list[Any] = []
    error = c.c_void_p()
    absent: dict[str, str] = {}  # types of inputs that are None, by name
    rest = iter(inputs)
    for type_, parameter in declared.parameters:
        if parameter == "error" and type_ == "heft_error **":
            arguments.append(c.byref(error))
        elif parameter == "user" and type_ == "void *":
            arguments.append(None)
        elif type_ in _OUTPUTS or (type_.endswith("**") and _handle_kind(type_) is not None):
            outputs.append((type_, _OUTPUTS.get(type_, c.c_void_p)()))
            arguments.append(c.byref(outputs[-1][1]))
        else:
            value = next(rest)
            if value is None:
                absent[parameter] = type_
            arguments.append(_input(type_, parameter, value, watch, keep))
    # `keep` has them until the call is back. An exception that is kept holds this frame, and would
    # otherwise hold the state of a gallery, for which a removal waits.
    inputs, rest, value = (), iter(()), None

    def work() -> tuple[Any, Optional[BaseException]]:
        with within():
            status = declared.raw(*arguments)
        keep.clear()  # not earlier, even if a signal has ended the wait for this call
        arguments.clear()
        if left is not None:
            left.extend(value.value for type_, value in outputs if type_ in _OUTPUTS)
        if not declared.fails:
            return status.decode() if isinstance(status, bytes) else status, None
        if status != 0:
            raised = made_error(status, error)
            null = str(raised).removesuffix(" is NULL")
            return None, _wrong(absent[null], null, None) if null in absent else raised
        results = [output(type_, value) for type_, value in outputs]
        return results[0] if len(results) == 1 else tuple(results) if results else None, None

    try:
        return _run(declared, work, watch)
    finally:
        watch.close()


def run(name: str, keep: object, *arguments: Any) -> Any:
    """Calls a function of ctypes with all its arguments as they are, and returns what it returns.
    keep: what must live as long as the call."""
    declared = _declared(name)
    return _run(declared, lambda: (declared.raw(*arguments), None if keep else None), Watch())


def _run(declared: _Function, work: Work, watch: Watch) -> Any:
    main = threading.current_thread() is threading.main_thread()
    if declared.short or not main or sys.is_finalizing():  # then the worker does not run any more
        value, error = work()
    else:
        watch.run(work)
        value, error = watch.results[0]
    if watch.error is not None or error is not None:
        raise error if watch.error is None else watch.error  # type: ignore[misc]
    return value
