# SPDX-License-Identifier: Apache-2.0
"""The client's role."""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING, Any, Literal, Mapping, Optional

from heft._library import Within, call
from heft._trust import Trust
from heft._values import (Labels, Object, Source, Vectors, all_rows_of, mapping_of, matrix_of,
                          row_labels, rows_of, source_of, text_of)

if TYPE_CHECKING:
    from heft._model import Model

Use = Literal["enrolment", "identification"]
Encoding = Literal["compact", "bulk", "partial"]


def encrypted(name: str, role: Object, modality: str, vectors: Vectors, labels: Optional[Labels], use: Use,
              encoding: Encoding, average: bool, within: Within = nullcontext) -> bytes:
    """Samples of one modality, by the function `name` of a client or a key owner."""
    matrix, _ = matrix_of(vectors, text_of(modality, "modality"))
    options = {"use": use, "encoding": encoding, "average": average}
    return bytes(call(name, role, [rows_of(modality, matrix)], row_labels(labels, len(matrix)), options,
                      within=within))


def encrypted_fused(name: str, role: Object, vectors: Mapping[str, Vectors], labels: Optional[Labels], use: Use,
                    average: bool, within: Within = nullcontext) -> bytes:
    """Fused samples, by the function `name` of a client or a key owner."""
    rows = all_rows_of(vectors)
    names = row_labels(labels, rows[0][0].rows) if rows else None
    return bytes(call(name, role, rows, len(rows), names, {"use": use, "average": average}, within=within))


class Client(Object):
    """Encrypts feature vectors with the key owner's encryption key. A client cannot decrypt.
    Several threads may use one."""

    _NO_COPY = "a Client is not pickled or copied: make one from the model and the key"

    def __init__(self, model: Model, encryption_key: Source, *, trust: Optional[Trust] = None) -> None:
        """A model and an encryption key (bytes, or the path of a key file). With trust, a key
        owner that it lists must have signed the key. DataLoss, FailedPrecondition, NotFound."""
        key, what = source_of(encryption_key, "encryption key", "keys")
        if trust is not None:
            call("heft_open_signed", key, trust, {"roles": ["key-owner"], "kind": "PUBK"}, what)
        self._held = call("heft_client_create", model, key, what)
        self._model = model

    @property
    def model(self) -> Model:
        """The model of this client."""
        return self._model

    def _shown(self) -> dict[str, Any]:
        return self._model._shown()  # pylint: disable=protected-access

    def _words(self) -> str:
        return self._model._words()  # pylint: disable=protected-access

    def encrypt(self, modality: str, vectors: Vectors, labels: Optional[Labels] = None, *,
                use: Use = "enrolment", encoding: Encoding = "compact", average: bool = False) -> bytes:
        """Encrypts vectors of one modality into one file for the matcher.

        vectors: float32 or float64 of shape (dimension,) or (rows, dimension); contiguous
        float32 is not copied. They are scaled to unit length here. labels: one identity per
        row, or None. use: "enrolment" (and verifications) or "identification", with files
        of a fifth of the size. encoding: "compact"; "bulk", for the enrolment of hundreds
        of rows, at most 4096; "partial", which projects here. average: the rows of one label
        become one sample.

        InvalidArgument for a wrong dimension, NaN, infinity, zeros, or a bad label."""
        return encrypted("heft_client_encrypt", self, modality, vectors, labels, use, encoding, average)

    def encrypt_each(self, vectors: Mapping[str, Vectors], labels: Optional[Labels] = None, *,
                     use: Use = "enrolment", encoding: Encoding = "compact",
                     average: bool = False) -> dict[str, bytes]:
        """Calls encrypt for each modality of a mapping; returns a mapping from the same names to
        files."""
        return {text_of(name, "vectors"): self.encrypt(name, array, labels, use=use, encoding=encoding,
                                                       average=average)
                for name, array in mapping_of(vectors, "vectors").items()}

    def encrypt_fused(self, vectors: Mapping[str, Vectors], labels: Optional[Labels] = None, *,
                      use: Use = "enrolment", average: bool = False) -> bytes:
        """Fuses row i of all modalities here and encrypts the result into one file. A modality
        that is absent counts as missing."""
        return encrypted_fused("heft_client_encrypt_fused", self, vectors, labels, use, average)
