# SPDX-License-Identifier: Apache-2.0
"""Exceptions by kind, and the warning. Each is a heft.Error and, if Python has a matching class, also of that class.

The kinds are those of the C++ library (absl::StatusCode; docs/abi.md), and of the services' errors;
``code`` is their common name. Messages say what was wrong and what to do: show them, do not compare
them.
"""

from __future__ import annotations

from typing import Optional

from heft._words import in_python


class Error(Exception):
    """Base class of all errors of HEFT. ``code`` names the kind, for example "INVALID_ARGUMENT".
    ``retry_after``: seconds after which the service may be asked again, or None.
    ``idempotency_key``: the key with which a failed enrolment by a service can be repeated safely.
    ``start``: the row from which enrol_many can continue."""

    code = "UNKNOWN"
    retry_after: Optional[float] = None
    idempotency_key: Optional[str] = None
    start: Optional[int] = None


class Warning(UserWarning):  # pylint: disable=redefined-builtin
    """A result should not be relied on, or something needs attention. The result has the same text in
    a field (``warning``, ``key_warning``, ``warnings``)."""


class InvalidArgument(Error, ValueError):
    """The caller's value is wrong: a dimension, NaN, an unknown name."""

    code = "INVALID_ARGUMENT"


class OutOfRange(Error, ValueError):
    """The request is beyond what the data support."""

    code = "OUT_OF_RANGE"


class DataLoss(Error, ValueError):
    """Damaged data: truncated, changed, or of another kind than expected."""

    code = "DATA_LOSS"


class FailedPrecondition(Error):
    """Valid objects that do not fit together (another key, model or gallery), or a closed one."""

    code = "FAILED_PRECONDITION"


class NotFound(Error, LookupError):
    """An identity, file or key does not exist."""

    code = "NOT_FOUND"


class AlreadyExists(Error):
    """The call would overwrite something, or repeat an action that must happen once."""

    code = "ALREADY_EXISTS"


class ResourceExhausted(Error):
    """A limit is reached; the message names it."""

    code = "RESOURCE_EXHAUSTED"


class BudgetSpent(ResourceExhausted):
    """The key owner's query budget for a person or a client is spent."""


class Unavailable(Error, OSError):
    """The system refused (full disk, missing permission), or another process holds a lock."""

    code = "UNAVAILABLE"


class Cancelled(Error):
    """The progress callback stopped the call. Ctrl-C raises KeyboardInterrupt instead."""

    code = "CANCELLED"


class PermissionDenied(Error):
    """The caller has no permission for this."""

    code = "PERMISSION_DENIED"


class Unauthenticated(Error):
    """The credential is missing or bad, or the request is too old or a repetition."""

    code = "UNAUTHENTICATED"


class DeadlineExceeded(Error, TimeoutError):
    """The time limit was exceeded."""

    code = "DEADLINE_EXCEEDED"


class Internal(Error):
    """An error in HEFT itself."""

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
    """The exception of a code, with Python's names in the message. Error for an unknown code."""
    message = in_python(message)
    kind = _KINDS.get(code)
    if kind is None:
        error = Error(message)
        error.code = code
        return error
    error = kind(message)
    error.code = code
    return error
