# SPDX-License-Identifier: Apache-2.0
"""The key owner's role. Secrets stay in the library: no Python object has their bytes, and no KeyOwner
is pickled, copied or printed."""

from __future__ import annotations

import threading
from contextlib import contextmanager, nullcontext
from typing import Any, Callable, Iterable, Iterator, Literal, Mapping, Optional, Sequence, Union

import numpy as np
from numpy.typing import NDArray

from heft import errors
from heft._client import Encoding, Use, encrypted, encrypted_fused
from heft._library import Handle, Passphrase, Progress, call, given, interrupted, whole_of
from heft._model import Model
from heft._record import Made, warned
from heft._records import (AdmissionInquiry, Admissions, BudgetLimits, BudgetUse, CeremonyCheck,
                           ChosenThreshold, Decision, KeySet, OpenedScores, RenewedBlocks,
                           SealEvaluationKeys, SharedKey)
from heft._shards import ShardList
from heft._trust import SigningKey, Trust
from heft._values import (Closable, Labels, Names, Object, Path, Source, Vectors, is_source, labels_of,
                          number_of, path_of, paths_told, source_of, sources_of)

Replies = Union[Source, Iterable[Source]]
Compression = Literal["none", "zlib", "zstd"]
Ring = Literal["matching", "enrolment"]

_LOOK = 0.2  # seconds after which a wait looks for an interrupt


class _Lock:
    """Readers together, a writer alone. A callback of a reader's call may read, and may not write."""

    def __init__(self) -> None:
        self._free = threading.Condition()
        self._readers = 0
        self._writing = False
        self._here = threading.local()  # depth: readers of this thread

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Waits for a writer of another thread."""
        depth = getattr(self._here, "depth", 0)
        if depth == 0:
            with self._free:
                self._wait(lambda: not self._writing)
                self._readers += 1
        self._here.depth = depth + 1
        try:
            yield
        finally:
            self._here.depth = depth
            if depth == 0:
                with self._free:
                    self._readers -= 1
                    self._free.notify_all()

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Waits for all others."""
        if getattr(self._here, "depth", 0) > 0:
            raise errors.FailedPrecondition("a callback of a key owner's call cannot change that owner: do "
                                            "it when the call is back")
        with self._free:
            self._wait(lambda: not self._writing and self._readers == 0)
            self._writing = True
        try:
            yield
        finally:
            with self._free:
                self._writing = False
                self._free.notify_all()

    def _wait(self, until: Callable[[], bool]) -> None:
        while not self._free.wait_for(until, _LOOK):
            if interrupted():
                raise errors.Cancelled("interrupted")


# ---- Arguments.


@contextmanager
def asked_once(passphrase: Passphrase) -> Iterator[Passphrase]:
    """A function is asked once for several calls, after which its answer is forgotten."""
    said: list[str] = []

    def ask() -> str:
        if callable(passphrase) and not said:
            said.append(passphrase())
        return said[0]

    try:
        yield ask if callable(passphrase) else passphrase
    finally:
        said.clear()


@contextmanager
def spending() -> Iterator[None]:
    """A spent budget has its own kind of exception."""
    try:
        yield
    except errors.BudgetSpent:
        raise
    except errors.ResourceExhausted as spent:
        raise errors.BudgetSpent(str(spent)) from None


def _replies(reply: object, shards: Optional[ShardList]) -> list[tuple[Any, str]]:
    """One reply or, with a shard list, those of all buckets."""
    if shards is not None and is_source(reply):
        raise errors.InvalidArgument("shards: give a list with the replies of all buckets")
    if shards is None and not is_source(reply):
        raise TypeError("reply: give bytes or the path of a file")
    return sources_of(reply, "reply", "reply")


def _parts(parts: object) -> list[tuple[Any, str]]:
    return sources_of(parts, "part", "reply")


def _owners(owners: Sequence[int]) -> list[float]:
    return [float(whole_of(owner, "owners", 0, 2**31)) for owner in owners]


def _flooding(bits: int, openings: int) -> dict[str, Any]:
    """The options of the noise that is added; without noise none."""
    return {"security_bits": bits, "openings": openings} if bits != 0 else {}


def _rule(others: bool, **numbers: Optional[float]) -> dict[str, Any]:
    rates = {name: number_of(number, name) for name, number in given(**numbers).items()}
    return {**rates, **given(others=bool(others) or None)}


