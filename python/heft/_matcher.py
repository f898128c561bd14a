# SPDX-License-Identifier: Apache-2.0
"""The server's role: it fuses, enrols and matches encrypted samples, and can read none."""

from __future__ import annotations

import builtins
import ctypes as c
from typing import TYPE_CHECKING, Any, Callable, Iterable, Mapping, Optional, Sequence, Union

from heft import errors
from heft._gallery import Gallery, address_of, handle_of
from heft._library import (Progress, call, files_of, given, made_error, options_of, output, pointer_of,
                           raise_error, run)
from heft._record import Made
from heft._records import ActivateResult, AuditFinding, EnrolManyResult, EnrolResult
from heft._shards import ShardList
from heft._trust import SignedFile, Trust
from heft._values import (Buffer, Closable, Labels, Names, Object, Path, Samples, Source, Vectors,
                          all_rows_of, conditions_of, files_of_samples, is_buffer, labels_of, metadata_of,
                          path_of, source_of, text_of)

if TYPE_CHECKING:
    from heft._client import Client
    from heft._inspection import Where
    from heft._key_owner import KeyOwner
    from heft._model import Model

_LIFE = 3600  # seconds
_ADVICE = "are enrolled: continue from it"  # of heft_enrol_many


class ExpandedKeys(Object):
    """Evaluation or enrolment keys in the form in which a Matcher uses them, in a file beside
    the key file that processes map and share (`heft-server prepare-keys`). A Matcher with
    them starts at once. Matchers keep the mapping."""

    _NO_COPY = "ExpandedKeys are not pickled or copied: open them again from their file"

    @staticmethod
    def make(model: Model, source: Path, path: Optional[Path] = None) -> ExpandedKeys:
        """Expands a key file into path, by default SOURCE.expanded, which is replaced as a whole,
        and opens it. This needs ten times the file's size in memory. No signature is checked:
        Matcher or check_signed does that. DataLoss, FailedPrecondition, Unavailable."""
        return ExpandedKeys._of(call("heft_expanded_keys_make", model, *_key_file(source, path)))

    @staticmethod
    def open(source: Path, path: Optional[Path] = None) -> ExpandedKeys:
        """Opens such a file. DataLoss if it is damaged or source now has other keys: make it
        again. FailedPrecondition if another user could have written it; NotFound, Unavailable.
        After any of these errors the key file itself can still be used."""
        return ExpandedKeys._of(call("heft_expanded_keys_open", *_key_file(source, path)))

    def check_signed(self, trust: Trust, *, kind: str = "") -> SignedFile:
        """Checks as open_signed, without the file, that a key owner that trust lists signed the
        key file. kind: "EVAL" or "ENRK"; empty: any. FailedPrecondition."""
        statement = call("heft_expanded_keys_check", self, trust, text_of(kind, "kind"))
        return SignedFile(Made({**statement, "file": b""}))

    @property
    def size(self) -> int:
        """Bytes that a process maps."""
        return int(call("heft_expanded_keys_describe", self)["size"])

    def _shown(self) -> dict[str, Any]:
        return {"size": self.size}


def _key_file(source: Path, path: Optional[Path]) -> tuple[bytes, Optional[bytes]]:
    if is_buffer(source):  # bytes would be taken for a path
        raise TypeError("source: give the path of a key file, not its bytes")
    return path_of(source), None if path is None else path_of(path)


