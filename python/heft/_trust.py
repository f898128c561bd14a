# SPDX-License-Identifier: Apache-2.0
"""Signatures: signing keys, trust files, signed files and authorisations."""

from __future__ import annotations

import threading
from typing import Any, Callable, Final, Literal, Optional, Sequence, Union

from heft import errors
from heft._library import Passphrase, call, signer_of
from heft._record import Made, Record, field
from heft._records import ErasureReceipt
from heft._values import (Buffer, Closable, Object, Path, Samples, Source, files_of_samples, labels_of,
                          path_of, source_of, text_of)

Role = Literal["key-owner", "server", "client", "registrar", "trainer"]
Act = Literal["add", "replace", "remove"]

_gallery_signers: list[Any] = []  # the library calls them until the process ends
_changing = threading.RLock()  # held by a change of a Trust


class SignedFile(Record):
    """The content of a signed file, its signer and its audience."""

    file: Final[bytes] = field("The file that was signed.")
    kind: Final[str] = field("Kind of the file, four letters.")
    role: Final[Role] = field("Role of the signer.")
    signer: Final[str] = field("Public key of the signer, 64 hexadecimal digits.")
    signer_name: Final[str] = field("Name of the signer in the given trust file, if any.")
    audience: Final[str] = field("Public key of the intended reader; empty: for any reader.")
    subject: Final[str] = field("For a reply, the public key of the client that asked; empty: unknown.")
    gallery: Final[str] = field("Id of the gallery; empty: of none.")
    generation: Final[int] = field("Generation of the gallery.")
    nonce: Final[str] = field("Random nonce of the request; 32 hexadecimal digits.")
    request: Final[str] = field("For a reply, request_digest of its request; otherwise empty.")
    issued: Final[int] = field("Unix seconds of the signature.")
    expires: Final[int] = field("Unix seconds of the end; 0: no end.")


class SigningKey(Closable):
    """An Ed25519 key pair, with the secret key in locked memory. It is not pickled, copied or
    printed."""

    __slots__ = ()
    _NAME = "this signing key"
    _NO_COPY = "a SigningKey is a secret: it is not pickled or copied; save it to a file"

    @staticmethod
    def generate() -> SigningKey:
        """Makes a new key pair."""
        return SigningKey._of(call("heft_signing_key_generate"))

    @staticmethod
    def load(path: Path, passphrase: Passphrase = None) -> SigningKey:
        """Loads a file that save wrote. passphrase: a str, or a function that returns one and is
        called if the file is sealed. FailedPrecondition for a file that other users can read,
        InvalidArgument for a wrong passphrase, DataLoss, NotFound."""
        return SigningKey._of(call("heft_signing_key_load", path_of(path), passphrase))

    @staticmethod
    def outside(public_key: str, sign: Callable[[bytes], Buffer]) -> SigningKey:
        """A key in a token or a service: sign(message) returns the Ed25519 signature of 64 bytes,
        which is checked with the public key. It cannot be saved. Calls that need it raise
        Unavailable if sign fails."""
        signer = signer_of(sign)
        held = call("heft_signing_key_outside", public_key, signer)
        held.signer = signer  # which it calls
        return SigningKey._of(held)

    def save(self, path: Path, passphrase: Passphrase = None) -> None:
        """Writes the key with mode 0600, sealed if a passphrase is given. AlreadyExists."""
        call("heft_signing_key_save", self, path_of(path), passphrase)

    @property
    def public_key(self) -> str:
        """The public key, 64 hexadecimal digits."""
        return str(call("heft_signing_key_public", self))

    def sign(self, file: Source, role: Role, *, audience: str = "", gallery: str = "",
             life: int = 3600) -> bytes:
        """Signs one of HEFT's files. role: key-owner, server, client, registrar or trainer.
        audience: a public key, or empty for any reader. life: seconds; 0: without end.
        InvalidArgument."""
        data, _ = source_of(file, "file")
        options = {"role": role, "audience": audience, "gallery": gallery, "life": life}
        return bytes(call("heft_signing_key_sign", self, data, options))

    def authorise(self, gallery: str, identity: str, act: Act = "add", *, life: int = 86400) -> bytes:
        """A registrar's authorisation for a change to a person who is enrolled in the gallery (its
        id)."""
        return bytes(call("heft_authorise", self, gallery, act, identity, life))

    def _shown(self) -> dict[str, Any]:
        return {"public_key": self.public_key}

    def _words(self) -> str:
        return self.public_key

    def close(self) -> None:
        """Wipes the secret key after the calls that use it have returned."""
        super().close()


