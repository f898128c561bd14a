# SPDX-License-Identifier: Apache-2.0
"""Audits: which replies to check, and the services' logs."""

from __future__ import annotations

from typing import Iterable, Optional

from heft._library import call, given
from heft._records import AuditHead
from heft._values import Path, path_of


def choose_for_audit(replies: int, one_in: int) -> list[int]:
    """Chooses the replies to audit: one in one_in of them, at least one, at random, so that no
    server can foresee the choice. Indices in rising order."""
    return list(call("heft_audit_choose", replies, one_in))


def verify_audit_logs(files: Iterable[Path], *, noted: Optional[str] = None,
                      after: Optional[str] = None) -> AuditHead:
    """Checks that audit logs of the services, oldest first, form one chain.

    noted: a head noted earlier, LINES:HASH, which must be in the chain. after: the head
    before the first line, if older files are not given. DataLoss names the wrong line, or
    says that the files have none; InvalidArgument, NotFound, Unavailable."""
    paths = [path_of(file) for file in files]
    return AuditHead(call("heft_audit_verify_logs", paths, len(paths), given(noted=noted, after=after)))