class Matcher(Closable):
    """The server: fuses, enrols and matches encrypted data that it cannot read. It has no key
    that decrypts. Several threads may use one; each call uses all cores."""

    _NAME = "this matcher"
    _NO_COPY = "a Matcher is not pickled or copied: make one from the model and the keys"

    def __init__(self, model: Model, evaluation_keys: Union[Source, ExpandedKeys],
                 enrolment_keys: Union[None, Source, ExpandedKeys] = None, *,
                 trust: Optional[Trust] = None) -> None:
        """A model and the key owner's evaluation keys; enrolment keys, if the profile has them, to
        enrol and verify. Keys are bytes, paths or ExpandedKeys. With trust, a key owner that it
        lists must have signed them. Replies are for the signer of the keys; the signer of
        ExpandedKeys is known only with trust. DataLoss, FailedPrecondition."""
        evaluation, expanded, name = _keys(evaluation_keys, "evaluation keys")
        # Profiles of one ring have no enrolment keys, and give nothing or no bytes.
        enrolment, more, more_name = _keys(
            b"" if enrolment_keys is None else enrolment_keys, "enrolment keys")
        self._held = call("heft_matcher_create_checked", model, evaluation, enrolment, expanded, more,
                          {"evaluation_name": name, "enrolment_name": more_name}, trust)
        self._model = model

    # ---- Enrolment.

    def enrol(self, gallery: Union[Gallery, Path], samples: Samples, *, identity: str = "",
              all_pairs: bool = False, average: bool = False, metadata: Optional[Mapping[str, Names]] = None,
              expires: int = 0, authorisation: Optional[Source] = None, trust: Optional[Trust] = None,
              idempotency_key: str = "", shards: Optional[ShardList] = None,
              progress: Progress = None) -> EnrolResult:
        """Fuses encrypted samples, one file per modality, into pending templates of a gallery: all
        or none. They are not matched until they are activated. The gallery (a Gallery, or its name)
        is made if it does not exist.

        samples: a mapping from modalities to files, or files; each bytes or a path. identity:
        used instead of the samples' labels. average: one template per identity, the mean of its
        samples. metadata: stored beside each template, not encrypted. trust: if it lists
        clients, one of them must have signed the samples; its registrars authorise further
        templates of enrolled people. shards: the list of a gallery in buckets; each sample is
        enrolled in the bucket of its identity, and in each bucket all samples or none.
        AlreadyExists, FailedPrecondition, DataLoss, InvalidArgument, Unavailable, Cancelled."""
        at = address_of(gallery)
        options = {
            "identity": text_of(identity, "identity"), "all_pairs": all_pairs, "average": average,
            "metadata": metadata_of(metadata), "expires": expires, "idempotency_key": idempotency_key}
        if authorisation is not None:
            options["authorisation"] = source_of(authorisation, "authorisation")[0]
        rest = (at, files_of_samples(samples), options, trust, progress)
        if shards is None:
            return EnrolResult(call("heft_matcher_enrol", self, *rest))
        return EnrolResult(call("heft_shards_enrol", shards, self, *rest))

    def enrol_many(self, gallery: Union[Gallery, Path], vectors: Mapping[str, Vectors], labels: Labels, *,
                   client: Client, owner: Union[None, KeyOwner, Callable[[bytes], Buffer]] = None,
                   metadata: Optional[Mapping[str, Names]] = None, expires: int = 0,
                   trust: Optional[Trust] = None, start: int = 0,
                   progress: Progress = None) -> EnrolManyResult:
        """Enrols a whole gallery in one call: encrypts with client, fuses and enrols row i of all
        arrays under labels[i], thousands at a time (docs/python.md). Rows of one identity must
        be adjacent.

        owner: a KeyOwner, or a function from a request to its answer, that approves each batch;
        without one all templates stay pending. start: the row to continue from. An exception
        has that row as `start`; if it is the number of rows, only the admission is missing.
        InvalidArgument; errors of encrypt, enrol and activate."""
        at = address_of(gallery)
        rows, names = all_rows_of(vectors), labels_of(labels)
        for of, (name, _) in rows:
            if of.rows != len(names):
                raise errors.InvalidArgument(f"{name.decode()}: {of.rows} rows, and {len(names)} labels")
        options = {"metadata": metadata_of(metadata), "expires": expires, "start": start}
        left: list[int] = []
        try:
            _, done = call("heft_enrol_many", client, self, at, rows, len(rows), names, options,
                           _approver(owner), trust, progress, left=left)
        except BaseException as error:  # also Ctrl-C, and exceptions of functions
            row = left[0] if left else start
            refused = isinstance(error, errors.Error) and not callable(owner)  # by a KeyOwner, or by C
            if refused and row not in (0, start) and _ADVICE not in str(error):
                error.args = (f"{error}; the rows before row {row} (from 0) {_ADVICE}",)
            try:
                error.start = row  # type: ignore[attr-defined]
            except AttributeError:
                pass
            raise
        return EnrolManyResult(done)

    def pending(self, gallery: Union[Gallery, Path], *, templates: int = 0, bytes: int = 64 << 20,
                sign: bool = True) -> builtins.bytes:
        """A request for the admission of pending templates, for KeyOwner.approve, signed with the
        gallery's server key. templates: 0 for all; otherwise only the first ones, at most so many
        and within bytes."""
        options = {"templates": templates, "bytes": bytes, "sign": sign}
        return builtins.bytes(call("heft_matcher_pending", self, handle_of(gallery), options))

    def activate(self, gallery: Union[Gallery, Path], admission: Source, key_owner: Union[str, Trust], *,
                 progress: Progress = None) -> ActivateResult:
        """Applies the key owner's answer: activated templates join the gallery, rejected ones are
        deleted. key_owner: a Trust that lists the signer, or the signer's public key.
        FailedPrecondition, DataLoss, Unavailable, Cancelled."""
        at, answer = address_of(gallery), source_of(admission, "admission")[0]
        trust: Any = key_owner
        if isinstance(key_owner, str):
            trust = call("heft_trust_new")
            call("heft_trust_add", trust, "key-owner", "the key owner", key_owner)
        return ActivateResult(call("heft_matcher_activate", self, at, answer, trust, progress))

    # ---- Matching.

    def identify(self, gallery: Union[Gallery, Path], samples: Samples, *, row: Optional[int] = None,
                 average: bool = False, identities: bool = True, relinearise: bool = True,
                 where: Optional[Where] = None, sign: bool = True, audience: str = "", life: int = _LIFE,
                 trust: Optional[Trust] = None, progress: Progress = None) -> bytes:
        """1:N: returns the encrypted scores of a probe against every template, as bytes for the
        key owner.

        samples: as for enrol, with use "identification". row: the sample to use, if the files
        hold several. average: all samples are of one person and form one probe. identities: the
        reply names the templates. relinearise=False: less work, three times the bytes. where:
        conditions on metadata; only templates that meet all of them are searched
        ("site=berlin", "list=a|b", "age=18..30").

        The reply is signed with the gallery's server key (Gallery.server_key), valid for life
        seconds, for audience (a public key; default: the signer of the matcher's keys);
        sign=False leaves it unsigned. trust: if it lists clients, one of them must have signed
        the request; a signed request is answered once. NotFound, FailedPrecondition, DataLoss,
        InvalidArgument, Cancelled."""
        files = files_of_samples(samples)
        options = _signed(sign, audience, life, row=row, average=average, identities=identities,
                          relinearise=relinearise, where=conditions_of(where))
        return bytes(call("heft_matcher_identify", self, handle_of(gallery), files, options, trust, progress))

    def identify_shards(self, gallery: Path, shards: ShardList, samples: Samples, *,
                        row: Optional[int] = None, average: bool = False, identities: bool = True,
                        relinearise: bool = True, where: Optional[Where] = None, audience: str = "",
                        life: int = _LIFE, trust: Optional[Trust] = None,
                        progress: Progress = None) -> list[bytes]:
        """As identify, in a gallery in buckets (ShardList) of one store: returns the signed
        replies of all buckets, for KeyOwner.open and decide with shards=. Errors as identify's."""
        options = _signed(True, audience, life, row=row, average=average, identities=identities,
                          relinearise=relinearise, where=conditions_of(where))
        replies: list[bytes] = []
        call("heft_shards_identify", shards, self, path_of(gallery), files_of_samples(samples), options,
             trust, lambda _, reply: replies.append(reply), progress)
        return replies

    def identify_all(self, gallery: Union[Gallery, Path], samples: Samples, *,
                     use: Optional[Callable[[int, bytes], object]] = None, identities: bool = True,
                     relinearise: bool = True, where: Optional[Where] = None, sign: bool = True,
                     audience: str = "", life: int = _LIFE, trust: Optional[Trust] = None,
                     progress: Progress = None) -> list[bytes]:
        """As identify, for every sample of the files, which must hold equally many; the gallery is
        read once for up to 64 samples. Returns a list of replies, or calls use(row, reply) for
        each."""
        files = files_of_samples(samples)
        options = _signed(sign, audience, life, identities=identities, relinearise=relinearise,
                          where=conditions_of(where))
        replies: list[bytes] = []
        call("heft_matcher_identify_all", self, handle_of(gallery), files, options, trust,
             use or (lambda _, reply: replies.append(reply)), progress)
        return replies

    def identify_together(self, gallery: Union[Gallery, Path], probes: Sequence[Samples], *,
                          sign: bool = True, audience: str = "", life: int = _LIFE,
                          trust: Optional[Trust] = None) -> list[Union[bytes, errors.Error]]:
        """As identify, for several probes, each with its own samples. Returns a list with a reply
        for each probe, or the heft.Error of a failed one; the others are answered."""
        files = [files_of(files_of_samples(probe)) for probe in probes]
        held, matcher = handle_of(gallery), self._handle
        options = options_of(_signed(sign, audience, life))
        keep: list[Any] = []
        count, trusted = len(files), pointer_of(trust, "const heft_trust *", "trust", keep)
        replies, failures = (c.c_void_p * count)(), (c.c_void_p * count)()
        statuses, error = (c.c_int * count)(), c.c_void_p()
        status = run("heft_matcher_identify_together", (matcher, held, files, options, keep),
                     matcher.pointer, held.pointer, (c.c_void_p * count)(*[one.pointer for one in files]),
                     (c.c_void_p * count)(*[options.pointer] * count), count, trusted,
                     replies, statuses, failures, c.byref(error))
        if status != 0:
            raise_error(status, error)
        answers: Iterable[Any] = (
            output("heft_buffer **", c.c_void_p(reply)) if one == 0 else made_error(one, c.c_void_p(failure))
            for reply, one, failure in zip(replies, statuses, failures))
        return list(answers)

    def verify(self, gallery: Union[Gallery, Path], samples: Samples, identity: str, *,
               row: Optional[int] = None, average: bool = False, sign: bool = True, audience: str = "",
               life: int = _LIFE, trust: Optional[Trust] = None) -> bytes:
        """1:1: returns the encrypted scores against the templates of the claimed identity. The
        reply does not tell whether the identity is enrolled. samples have use "enrolment".
        The rest is as for identify."""
        files, claimed = files_of_samples(samples), text_of(identity, "identity")
        options = _signed(sign, audience, life, row=row, average=average)
        return bytes(call("heft_matcher_verify", self, handle_of(gallery), files, claimed, options, trust))

    def verify_all(self, gallery: Union[Gallery, Path], samples: Samples, identity: str, *,
                   use: Optional[Callable[[int, bytes], object]] = None, sign: bool = True,
                   audience: str = "", life: int = _LIFE, trust: Optional[Trust] = None,
                   progress: Progress = None) -> list[bytes]:
        """As verify, for every sample of the files, which must hold equally many, as for
        identify_all."""
        files, claimed = files_of_samples(samples), text_of(identity, "identity")
        replies: list[bytes] = []
        call("heft_matcher_verify_all", self, handle_of(gallery), files, claimed,
             _signed(sign, audience, life), trust, use or (lambda _, reply: replies.append(reply)), progress)
        return replies

    # ---- Audits.

    def audit_reply(self, copy: Union[Gallery, Path], reply: Source, seed: Source,
                    requests: Sequence[Samples], trust: Trust) -> AuditFinding:
        """Checks whether a server that trust lists computed this reply correctly.

        copy: a copy of the gallery (a Gallery or its name) from the time of the answer. seed:
        from Gallery.reveal_seed. requests: a list of requests as they were sent, which includes
        the answered one. Returns an AuditFinding, which is false if the reply is wrong.
        FailedPrecondition, DataLoss if the reply cannot be checked."""
        if isinstance(requests, (str, dict)) or is_buffer(requests) or not isinstance(requests, Iterable):
            raise TypeError("requests: give a list of requests, each with files as for Matcher.identify")
        files = [files_of(files_of_samples(request)) for request in requests]
        return AuditFinding(call("heft_audit_reply", self, handle_of(copy, newest=True), trust,
                                 source_of(reply, "reply", "reply")[0],
                                 source_of(seed, "seed", "seed")[0], files, len(files)))

    def audit_gallery(self, copy: Union[Gallery, Path], trust: Trust,
                      state: Optional[Source] = None) -> AuditFinding:
        """Checks, block by block, whether a key owner that trust lists has signed this very
        gallery. state: the admission with the signature (default: Gallery.state_file). Reads
        the whole gallery. Errors as audit_reply's."""
        given = None if state is None else source_of(state, "state", "reply")[0]
        return AuditFinding(call("heft_audit_gallery", self, handle_of(copy, newest=True), given, trust))

    def close(self) -> None:
        """Releases the keys after the calls that use them have returned."""
        super().close()

    def _shown(self) -> dict[str, Any]:
        return self._model._shown()  # pylint: disable=protected-access

    def _words(self) -> str:
        return self._model._words()  # pylint: disable=protected-access


def _keys(keys: Union[Source, ExpandedKeys], what: str) -> tuple[Any, Optional[ExpandedKeys], str]:
    """The bytes of a key file, or expanded keys, and their name in errors."""
    if isinstance(keys, ExpandedKeys):
        return None, keys, what
    data, name = source_of(keys, what, "keys")
    return data, None, name


def _approver(owner: Union[None, KeyOwner, Callable[[bytes], Buffer]]) -> Optional[Callable[[bytes], Any]]:
    """A function from a request for admission to the answer."""
    if owner is None:
        return None
    approve: Any = getattr(owner, "approve", None)
    if approve is not None:
        return lambda request: approve(request).signed_admission
    answer: Any = owner
    if not callable(answer):
        raise TypeError("owner: give a KeyOwner, or a function that answers requests for admission")
    return lambda request: source_of(answer(request), "admission")[0]


def _signed(sign: bool, audience: str, life: int, *, row: Optional[int] = None,
            **others: Any) -> dict[str, Any]:
    """The options of a probe."""
    return {"sign": sign, "audience": text_of(audience, "audience"), "life": life, **given(row=row), **others}
