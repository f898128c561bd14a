# SPDX-License-Identifier: Apache-2.0
"""What the services' client writes into requests and reads out of answers (heft.service)."""

from __future__ import annotations

import json
import os
import secrets
import urllib.parse
from typing import Any, Iterable, Mapping, Optional, Sequence, Union, cast

from heft import errors

Path = Union[str, "os.PathLike[str]"]
File = Union[bytes, bytearray, memoryview, str, "os.PathLike[str]"]  # a str is a path
Files = Union[Mapping[str, File], Sequence[File], File]

HEFT_TYPE = "application/vnd.heft"


def quoted(text: str) -> str:
    """A text as one part of a path, or a header."""
    return urllib.parse.quote(text, safe="")


def query_of(**parameters: str) -> str:
    """What stands behind a path: those that are not empty."""
    given = {name: value for name, value in parameters.items() if value}
    return "?" + urllib.parse.urlencode(given) if given else ""


def object_of(text: bytes) -> dict[str, Any]:
    """The JSON object of an answer; an empty one of an empty answer."""
    try:
        return dict(json.loads(text)) if text else {}
    except ValueError as error:
        raise errors.DataLoss(f"the service answered what is no JSON object: {error}") from error


def _each(files: Files) -> Iterable[File]:
    """The files: a mapping's or a sequence's, or the one that was given."""
    if isinstance(files, Mapping):
        return files.values()
    if isinstance(files, (list, tuple)):
        return files
    if isinstance(files, (str, os.PathLike)) or _is_buffer(files):
        return [cast(File, files)]
    return cast(Iterable[File], files)


def _is_buffer(thing: object) -> bool:
    try:
        memoryview(cast(bytes, thing)).release()
    except TypeError:
        return False
    return True


def _bytes(file: File) -> bytes:
    if isinstance(file, (str, os.PathLike)):
        try:
            with open(file, "rb") as stream:
                return stream.read()
        except FileNotFoundError as error:
            raise errors.NotFound(str(error)) from error
        except OSError as error:
            raise errors.Unavailable(str(error)) from error
    if not _is_buffer(file):
        raise TypeError(f"a file is bytes or a path, not {type(file).__name__}")
    return bytes(file)


def form(files: Files, request: Optional[Mapping[str, Any]] = None,
         authorisation: Optional[bytes] = None) -> tuple[bytes, str]:
    """multipart/form-data of samples and what belongs to them."""
    parts = [("template", HEFT_TYPE, _bytes(file)) for file in _each(files)]
    if authorisation is not None:
        parts.append(("authorisation", HEFT_TYPE, authorisation))
    if request is not None:
        parts.append(("request", "application/json", json.dumps(request).encode()))
    boundary = secrets.token_hex(16)
    body = bytearray()
    for name, kind, data in parts:
        body += (f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"; filename="{name}"\r\n'
                 f"Content-Type: {kind}\r\n\r\n").encode() + data + b"\r\n"
    return bytes(body) + f"--{boundary}--\r\n".encode(), f"multipart/form-data; boundary={boundary}"


def refusal(status: int, text: bytes, later: Optional[str]) -> errors.Error:
    """The error of an answer, with retry_after where asking again helps."""
    try:
        said = dict(json.loads(text))
    except ValueError:
        said = {}
    code = str(said.get("code", f"HTTP_{status}"))
    message = str(said.get("message", f"the service answered {status}"))
    if code == "RESOURCE_EXHAUSTED" and later is None:
        return errors.BudgetSpent(message)
    error = errors.error_of(code, message)
    if later is not None and later.isdigit():
        error.retry_after = float(later)
    return error
