# SPDX-License-Identifier: Apache-2.0
"""HEFT's C interface as its headers declare it, in ctypes: nothing here knows a function by name.

heft = Library("libheft_c.so", "include/heft/c")
model = heft.call("heft_model_load", "model.heft")        # outputs are returned, errors are raised
"""
import ctypes as c
import json
import pathlib
import re


class Bytes(c.Structure):
    _fields_ = [("data", c.c_void_p), ("size", c.c_size_t)]


class Rows(c.Structure):
    _fields_ = [("modality", c.c_char_p), ("values", c.POINTER(c.c_float)), ("rows", c.c_size_t),
                ("dimension", c.c_size_t)]


MONITOR = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_char_p, c.c_size_t, c.c_size_t)
ANSWER = c.CFUNCTYPE(c.c_int, c.c_void_p, Bytes, c.POINTER(c.c_void_p))
TAKE = c.CFUNCTYPE(c.c_int, c.c_void_p, c.c_size_t, Bytes)

# Types that are no handle's. A type with an entry in OUTPUTS is an output and returned.
TYPES = {"void": None, "int": c.c_int, "double": c.c_double, "size_t": c.c_size_t,
         "uint32_t": c.c_uint32, "int64_t": c.c_int64, "uint64_t": c.c_uint64,
         "heft_status": c.c_int, "heft_bytes": Bytes, "const heft_bytes *": c.POINTER(Bytes), "const char *": c.c_char_p,
         "const char *const *": c.POINTER(c.c_char_p), "const float *": c.POINTER(c.c_float),
         "float *": c.POINTER(c.c_float), "void *": c.c_void_p, "const heft_rows *": c.POINTER(Rows),
         "heft_monitor": MONITOR, "heft_take_reply": TAKE, "heft_answer_request": ANSWER, "heft_status *": c.POINTER(c.c_int)}
OUTPUTS = {"const char **": c.c_char_p, "int64_t *": c.c_int64, "double *": c.c_double,
           "int *": c.c_int, "size_t *": c.c_size_t}


class HeftError(Exception):
    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status, self.message = status, message


class Handle:
    """An object of HEFT's, freed with this one."""

    def __init__(self, library, kind, pointer):
        self.library, self.kind, self.pointer = library, kind, pointer

    def free(self):
        if self.pointer:
            pointer, self.pointer = self.pointer, None
            self.library.function(f"heft_{self.kind}_free")(pointer)

    def __del__(self):
        self.free()

    def __bytes__(self):
        view = self.library.function("heft_buffer_bytes")(self.pointer)
        return c.string_at(view.data, view.size) if view.size else b""


class Function:
    """A declaration: its name, and (type, name) of what it returns and takes."""

    def __init__(self, returns, name, parameters):
        self.returns, self.name, self.parameters = returns, name, parameters

    def has_error(self):
        return bool(self.parameters) and self.parameters[-1] == ("heft_error **", "error")


def handle_of(kind):
    """The kind of object that a type points to, "model" of "const heft_model *", or None."""
    found = re.fullmatch(r"(?:const )?heft_(\w+) \*(\*|const \*)?", kind)
    return found[1] if found and found[1] not in ("rows", "status", "bytes") else None


def is_output(kind):
    return kind in OUTPUTS or (kind.endswith("**") and handle_of(kind) is not None)


def ctype(kind):
    if kind in TYPES:
        return TYPES[kind]
    if kind in OUTPUTS:
        return c.POINTER(OUTPUTS[kind])
    if kind.endswith(("**", "*const *")):
        return c.POINTER(c.c_void_p)
    if handle_of(kind) is None:
        raise ValueError(f"unknown type {kind}")
    return c.c_void_p


def spell(kind):
    """A type in one spelling, whatever the blanks: "const char *const *"."""
    kind = re.sub(r"\s*\*\s*", "*", re.sub(r"\s+", " ", kind)).strip()
    return re.sub(r"(?<!\*)\*", " *", kind)


def split(declaration):
    """"const heft_model* model" -> ("const heft_model *", "model")."""
    found = re.fullmatch(r"(.*?)\s*(\w+)", declaration.strip())
    return spell(found[1]), found[2]


def parse(headers):
    text = "".join(path.read_text() for path in sorted(pathlib.Path(headers).glob("*.h")))
    text = re.sub(r"//[^\n]*", "", text)
    functions = {}
    for returns, name, parameters in re.findall(
            r"^HEFT_C_API\s+([^;()]*?)\b(heft_\w+)\(([^;]*)\);", text, re.M):
        takes = [] if parameters.strip() == "void" else [split(p) for p in parameters.split(",")]
        functions[name] = Function(spell(returns), name, takes)
    declared = len(re.findall(r"^HEFT_C_API\b", text, re.M))
    if len(functions) != declared:
        raise ValueError(f"{declared} declarations, {len(functions)} read")
    return functions


class Library:
    def __init__(self, path, headers):
        self.functions = parse(headers)
        self.called = set()
        self.members = set()  # of results: (function, member, type)
        self.loaded = c.CDLL(str(path))

    def function(self, name):
        """A function as it is; from here on it counts as called."""
        declared = self.functions[name]
        function = getattr(self.loaded, name)
        function.restype = ctype(declared.returns)
        function.argtypes = [ctype(kind) for kind, _ in declared.parameters]
        self.called.add(name)
        return function

    def status_name(self, status):
        return self.function("heft_status_name")(status).decode()

    def convert(self, kind, value, keep):
        """A Python value as an argument of type `kind`; `keep` holds what must live as long."""
        keep.append(value)
        if isinstance(value, Handle):
            return bytes_of(bytes(value), keep) if kind == "heft_bytes" else value.pointer
        if isinstance(value, str):
            return value.encode()
        if kind == "heft_bytes":
            return Bytes(None, 0) if value is None else bytes_of(value, keep)
        if kind == "const char *const *" and value is not None:
            array = (c.c_char_p * len(value))(*[v.encode() for v in value])
            keep.append(array)
            return array
        if kind == "const heft_rows *" and not isinstance(value, (c.Array, type(None))):
            array = (Rows * len(value))(*value)
            keep.append(array)
            return array
        if kind in ("heft_monitor", "heft_answer_request") and value is None:
            return TYPES[kind]()
        return value

    def call(self, name, *inputs):
        """Calls with all inputs in their order; returns the outputs, one as it is."""
        declared, keep, outputs, arguments = self.functions[name], [], [], []
        inputs = list(inputs)
        error = c.c_void_p()
        for kind, parameter in declared.parameters:
            if (kind, parameter) == ("heft_error **", "error"):
                arguments.append(c.byref(error))
            elif is_output(kind):
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
            return Handle(self, handle_of(kind), value.value)
        return value.value.decode() if kind == "const char **" else value.value

    def options(self, **values):
        """heft_options of Python values, by their types."""
        options = self.call("heft_options_new")
        for name, value in values.items():
            many = value if isinstance(value, (list, tuple)) else [value]
            for one in many:
                verb = "add" if many is value else "set"
                kinds = {bool: "flag", int: "integer", float: "number", str: "text", bytes: "bytes"}
                kind = kinds[type(one)]
                self.call(f"heft_options_{verb}_{kind}", options, name, one)
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


def bytes_of(value, keep):
    keep.append(value)
    return Bytes(c.cast(c.c_char_p(value), c.c_void_p), len(value))
