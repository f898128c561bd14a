# SPDX-License-Identifier: Apache-2.0
"""Galleries by name: their content, removals, maintenance and copies."""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING, Any, Optional, Sequence, Union, cast

from heft import errors
from heft._library import Handle, Progress, call, given
from heft._record import warned
from heft._records import (CompactResult, CopiedGallery, DamagedBlock, GalleryInfo, PendingEnrolment,
                           PersonInfo, RemoveResult, RenewResult, RestoreResult, Template, VerifyResult)
from heft._values import (Closable, Names, Path, Source, conditions_of, labels_of, path_of, source_of,
                          sources_of, text_of)

if TYPE_CHECKING:
    from heft._inspection import Where
    from heft._matcher import Matcher
    from heft._model import Model
    from heft._trust import Trust

_PAGE = 10000  # templates that are listed at once, of an iteration
RETENTION_SECONDS: int = 3600
RETENTION_BYTES: int = 1 << 30


class Gallery(Closable):
    """Enrolled, encrypted templates in a store: FOLDER, or FOLDER:NAME for one of several.
    Each call sees the newest state. Any number of processes may read; one at a time
    changes."""

    _NO_COPY = "a Gallery is not pickled or copied: open it again by its name"

    def __init__(self, path: Path) -> None:
        """Opens an existing gallery; the first enrolment, or create, makes one. NotFound,
        DataLoss."""
        self._name, self._held = os.fsdecode(path), _unread(call("heft_gallery_open", path_of(path)))

    @property
    def _handle(self) -> Handle:
        handle = self._held
        if handle is None:
            raise errors.FailedPrecondition("this gallery is closed: open it again")
        return handle

    @property
    def _at(self) -> bytes:
        """The name of an open gallery."""
        self._handle  # pylint: disable=pointless-statement
        return os.fsencode(self._name)

    @property
    def _newest(self) -> Handle:
        """The newest generation, which is kept as long as the result."""
        return cast(Handle, call("heft_gallery_newest", self))

    def _described(self, member: str) -> Any:
        return call("heft_gallery_describe", self)[member]

    @staticmethod
    def create(path: Path, matcher: Matcher, *, retention_seconds: int = RETENTION_SECONDS,
               retention_bytes: int = RETENTION_BYTES) -> Gallery:
        """Makes an empty gallery for templates with the matcher's model and keys.
        retention_seconds, retention_bytes: how long, and up to which size, templates stay in the
        journal, from which they can be removed exactly. AlreadyExists."""
        call("heft_gallery_create", matcher, path_of(path),
             {"retention_seconds": retention_seconds, "retention_bytes": retention_bytes})
        return Gallery(path)

    @staticmethod
    def names(folder: Path) -> list[str]:
        """Names of all galleries in a store's folder."""
        return list(call("heft_gallery_names", path_of(folder)))

    @staticmethod
    def restore(snapshot: Path, folder: Path, *, matcher: Optional[Matcher] = None,
                accept_older: bool = False, trust: Optional[Trust] = None,
                receipts: Union[Source, Sequence[Source]] = (), without_receipts: bool = False, progress: Progress = None) -> RestoreResult:
        """Replaces the store in folder by that of a snapshot. People who were erased since are
        removed again, which needs the matcher.

        receipts: receipts of erasure that the replaced store lacks. accept_older: accept a copy
        that is older than the replaced store. without_receipts: accept it even if the receipts
        of a damaged store cannot be read. FailedPrecondition for an older copy, unless
        accept_older."""
        texts = [base64.b64encode(one).decode() for one, _ in sources_of(receipts, "receipt")]
        return RestoreResult(call(
            "heft_gallery_restore", path_of(snapshot), path_of(folder),
            {"accept_older": accept_older, "without_receipts": without_receipts, "receipts": texts}, matcher,
            trust, progress))

    @staticmethod
    def import_gallery(source: Path, path: Path, *, progress: Progress = None) -> CopiedGallery:
        """Copies a gallery that export wrote, or any other gallery of a store, to path.
        AlreadyExists; FailedPrecondition for a gallery older than its recorded generation."""
        return CopiedGallery(call("heft_gallery_import", path_of(source), path_of(path), progress))

    # ---- Its content.

    def __len__(self) -> int:
        return int(self._described("templates"))

    @property
    def name(self) -> str:
        """Name of the gallery: FOLDER or FOLDER:NAME."""
        return self._name

    @property
    def gallery_id(self) -> str:
        """Random id of the gallery; 32 hexadecimal digits."""
        return str(self._described("gallery_id"))

    @property
    def generation(self) -> int:
        """Number of the gallery's state; each change increases it."""
        return int(self._described("generation"))

    @property
    def key_id(self) -> str:
        """Id of the secret key of its templates."""
        return str(self._described("key_id"))

    @property
    def params_id(self) -> str:
        """Id of the encryption parameters, as FileInfo.params_id."""
        return str(self._described("params_id"))

    @property
    def server_key(self) -> str:
        """Public key of the gallery's server; it is made if there is none."""
        return str(call("heft_signing_key_public", call("heft_gallery_signer", self._at)))

    @property
    def state_file(self) -> str:
        """The path where Matcher.activate keeps the state that the key owner signed last."""
        return str(self._described("state_file"))

    def identities(self) -> list[str]:
        """Identity of each template, by position; empty for a free position."""
        return list(call("heft_gallery_identities", self._newest))

    def page(self, start: int = 0, count: int = 1000,
             where: Optional[Where] = None) -> tuple[list[Template], Optional[int]]:
        """Templates ordered by position, at most count (0: all), that meet the conditions
        ("site=berlin", "age=18..30"). Returns them and the position to continue from, or
        None."""
        found = call("heft_gallery_list", self._at,
                     {"start": start, "count": count, "where": conditions_of(where)})
        return [Template(one) for one in found["templates"]], found["next"]

    def to_dataframe(self, where: Optional[Where] = None) -> Any:
        """All templates as a pandas DataFrame."""
        import pandas  # type: ignore[import]  # pylint: disable=import-outside-toplevel

        columns: dict[str, list[Any]] = {name: [] for name in ("position", "identity", "enrolled", "expires")}
        start: Optional[int] = 0
        while start is not None:
            page, start = self.page(start, _PAGE, where)
            for name, column in columns.items():
                column += [getattr(template, name) for template in page]
        return pandas.DataFrame(columns)

    def person(self, identity: str) -> PersonInfo:
        """The templates of an identity, and the number of pending ones."""
        return PersonInfo(call("heft_gallery_person", self._at, text_of(identity, "identity")))

    def pending(self) -> list[PendingEnrolment]:
        """Pending enrolments."""
        return [PendingEnrolment(one) for one in call("heft_gallery_pending", self._at)]

    def info(self, model: Optional[Model] = None) -> GalleryInfo:
        """Ids, sizes and dates; with a model also the noise margin. Reads only a few records."""
        return warned(GalleryInfo(call("heft_gallery_stats", self._at, model)))

    # ---- Removal.

    def remove(self, matcher: Matcher, identities: Names, *, authorisation: Optional[Source] = None,
               trust: Optional[Trust] = None) -> RemoveResult:
        """Removes all templates of one or several identities for good, in one change. If trust
        lists registrars, one of them must have allowed it (SigningKey.authorise). NotFound,
        FailedPrecondition, Unavailable."""
        who = labels_of(identities)
        allowed = None if authorisation is None else source_of(authorisation, "authorisation")[0]
        return RemoveResult(call("heft_gallery_remove", matcher, self._at, who, len(who),
                                 given(authorisation=allowed), trust))

    def remove_expired(self, matcher: Matcher) -> RemoveResult:
        """Removes all templates that have expired."""
        return RemoveResult(call("heft_gallery_remove_expired", matcher, self._at))

    def reject_pending(self, matcher: Matcher, entries: Names) -> RemoveResult:
        """Deletes pending enrolments by PendingEnrolment.entry, one or several: those that are
        damaged, which the key owner cannot decide. NotFound."""
        which = labels_of(entries)
        return RemoveResult(call("heft_gallery_reject_pending", matcher, self._at, which, len(which)))

    def roll_back(self, matcher: Matcher, generation: int) -> RemoveResult:
        """Removes all templates that were enrolled after a generation. FailedPrecondition if some
        of them are older than the journal keeps: use remove instead."""
        return RemoveResult(call("heft_gallery_roll_back", matcher, self._at, generation))

    def ask_renewal(self, matcher: Matcher, *, compact: bool = False, sign: bool = True,
                    progress: Progress = None) -> bytes:
        """A signed request for KeyOwner.renew, to rebuild blocks without the removed templates.
        NotFound if there is nothing to renew."""
        options = {"compact": compact, "sign": sign}
        return bytes(call("heft_gallery_ask_renewal", matcher, self._at, options, progress))

    def renew(self, matcher: Matcher, answer: Source, trust: Trust) -> RenewResult:
        """Replaces the blocks by those in the key owner's answer, which a key owner that trust
        lists must have signed."""
        return RenewResult(call("heft_gallery_renew", matcher, self._at, source_of(answer, "renewal")[0],
                                trust))

    def receipts(self) -> list[bytes]:
        """All receipts of erasure of the gallery, oldest first."""
        return [base64.b64decode(one) for one in call("heft_gallery_receipts", self._at)]

    def erase_remains(self) -> list[bytes]:
        """Overwrites erased data that could not be overwritten before; returns the receipts that
        were due."""
        return [base64.b64decode(one) for one in call("heft_gallery_erase_remains", self._at)]

    def erasure_remains(self) -> str:
        """A sentence on the remains of erased data: where they are and for how long. Empty for a
        store in a folder."""
        return str(call("heft_gallery_erasure_remains", self._at))

    # ---- Maintenance and copies.

    def verify(self, model: Optional[Model] = None, *, progress: Progress = None) -> VerifyResult:
        """Checks all data of the gallery against each other. Reads everything."""
        return VerifyResult(call("heft_gallery_verify", self._at, model, progress))

    def damaged_blocks(self) -> list[DamagedBlock]:
        """The damaged blocks that this object has found so far."""
        return [DamagedBlock(one) for one in self._described("damaged_blocks")]

    def damaged_records(self) -> list[str]:
        """Other damaged records that this object has found so far: what each is, and what to do."""
        return list(self._described("damaged_records"))

    def compact(self, matcher: Matcher) -> CompactResult:
        """Rebuilds damaged blocks from the journal, moves the journal into the blocks, and
        overwrites deleted data."""
        return warned(CompactResult(call("heft_gallery_compact", matcher, self._at)))

    def fold(self, matcher: Matcher) -> None:
        """Moves templates that are only in the journal into the blocks."""
        call("heft_matcher_fold", matcher, self._at)

    def remember_generation(self) -> None:
        """Records the gallery's generation in this user's state folder now, so that an older copy
        is detected. Every change of a gallery does this from time to time."""
        call("heft_gallery_remember", self._at)

    def snapshot(self, out: Path, *, with_keys: bool = False,
                 progress: Progress = None) -> list[CopiedGallery]:
        """Copies the store, with all its galleries in one state, into a new folder. AlreadyExists."""
        copies = call("heft_gallery_snapshot", self._at, path_of(out), with_keys, progress)
        return [CopiedGallery(one) for one in copies["galleries"]]

    def export(self, out: Path, *, progress: Progress = None) -> CopiedGallery:
        """Copies only this gallery, into the store of a new folder. AlreadyExists."""
        return CopiedGallery(call("heft_gallery_export", self._at, path_of(out), progress))

    def rekey(self, model: Model, key: Source, *, progress: Progress = None) -> tuple[str, str]:
        """Moves all templates to another key without decrypting them, and revokes the old key.
        Returns the ids of both keys. FailedPrecondition, Cancelled, Unavailable; also if it has
        moved, but its data under the old key cannot be overwritten yet (Gallery.compact)."""
        moved = call("heft_gallery_rekey", self._newest, model, source_of(key, "re-keying key", "keys")[0],
                     progress)
        if not moved["overwritten"]:
            raise errors.Unavailable(moved["overwritten_error"])
        return moved["from"], moved["to"]

    # ---- Checks of its server.

    def make_audit_key(self) -> None:
        """Makes the secret from which the seeds of replies are derived (audit.key in the folder),
        if there is none. Signing makes it anyway. Unavailable, DataLoss."""
        call("heft_audit_key_make", self._at)

    def reveal_seed(self, reply: Source, *, server_key: str = "") -> bytes:
        """The seed of the random choices of one of this gallery's replies. Give it to the auditor
        of this reply and to no one else (SECURITY.md, "Checking the server"). server_key: the
        key that signed the reply, if not the gallery's. FailedPrecondition for another server's
        reply; NotFound without an audit key."""
        return bytes(call("heft_audit_reveal", self._at, server_key or self.server_key,
                          source_of(reply, "reply", "reply")[0]))

    def close(self) -> None:
        """Closes its files."""
        super().close()

    def _shown(self) -> dict[str, Any]:
        info = call("heft_gallery_stats", self._at, None)
        return {name: info[name] for name in ("name", "gallery_id", "model_id", "key_id", "generation",
                                              "templates", "pending")}

    def __repr__(self) -> str:
        return f"<heft.Gallery {self._name}{', closed' if self.closed else ''}>"


def _unread(opened: Handle) -> Handle:
    """What a Gallery holds between calls: no generation, so that it keeps nothing that is removed."""
    return cast(Handle, call("heft_gallery_unread", opened))


def opened_as(name: str, opened: Handle) -> Gallery:
    """The Gallery of that name, of an object of the library."""
    gallery = Gallery._of(_unread(opened))  # pylint: disable=protected-access
    gallery._name = name  # pylint: disable=protected-access
    return gallery


def address_of(gallery: Union[Gallery, Path]) -> bytes:
    """The name of a Gallery, or a name."""
    # pylint: disable-next=protected-access
    return gallery._at if isinstance(gallery, Gallery) else path_of(gallery)


def handle_of(gallery: Union[Gallery, Path], *, newest: bool = False) -> Handle:
    """The handle of a Gallery, or of one by its name. newest: a generation that is kept."""
    # pylint: disable=protected-access
    if not isinstance(gallery, Gallery):
        return cast(Handle, call("heft_gallery_open", path_of(gallery)))
    return gallery._newest if newest else gallery._handle


def set_writer_wait(seconds: int) -> None:
    """Seconds for which a change waits for other writers of a gallery, before it fails with
    Unavailable."""
    call("heft_set_writer_wait", seconds)
