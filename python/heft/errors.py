# SPDX-License-Identifier: Apache-2.0
"""Exceptions by kind. Each is a heft.Error and, where Python has a word for it, that too.

The kinds are those of the C++ library (absl::StatusCode; docs/abi.md), and of the services' errors;
``code`` is their common name. Messages say what was wrong and what to do: show them, do not compare
them.
"""

from __future__ import annotations

from typing import Optional

from heft._words import in_python


class Error(Exception):
    """Whatever HEFT refuses. ``code`` names the kind, as "INVALID_ARGUMENT". ``retry_after``: of a
    service's answer, the seconds after which asking again helps, or None. ``idempotency_key``: of an
    enrolment by a service, the key under which it may be asked once more. ``start``: of enrol_many,
    the row to go on from."""

    code = "UNKNOWN"
    retry_after: Optional[float] = None
    idempotency_key: Optional[str] = None
    start: Optional[int] = None


class InvalidArgument(Error, ValueError):
    """The caller's value is wrong: a dimension, NaN, an unknown name."""

    code = "INVALID_ARGUMENT"


class OutOfRange(Error, ValueError):
    """What is asked for lies beyond what the data allow."""

    code = "OUT_OF_RANGE"


class DataLoss(Error, ValueError):
    """Bytes that are not what they claim to be: truncated, flipped, of another kind."""

    code = "DATA_LOSS"


class FailedPrecondition(Error):
    """Good objects that do not belong together: another key, model or gallery; a closed one."""

    code = "FAILED_PRECONDITION"


class NotFound(Error, LookupError):
    """An identity, file or key that is not there."""

    code = "NOT_FOUND"


class AlreadyExists(Error):
    """What would be overwritten, or done twice, and must not be."""

    code = "ALREADY_EXISTS"


class ResourceExhausted(Error):
    """There is no more of something: see the message."""

    code = "RESOURCE_EXHAUSTED"


class BudgetSpent(ResourceExhausted):
    """The key owner's budget is spent: no more may be told of a person, or to a client."""


class Unavailable(Error, OSError):
    """The system refused (a full disk, a permission), or another process is in the way."""

    code = "UNAVAILABLE"


class Cancelled(Error):
    """The progress callback has ended the call. Ctrl-C is a KeyboardInterrupt instead."""

    code = "CANCELLED"


class PermissionDenied(Error):
    """Who asked may not do this."""

    code = "PERMISSION_DENIED"


class Unauthenticated(Error):
    """No credential, a bad one, or a request that is stale or was here before."""

    code = "UNAUTHENTICATED"


class DeadlineExceeded(Error, TimeoutError):
    """It took longer than it may."""

    code = "DEADLINE_EXCEEDED"


class Internal(Error):
    """A flaw in HEFT."""

    code = "INTERNAL"


_KINDS: dict[str, type[Error]] = {
    kind.code: kind
    for kind in (InvalidArgument, OutOfRange, DataLoss, FailedPrecondition, NotFound, AlreadyExists,
                 ResourceExhausted, Unavailable, Cancelled, PermissionDenied, Unauthenticated,
                 DeadlineExceeded, Internal)
}


# Error codes that only the services have.
_KINDS.update(STALE=Unauthenticated, REPLAYED=Unauthenticated, ABORTED=FailedPrecondition)


def error_of(code: str, message: str) -> Error:
    """The exception of a kind, in Python's words; Error itself for a kind that is not known."""
    message = in_python(message)
    kind = _KINDS.get(code)
    if kind is None:
        error = Error(message)
        error.code = code
        return error
    error = kind(message)
    error.code = code
    return error
