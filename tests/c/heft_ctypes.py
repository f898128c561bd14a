# SPDX-License-Identifier: Apache-2.0
"""Calls of the C interface as C has them: objects are handles, callbacks are C functions, and an error is what a
call has returned. Declarations and types are those of the Python package (heft._library).

heft = Library()
model = heft.call("heft_model_load", "model.heft")        # outputs are returned, errors are raised
"""
import ctypes as c
import json

from heft import _library as library
from heft._c_functions import FUNCTIONS
from heft._library import Bytes

MONITOR, INTERRUPTED, ANSWER, TAKE, SIGN = (library.CALLBACKS[f"heft_{name}"] for name in (
    "monitor", "interrupted", "answer_request", "take_reply", "sign"))


class Rows(library.Rows):
    """heft_rows of an array of floats, which it holds."""

    def __init__(self, modality, values, rows, dimension):
        super().__init__(modality, c.addressof(values), rows, dimension)
        self.held = values


class ScorePair(c.Structure):
    _fields_ = [(name, c.c_uint32) for name in ("enrolled", "probe", "enrolled_label", "probe_label", "split")] + \
        [("genuine", c.c_uint8), ("score", c.c_double), ("plain", c.c_double)]


# Outputs that are not handles. Views are pointers here.
OUTPUTS = {**library._OUTPUTS, "const double **": c.POINTER(c.c_double),
           "const heft_score_pair **": c.POINTER(ScorePair)}
handle_of = library._handle_kind


class HeftError(Exception):
    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status, self.message = status, message


class Handle(library.Handle):
    def free(self):
        self.__del__()

    def __bytes__(self):
        return library._copy(library.function("heft_buffer_bytes")(self.pointer))


class Function:
    """A declaration: its name, and (type, name) of what it takes."""

    def __init__(self, name):
        self.name, self.parameters = name, FUNCTIONS[name][1]

    def has_error(self):
        return bool(self.parameters) and self.parameters[-1] == ("heft_error **", "error")


class Library:
    def __init__(self):
        self.functions = {name: Function(name) for name in FUNCTIONS}
        self.called = set()
        self.members = set()  # of results: (function, member, type)

    def function(self, name):
        """A function as it is; from here on it counts as called."""
        self.called.add(name)
        return library.function(name)

    def status_name(self, status):
        return self.function("heft_status_name")(status).decode()

    def convert(self, kind, value, keep):
        """A Python value as an argument of type `kind`; `keep` holds what must live as long."""
        keep.append(value)
        if isinstance(value, Handle):
            return bytes_of(bytes(value), keep) if kind == "heft_bytes" else value.pointer
        if isinstance(value, str):
            return value.encode()
        if kind == "heft_bytes" and not isinstance(value, Bytes):
            return bytes_of(value, keep)
        if isinstance(value, list):  # of texts, or of rows
            array = (c.c_char_p * len(value))(*[v.encode() for v in value]) if kind != "const heft_rows *" else \
                (Rows * len(value))(*value)
            keep.append(array)
            return array
        return library.CALLBACKS[kind]() if value is None and kind in library.CALLBACKS else value

    def call(self, name, *inputs):
        """Calls with all inputs in their order; returns the outputs, one as it is."""
        declared, keep, outputs, arguments = self.functions[name], [], [], []
        inputs = list(inputs)
        error = c.c_void_p()
        for kind, parameter in declared.parameters:
            if (kind, parameter) == ("heft_error **", "error"):
                arguments.append(c.byref(error))
            elif kind in OUTPUTS or (kind.endswith("**") and handle_of(kind)):
                outputs.append((kind, OUTPUTS.get(kind, c.c_void_p)()))
                arguments.append(c.byref(outputs[-1][1]))
            else:
                arguments.append(self.convert(kind, inputs.pop(0), keep))
        if inputs:
            raise TypeError(f"{name}: {len(inputs)} arguments too many")
        answer = self.function(name)(*arguments)
        if not declared.has_error():
            return answer
        if answer != 0:
            status = self.function("heft_error_status")(error)
            message = self.function("heft_error_message")(error).decode()
            self.function("heft_error_free")(error)
            if status != answer:
                raise AssertionError(f"{name} returned {answer}, its error says {status}")
            raise HeftError(self.status_name(answer), message)
        results = [self.result(kind, value) for kind, value in outputs]
        for made in results:
            if isinstance(made, Handle) and made.kind == "result":
                self.members.update((name, *one) for one in shape(json.loads(
                    self.call("heft_result_json", made))))
        return results[0] if len(results) == 1 else tuple(results) if results else None

    def result(self, kind, value):
        if handle_of(kind):
            self.called.add(f"heft_{handle_of(kind)}_free")
            return Handle(handle_of(kind), value.value)
        if kind.endswith("**") and kind != "const char **":
            return value  # a view
        return value.value.decode() if kind == "const char **" else value.value

    def options(self, **values):
        """heft_options of Python values, by their types."""
        options = self.call("heft_options_new")
        for name, value in values.items():
            many = value if isinstance(value, (list, tuple)) else [value]
            for one in many:
                verb = "add" if many is value else "set"
                kinds = {bool: "flag", int: "integer", float: "number", str: "text", bytes: "bytes"}
                self.call(f"heft_options_{verb}_{kinds[type(one)]}", options, name, one)
        return options


def shape(value, member=""):
    """(member, type) of all in a result; what has names of its users' own is not looked into."""
    kinds = {dict: "object", list: "array", str: "text", bool: "flag", int: "integer", float: "number",
             type(None): "null"}
    yield member, kinds[type(value)]
    if member.endswith(("/metadata", "/training")):
        return
    children = value.items() if isinstance(value, dict) else []
    if isinstance(value, list):
        children = [("*", one) for one in value]
    for name, child in children:
        yield from shape(child, f"{member}/{name}")


bytes_of = library.bytes_view
