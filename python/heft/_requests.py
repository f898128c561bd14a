# SPDX-License-Identifier: Apache-2.0
"""Encodes the requests of heft.service and decodes the answers."""

from __future__ import annotations

import json
import os
import secrets
import time
import urllib.parse
from typing import Any, Iterable, Mapping, Optional, Sequence, Union, cast

from heft import errors

Path = Union[str, "os.PathLike[str]"]
File = Union[bytes, bytearray, memoryview, str, "os.PathLike[str]"]  # a str is a path
Files = Union[Mapping[str, File], Sequence[File], File]

HEFT_TYPE = "application/vnd.heft"


def quoted(text: str) -> str:
    """Percent-encodes a text as one part of a path or as a header."""
    return urllib.parse.quote(text, safe="")


def query_of(**parameters: str) -> str:
    """The query string of the parameters that are not empty."""
    given = {name: value for name, value in parameters.items() if value}
    return "?" + urllib.parse.urlencode(given) if given else ""


def utc_text(seconds: float) -> str:
    """Unix seconds as RFC 3339."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def object_of(text: bytes) -> dict[str, Any]:
    """The JSON object of an answer; an empty answer gives an empty object."""
    try:
        return dict(json.loads(text)) if text else {}
    except ValueError as error:
        raise errors.DataLoss(f"the service's answer is not a JSON object: {error}") from error


def _each(files: Files) -> Iterable[File]:
    """The files of a mapping or sequence, or the single given file."""
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
    """Body and content type of a form (multipart/form-data) with samples and their request."""
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
    """The error of an answer; it has retry_after if the service asks for a repetition."""
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