class Trust(Object):
    """The public keys whose signatures are accepted, by role."""

    def __init__(self) -> None:
        """A trust file that lists no key."""
        self._held = call("heft_trust_new")

    @staticmethod
    def load(path: Path) -> Trust:
        """Loads a trust file. NotFound, DataLoss."""
        return Trust._of(call("heft_trust_load", path_of(path)))

    @staticmethod
    def load_guarded(path: Path) -> Trust:
        """As load, for a file on which decisions depend: FailedPrecondition if other users can
        write it."""
        return Trust._of(call("heft_trust_load_guarded", path_of(path)))

    @staticmethod
    def parse(text: str) -> Trust:
        """Reads the text of a trust file. DataLoss."""
        return Trust._of(call("heft_trust_parse", text_of(text, "text").encode(), "trust"))

    def save(self, path: Path) -> None:
        """Writes or replaces the file."""
        call("heft_trust_save", self, path_of(path))

    def add(self, role: Role, name: str, key: str) -> None:
        """Accepts a public key (64 hexadecimal digits, or the text of a .pub file) in a role.
        AlreadyExists, FailedPrecondition for a revoked key, InvalidArgument."""
        self._change("heft_trust_add", role, name, key)

    def revoke(self, key: str) -> None:
        """Refuses a key from now on, in every role. NotFound."""
        self._change("heft_trust_revoke", key)

    def pin(self, gallery: str, generation: int = 0) -> None:
        """Pins galleries (ids): only replies of pinned galleries are accepted, from a generation
        on."""
        self._change("heft_trust_pin", gallery, generation)

    def _change(self, name: str, *arguments: object) -> None:
        # Of a copy: calls of other threads may be reading this one.
        with _changing:
            copy = call("heft_trust_parse", str(self).encode(), "trust")
            call(name, copy, *arguments)
            self._held = copy

    def _described(self) -> dict[str, Any]:
        return dict(call("heft_trust_describe", self))

    def _shown(self) -> dict[str, Any]:
        return self._described()

    def _words(self) -> str:
        said = self._described()
        counts = [f"{role} {len(keys)}" for role, keys in said["keys"].items() if keys]
        return ", ".join([*counts, f"galleries {len(said['galleries'])}", f"revoked {len(said['revoked'])}"])

    def keys(self, role: Role) -> dict[str, str]:
        """Names and public keys in a role."""
        roles = self._described()["keys"]
        if role not in roles:
            raise errors.InvalidArgument(f"there is no role {role!r}: give one of {', '.join(roles)}")
        return {one["name"]: one["key"] for one in roles[role]}

    @property
    def galleries(self) -> dict[str, int]:
        """The pinned galleries, and the generations from which they are accepted."""
        return {one["gallery_id"]: one["generation"] for one in self._described()["galleries"]}

    @property
    def revoked(self) -> list[str]:
        """The revoked public keys."""
        return [one["key"] for one in self._described()["revoked"]]

    def __str__(self) -> str:
        return bytes(call("heft_trust_text", self)).decode()

    def __reduce__(self) -> tuple[Callable[[str], Trust], tuple[str]]:
        return Trust.parse, (str(self),)


def open_signed(file: Source, trust: Trust, *, roles: Union[Role, Sequence[Role]] = (), kind: str = "",
                audience: str = "", gallery: str = "") -> SignedFile:
    """Checks a signed file and returns its content: trust must list the signer, and the file
    must be as expected. DataLoss for damage and false signatures, FailedPrecondition for
    all other reasons to refuse it."""
    data, what = source_of(file, "file")
    expected = {"roles": labels_of(roles), "kind": kind, "audience": audience, "gallery": gallery}
    return _signed(data, trust, expected, what)


def read_signed(file: Source) -> SignedFile:
    """Reads a signed file to show it, without checking that the signer is trusted. DataLoss."""
    data, what = source_of(file, "file")
    return _signed(data, None, None, what)


def _signed(data: Any, trust: Optional[Trust], expected: Optional[dict[str, Any]], what: str) -> SignedFile:
    content, statement = call("heft_open_signed", data, trust, expected, what)
    return SignedFile(Made({**statement, "file": content}))


def is_signed(file: Source) -> bool:
    """Whether the bytes are the start of a signed file."""
    return bool(call("heft_is_signed", source_of(file, "file")[0]))


def use_gallery_signer(folder: Path, public_key: str, sign: Callable[[bytes], Buffer]) -> None:
    """From here on this process signs for the galleries of the store in folder with such a
    key; no server.key is read or made."""
    signer = signer_of(sign)
    call("heft_use_gallery_signer", path_of(folder), public_key, signer)
    _gallery_signers.append(signer)


def check_authorised(authorisation: Source, trust: Trust, act: Act, gallery: str, identity: str) -> None:
    """Checks that a registrar that trust lists has allowed this act for this identity in this
    gallery (its id), by SigningKey.authorise. DataLoss, FailedPrecondition if not."""
    data, _ = source_of(authorisation, "authorisation")
    call("heft_check_authorised", data, trust, act, gallery, identity)


def request_digest(samples: Samples, row: int = 0) -> str:
    """The hash that binds a reply to the files of a request, as they were sent, and to a row
    of them: SignedFile.request of the reply."""
    return bytes(call("heft_request_digest", files_of_samples(samples), row)).hex()


def read_receipt(receipt: Source) -> ErasureReceipt:
    """Reads a receipt of erasure, without checking its signature. DataLoss."""
    return ErasureReceipt(call("heft_receipt_read", source_of(receipt, "receipt")[0]))