def _policy(only: Optional[Names], reject: Optional[Names], new_identities_only: bool, put_back: bool,
            entries: Optional[Names], reject_entries: Optional[Names], hold: Optional[Names],
            shards: Optional[ShardList]) -> dict[str, Any]:
    return {"only": labels_of(only), "reject": labels_of(reject),
            "new_identities_only": bool(new_identities_only), "put_back": bool(put_back),
            "entries": labels_of(entries), "reject_entries": labels_of(reject_entries),
            "hold": labels_of(hold),
            **({} if shards is None else {"shards": call("heft_shards_describe", shards)["text"]})}


# ---- Canaries.


class _Secret(Object):
    """What the server must not learn."""

    __slots__ = ()
    _NO_COPY = ("canaries are secret from the server and are not pickled or copied: keep the vectors only\n"
                "until they are encrypted, and keep the sealed file")


class CanaryPerson(_Secret):
    """A synthetic person: enrol client.encrypt_each(person.vectors, person.label)."""

    __slots__ = ("_label", "_vectors")

    def __init__(self, person: dict[str, Any], modalities: list[str]):
        self._label: str = person["label"]
        self._vectors = {name: np.array(values, np.float32)
                         for name, values in zip(modalities, person["vectors"])}

    @property
    def label(self) -> str:
        """The identity to enrol."""
        return self._label

    @property
    def vectors(self) -> dict[str, NDArray[np.float32]]:
        """One vector of unit length for each modality, as a copy."""
        return {name: values.copy() for name, values in self._vectors.items()}


class CanarySet(_Secret):
    """Canaries, and probes with answers that the key owner knows. Only the client and the key
    owner may see them."""

    __slots__ = ("_people", "_probes", "_file")

    def __init__(self, made: dict[str, Any], file: bytes):
        modalities = made["modalities"]
        self._people = [CanaryPerson(person, modalities) for person in made["people"]]
        self._probes = [CanaryPerson(person, modalities) for person in made["probes"]]
        self._file = file

    @property
    def people(self) -> list[CanaryPerson]:
        """The people to enrol, three for each triple."""
        return list(self._people)

    @property
    def probes(self) -> list[CanaryPerson]:
        """The probes, one for each triple."""
        return list(self._probes)

    @property
    def file(self) -> bytes:
        """The list for KeyOwner.register_canaries, sealed with the secret key."""
        return self._file

    def _shown(self) -> dict[str, Any]:
        return {"people": len(self._people), "probes": len(self._probes)}

    def _words(self) -> str:
        return f"of {len(self._people)} people"


# ---- The key owner.


class KeyOwner(Closable):
    """The key owner: makes the keys, opens the matcher's replies and decides. The secret key
    is in locked memory; it is not pickled, copied or printed. close() wipes it."""

    __slots__ = ("_facts", "_lock")  # no __dict__ that shows what a secret has
    _facts: dict[str, Any]
    _lock: _Lock
    _NAME = "this key owner"
    _NO_COPY = "a KeyOwner is a secret: it is not pickled or copied; load it from its file"

    @classmethod
    def _of(cls, held: Handle) -> KeyOwner:
        owner = object.__new__(cls)
        owner._held = held
        owner._facts = call("heft_key_owner_describe", held)
        owner._lock = _Lock()
        return owner

    def _read(self, name: str, *inputs: Any, other: Optional[KeyOwner] = None) -> Any:
        """A call beside other readers, and those of another owner. A spent budget has its own kind of
        exception."""

        @contextmanager
        def reading() -> Iterator[None]:
            with self._lock.reading(), other._lock.reading() if other is not None else nullcontext():
                yield

        with spending():
            return call(name, self._handle, *inputs, within=reading)

    def _write(self, name: str, *inputs: Any) -> Any:
        """A call alone."""
        return call(name, self._handle, *inputs, within=self._lock.writing)

    def _fact(self, name: str) -> Any:
        self._handle  # pylint: disable=pointless-statement
        return self._facts[name]

    # Keys.

    @staticmethod
    def generate(model: Model, folder: Optional[Path] = None, *, passphrase: Passphrase = None,
                 progress: Progress = None) -> KeyOwner:
        """Makes a new secret key. With a folder, all keys are written there (secret.key,
        encryption.key, evaluation.keys, enrolment.keys, trust.heft), and openings are recorded
        in a journal beside the secret key. Without a folder nothing is stored.

        passphrase seals the secret key: a str, or a function that returns one. AlreadyExists,
        Unavailable, Cancelled."""
        if folder is None:
            return KeyOwner._of(call("heft_key_owner_generate", model))
        with asked_once(passphrase) as asked:
            call("heft_key_set_make", model, path_of(folder), asked, progress)
            return KeyOwner._of(call("heft_key_owner_load", model, path_of(folder), asked))

    @staticmethod
    def load(model: Model, path: Path, *, passphrase: Passphrase = None) -> KeyOwner:
        """Loads the secret key of a file, or of a folder that generate wrote. The journal is
        beside it. FailedPrecondition for a file that other users can read, another model, or a
        sealed key without a passphrase; InvalidArgument for a wrong passphrase; NotFound,
        DataLoss."""
        return KeyOwner._of(call("heft_key_owner_load", model, path_of(path), passphrase))

    @property
    def key_id(self) -> str:
        """Id of the secret key, 32 hexadecimal digits."""
        return str(self._fact("key_id"))

    @property
    def public_key(self) -> str:
        """Public key of its signatures; 64 hexadecimal digits."""
        return str(self._fact("signer"))

    @property
    def journal_file(self) -> str:
        """The path of the journal of openings; empty if it is in memory only."""
        return str(self._fact("journal"))

    @property
    def shared(self) -> Optional[SharedKey]:
        """The SharedKey that says whose share this is; None for a whole key."""
        shared = self._fact("shared")
        return None if shared is None else SharedKey(shared)

    def signer(self) -> SigningKey:
        """The signing key of this key owner."""
        return SigningKey._of(self._read("heft_key_owner_signer"))  # pylint: disable=protected-access

    def encryption_key(self) -> bytes:
        """The encryption key, for clients; about 270 kB."""
        return bytes(self._read("heft_key_owner_encryption_key"))

    def evaluation_keys(self, progress: Progress = None) -> bytes:
        """The evaluation keys, for the matcher. Cancelled."""
        return bytes(self._read("heft_key_owner_evaluation_keys", progress))

    def enrolment_keys(self, progress: Progress = None) -> bytes:
        """The enrolment keys, for the matcher to enrol and verify; empty if the profile has none.
        Cancelled."""
        return bytes(self._read("heft_key_owner_enrolment_keys", progress))

    def write_public_keys(self, folder: Path, *, progress: Progress = None) -> KeySet:
        """Replaces the encryption and evaluation keys in a folder by new, signed ones: for a model
        with other rotations, or for a secret key imported from SEAL. An existing trust file is
        kept, and this key owner is added. Unavailable, Cancelled."""
        return KeySet(paths_told(self._read("heft_key_set_make_public", path_of(folder), progress), folder))

    def rekey(self, folder: Path, *, passphrase: Passphrase = None, progress: Progress = None) -> str:
        """Makes a new secret key with all its keys in a new folder, and rekeying.key for
        Gallery.rekey, and returns the path of rekeying.key. This key is revoked.
        FailedPrecondition if it is revoked already."""
        made = self._read("heft_key_set_renew", path_of(folder), passphrase, progress)
        return str(paths_told(made["rekeying_key"], folder))

    # Samples.

    def encrypt(self, modality: str, vectors: Vectors, labels: Optional[Labels] = None, *,
                use: Use = "enrolment", encoding: Encoding = "compact", average: bool = False) -> bytes:
        """As Client.encrypt, with the secret key: half the bytes and less noise."""
        return encrypted("heft_key_owner_encrypt", self, modality, vectors, labels, use, encoding, average,
                         self._lock.reading)

    def encrypt_fused(self, vectors: Mapping[str, Vectors], labels: Optional[Labels] = None, *,
                      use: Use = "enrolment", average: bool = False) -> bytes:
        """As Client.encrypt_fused, with the secret key."""
        return encrypted_fused("heft_key_owner_encrypt_fused", self, vectors, labels, use, average,
                               self._lock.reading)

    # What replies must be.

    def require_signed(self, trust: Trust) -> None:
        """From here on a reply is accepted only if a server that trust lists has signed it for
        this key owner, if it is in time, and if it is of a gallery that trust pins (when trust
        pins galleries)."""
        self._write("heft_key_owner_require_signed", trust)

    def require_signed_gallery(self) -> None:
        """From here on a reply is accepted only if it is of the state of a gallery that approve
        signed last. Replies of an older state, or of another root for the same generation, are
        refused in any case."""
        self._write("heft_key_owner_require_signed_gallery")

    def make_canaries(self, triples: int = 3, names: Optional[Names] = None) -> CanarySet:
        """Makes synthetic people in triples. Enrol them among other people, so that the server
        cannot recognise them. In each triple, the score of the third follows from the scores of
        the other two, for any probe.

        names: identities for all of them (default: random). InvalidArgument; FailedPrecondition
        if no such people fit the model's interval."""
        return CanarySet(*self._read("heft_key_owner_make_canaries", triples, {"names": labels_of(names)}))

    def require_canaries(self, file: Source) -> None:
        """From here on every identification must contain these canaries (CanarySet.file, or the
        file of `heft canary`) with the correct scores; other replies are refused. Canaries are
        never candidates. DataLoss; FailedPrecondition for canaries of another key or model."""
        data, what = source_of(file, "canaries", "canaries")
        self._write("heft_key_owner_require_canaries", data, what, 0)

    def register_canaries(self, file: Source) -> None:
        """As require_canaries, for every user of this key: the list is kept beside the key file,
        as by `heft canary --require`. FailedPrecondition also for a key without a file."""
        data, what = source_of(file, "canaries", "canaries")
        self._write("heft_key_owner_require_canaries", data, what, 1)

    # Replies.

    def open(self, reply: Replies, *, publish: int = 10, security_bits: int = 0, openings: int = 100000,
             shards: Optional[ShardList] = None, parts: Optional[Replies] = None) -> OpenedScores:
        """Publishes the best scores of a matcher's reply, rounded, at most publish of them. A
        reply can be opened once.

        Scores give templates away, and an identity has few of them, ever (scores_left, budget);
        decide publishes none. security_bits: statistical security of the noise that is added,
        30 at least, or 0 for no noise; openings: number of openings that it is computed for.
        shards: the list of a gallery in buckets; reply is then a list with the signed replies
        of all buckets, in any order. That is one search and is charged once. parts: of a shared
        key, the parts of the other owners (open_part).

        BudgetSpent; FailedPrecondition for a reply that was opened before, one of another key
        or model, or missing buckets; DataLoss, Unavailable."""
        options = {"publish": publish, **_flooding(security_bits, openings)}
        return warned(OpenedScores(self._read("heft_key_owner_open_replies", _replies(reply, shards), shards,
                                              _parts(parts), options)))

    def decide(self, reply: Replies, *, score: Optional[float] = None, fmr: Optional[float] = None,
               fpir: Optional[float] = None, likelihood: bool = False, others: bool = False,
               security_bits: int = 0, openings: int = 100000, shards: Optional[ShardList] = None,
               parts: Optional[Replies] = None) -> Decision:
        """Decides on a matcher's reply, once, and publishes no score. Give a score, or rates: a
        verification uses fmr, an identification uses fpir.

        likelihood: tell also how likely the match is, which is charged as two decisions.
        others: the identity that the probe's label names is not a candidate. security_bits,
        openings, shards: as for open; parts: made by decide_part. Errors as open's; OutOfRange,
        InvalidArgument."""
        options = {**_rule(others, score=score, fmr=fmr, fpir=fpir), **given(likelihood=bool(likelihood) or None),
                   **_flooding(security_bits, openings)}
        return warned(Decision(self._read("heft_key_owner_decide_replies", _replies(reply, shards), shards,
                                          _parts(parts), options)))

    def threshold_for(self, reply: Replies, *, score: Optional[float] = None, fmr: Optional[float] = None,
                      fpir: Optional[float] = None, others: bool = False,
                      shards: Optional[ShardList] = None) -> ChosenThreshold:
        """The threshold of this rule for this reply. Opens nothing and charges nothing."""
        return warned(ChosenThreshold(self._read(
            "heft_key_owner_threshold_replies", _replies(reply, shards), shards,
            _rule(others, score=score, fmr=fmr, fpir=fpir))))

    # Requests.

    def approve(self, request: Source, *, only: Optional[Names] = None, reject: Optional[Names] = None,
                new_identities_only: bool = False, put_back: bool = False, entries: Optional[Names] = None,
                reject_entries: Optional[Names] = None, hold: Optional[Names] = None,
                shards: Optional[ShardList] = None, parts: Optional[Replies] = None) -> Admissions:
        """Answers the request of Matcher.pending: checks the norms of all pending templates and
        approves the sound ones.

        only, reject: identities. entries, reject_entries, hold: entries of an inquiry. A new
        identity of several enrolments waits until one of them is chosen (contested). put_back: the
        gallery was restored from a copy. shards: the gallery is a bucket of this list, and
        people who belong to another bucket are rejected. parts: of a shared key, the parts of the
        other owners (approve_part). Nothing is charged. FailedPrecondition, DataLoss."""
        data, what = source_of(request, "request")
        policy = _policy(only, reject, new_identities_only, put_back, entries, reject_entries, hold, shards)
        admission, told = self._read("heft_key_owner_approve_parts", data, what, _parts(parts), policy)
        return Admissions(Made({**told, "signed_admission": admission}))

    def inquiry(self, request: Source) -> AdmissionInquiry:
        """The pending people of such a request. Opens nothing and signs nothing."""
        return AdmissionInquiry(self._read("heft_key_owner_inquiry", *source_of(request, "request")))

    def renew(self, request: Source, *, parts: Optional[Replies] = None) -> RenewedBlocks:
        """Answers the request of Gallery.ask_renewal: rebuilds blocks without the removed
        templates. The key owner sees only values that are masked by random pads. parts: of a
        shared key, the parts of the other owners (renew_part)."""
        data, what = source_of(request, "request")
        renewal, told = self._read("heft_key_owner_renew_parts", data, what, _parts(parts))
        return RenewedBlocks(Made({**told, "signed_renewal": renewal}))

    # A shared key.

    def check_ceremony(self, folder: Path) -> CeremonyCheck:
        """Checks this share, and the public keys in a folder, against the ceremony's record.
        DataLoss for a file of another ceremony; FailedPrecondition for a whole key."""
        return CeremonyCheck(self._read("heft_key_owner_check_ceremony", path_of(folder)))

    def decide_part(self, reply: Replies, owners: Sequence[int], *, score: Optional[float] = None,
                    fmr: Optional[float] = None, fpir: Optional[float] = None, likelihood: bool = False,
                    others: bool = False, security_bits: int = 0, openings: int = 100000,
                    shards: Optional[ShardList] = None) -> bytes:
        """With a shared key, the part of this owner in decide(reply, parts=...), which one other
        owner calls with the same arguments. owners: the numbers of all that open together. It
        checks, charges and records like decide. Valid for seven days.

        Errors as decide's; InvalidArgument for a wrong set of owners; FailedPrecondition for a
        whole key."""
        options = {**_rule(others, score=score, fmr=fmr, fpir=fpir), **given(likelihood=bool(likelihood) or None),
                   **_flooding(security_bits, openings), "owners": _owners(owners)}
        return bytes(self._read("heft_key_owner_decide_part", _replies(reply, shards), shards, options))

    def open_part(self, reply: Replies, owners: Sequence[int], *, publish: int = 10, security_bits: int = 0,
                  openings: int = 100000, shards: Optional[ShardList] = None) -> bytes:
        """The same for open(reply, parts=...)."""
        options = {"publish": publish, **_flooding(security_bits, openings),
                   "owners": _owners(owners)}
        return bytes(self._read("heft_key_owner_open_part", _replies(reply, shards), shards, options))

    def approve_part(self, request: Source, owners: Sequence[int], *, only: Optional[Names] = None,
                     reject: Optional[Names] = None, new_identities_only: bool = False,
                     put_back: bool = False, entries: Optional[Names] = None,
                     reject_entries: Optional[Names] = None, hold: Optional[Names] = None,
                     shards: Optional[ShardList] = None) -> bytes:
        """The same for approve(request, parts=...)."""
        data, what = source_of(request, "request")
        policy = _policy(only, reject, new_identities_only, put_back, entries, reject_entries, hold, shards)
        return bytes(self._read("heft_key_owner_approve_part", data, what,
                                {**policy, "owners": _owners(owners)}))

    def renew_part(self, request: Source, owners: Sequence[int]) -> bytes:
        """The same for renew(request, parts=...). Given once for each request, without charge."""
        data, what = source_of(request, "request")
        return bytes(self._read("heft_key_owner_renew_part", data, what, {"owners": _owners(owners)}))

    def give_rekeying_part(self, next: KeyOwner,  # pylint: disable=redefined-builtin
                           owners: Sequence[int], path: Path) -> None:
        """A gallery moves to another shared key: writes this owner's part of the re-keying key, for
        one of the other owners, who calls combine_rekeying_key. next: this owner's share of the
        new key. owners: all that make the key together. This owner's record of queries goes to
        the new share, and the old share is revoked: an owner gives one part.

        FailedPrecondition for shares that do not belong together, or a revoked one;
        InvalidArgument, AlreadyExists, DataLoss."""
        self._read("heft_key_owner_give_rekeying_part", next, {"owners": _owners(owners)}, path_of(path),
                   other=next)

    def combine_rekeying_key(self, next: KeyOwner,  # pylint: disable=redefined-builtin
                             parts: Replies, path: Path) -> None:
        """Writes the re-keying key for the server, made of the parts of the other owners and this
        one's. Revokes this owner's old share too. Errors as give_rekeying_part's;
        FailedPrecondition for parts of others."""
        self._read("heft_key_owner_combine_rekeying_key", next, _parts(parts), path_of(path), other=next)

    def give_new_shares(self, owners: Sequence[int], *, replace: Optional[int] = None,
                        newcomer: Optional[str] = None) -> bytes:
        """Gives this owner's message for new shares of the same key: for all owners, from which each
        makes its new share. owners: the numbers of those that give one, as many as open together.
        replace, newcomer: the number of an owner that is replaced, and the public key of its
        successor (make_blank_share). InvalidArgument, FailedPrecondition."""
        return bytes(self._read("heft_key_owner_give_shares",
                                {"owners": _owners(owners), **given(replace=replace, newcomer=newcomer)}))

    def take_new_share(self, messages: Replies, path: Path, *, passphrase: Passphrase = None) -> None:
        """Writes this owner's new share to a new file, and the new record beside it
        (PATH.ceremony). Once all owners have theirs, move it over the old share.
        FailedPrecondition for messages that do not belong together, or to this share;
        InvalidArgument, AlreadyExists, DataLoss, Unavailable."""
        self._read("heft_key_owner_take_share", sources_of(messages, "message", "reply"), path_of(path),
                   passphrase)

    # The budget.

    def budget(self) -> BudgetUse:
        """The use of the query budget: what was published under this key."""
        return BudgetUse(self._read("heft_key_owner_budget"))

    def set_budget(self, *, scores: Optional[int] = None, decisions: Optional[int] = None,
                   client_bits: Optional[int] = None, rejections: Optional[int] = None) -> None:
        """Raises or lowers limits; the journal records it. None leaves a limit unchanged."""
        self._write("heft_key_owner_set_budget", given(scores=scores, decisions=decisions,
                                                       client_bits=client_bits, rejections=rejections))

    def restart_journal(self, reason: str) -> None:
        """Starts a new journal of openings, and records the reason in it."""
        self._write("heft_key_owner_restart_journal", reason)

    # SEAL.

    def export_seal_secret_key(self, out: Path, *, ring: Ring = "matching",
                               progress: Progress = None) -> None:
        """Writes SEAL's SecretKey of a ring into a new file of mode 0600. The file is not
        encrypted: protect it as the key itself. AlreadyExists, Unavailable."""
        self._read("heft_seal_export_secret_key", path_of(out), {"ring": ring}, progress)

    def export_seal_evaluation_keys(self, *, compression: Compression = "zstd",
                                    progress: Progress = None) -> SealEvaluationKeys:
        """New relinearisation and Galois keys for SEAL: all that the model needs in the matching
        ring. Cancelled."""
        relinearisation, galois, told = self._read("heft_seal_export_evaluation_keys",
                                                   {"compression": compression}, progress)
        return SealEvaluationKeys(Made({**told, "relinearisation": relinearisation, "galois": galois}))

    def close(self) -> None:
        """Wipes the secret key after the calls that use it have returned."""
        super().close()

    def _shown(self) -> dict[str, Any]:
        shared = self.shared
        return {"key_id": self.key_id, "public_key": self.public_key, "journal_file": self.journal_file,
                "shared": None if shared is None else shared.to_dict()}

    def _words(self) -> str:
        return self.key_id


def default_limits(model: Model) -> BudgetLimits:
    """The limits of a model's galleries until set_budget changes them: as many scores as
    training or calibration measured, 0 without this measurement."""
    return BudgetLimits(call("heft_default_limits", model))
