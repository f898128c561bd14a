# SPDX-License-Identifier: Apache-2.0
"""Objects of Microsoft SEAL 4.x, in and out. A secret key goes from file to file: no Python object has
its bytes."""

from __future__ import annotations

from typing import Any, Final, Literal, Optional, Tuple

import numpy as np
from numpy.typing import NDArray

from heft._key_owner import Compression, Ring
from heft._library import Passphrase, Progress, call
from heft._model import Model
from heft._record import Made, Record, field, many
from heft._records import ImportedEvaluationKeys, SealParameters, SealSamples
from heft._values import (Labels, Path, Samples, Source,
                          files_of_samples, labels_of, path_of, source_of)


class SealReply(Record):
    """One ciphertext of scores."""

    ciphertext: Final[bytes] = field("SEAL's Ciphertext.")
    answers: Final[list[Tuple[int, int]]] = field(
        "The (slot, lane) of the scores, lane 0 the real part; empty: all of the block.", many(tuple))
    block: Final[int] = field("Number of the block, for an identification.")


class SealScores(Record):
    """A reply as SEAL's Ciphertexts, of the matching ring."""

    kind: Final[Literal["identification", "verification"]] = field("identification or verification.")
    probe: Final[str] = field("Label of the probe.")
    claimed: Final[str] = field("The claimed identity of a verification.")
    templates: Final[int] = field("Number of places, for an identification.")
    identities: Final[list[str]] = field("Identities by place; empty for a place that is not matched.")
    replies: Final[list[SealReply]] = field("The ciphertexts of scores.", many(SealReply))
    squared_norm: Final[bytes] = field(
        "Squared norm of the probe, with its proof: divide scores by its root (docs/seal.md).")
    squared_norm_turned: Final[bytes] = field(
        "The same times i (-1)^j, for decoders that return real parts.")
    factors: Final[NDArray[np.float64]] = field(
        "Factors for the scores, real parts first; empty if all are 1.")


def _split(joined: bytes, sizes: list[int]) -> list[bytes]:
    ends = np.cumsum(sizes, dtype=int).tolist()
    return [joined[end - size:end] for end, size in zip(ends, sizes)]


def export_seal_parameters(model: Model, *, compression: Compression = "zstd",
                           ring: Ring = "matching") -> SealParameters:
    """SEAL's parameters for a model (docs/seal.md). ring: for a profile with two rings.
    compression: "none", "zlib" or "zstd". FailedPrecondition for what SEAL does not
    support."""
    return SealParameters(call("heft_seal_export_parameters", model,
                               {"compression": compression, "ring": ring}))


def export_seal_encryption_key(model: Model, key: Source, *, compression: Compression = "zstd",
                               ring: Ring = "matching") -> bytes:
    """SEAL's PublicKey for one ring, from an encryption key."""
    return bytes(call("heft_seal_export_encryption_key", model, *source_of(key, "encryption key", "keys"),
                      {"compression": compression, "ring": ring}))


def export_seal_samples(model: Model, samples: Source, *, compression: Compression = "zstd",
                        progress: Progress = None) -> SealSamples:
    """Encrypted samples as SEAL's Ciphertexts. DataLoss, FailedPrecondition, Cancelled."""
    joined, told = call("heft_seal_export_samples", model, *source_of(samples, "samples", "samples"),
                        {"compression": compression}, progress)
    return SealSamples(Made({**told, "ciphertexts": _split(joined, told["sizes"])}))


def export_seal_scores(model: Model, reply: Source, *, compression: Compression = "zstd") -> SealScores:
    """A matcher's reply as SEAL's Ciphertexts, to open it with SEAL. DataLoss,
    FailedPrecondition."""
    joined, factors, told = call("heft_seal_export_scores", model, *source_of(reply, "reply", "reply"),
                                 {"compression": compression})
    *scores, squared_norm, turned = _split(joined, told["sizes"])
    replies = [{**one, "ciphertext": score} for one, score in zip(told["replies"], scores)]
    return SealScores(Made({**told, "replies": replies, "squared_norm": squared_norm,
                            "squared_norm_turned": turned,
                            "factors": np.frombuffer(factors, np.float64)}))


def new_key_id() -> str:
    """A new id for the first import under a secret key from SEAL. Use the same id for all
    other files, because SEAL's files do not name their key."""
    return str(call("heft_seal_new_key_id")["key_id"])


def import_seal_encryption_key(model: Model, key_id: str, key: Source,
                               enrolment: Optional[Source] = None) -> bytes:
    """An encryption key from SEAL's PublicKey; for two rings, from both public keys."""
    keys = [source_of(key, "public key", "keys")]
    if enrolment is not None:
        keys.append(source_of(enrolment, "enrolment public key", "keys"))
    return bytes(call("heft_seal_import_encryption_key", model, key_id, keys))


def import_seal_evaluation_keys(model: Model, key_id: str, galois: Source, relinearisation: Source, *,
                                progress: Progress = None) -> ImportedEvaluationKeys:
    """Evaluation keys from SEAL's GaloisKeys and RelinKeys of the matching ring. With two
    rings they work for identification only. FailedPrecondition lists the steps of missing
    keys."""
    keys = [source_of(galois, "Galois keys", "keys"),
            source_of(relinearisation, "relinearisation keys", "keys")]
    imported, told = call("heft_seal_import_evaluation_keys", model, key_id, keys, progress)
    return ImportedEvaluationKeys(Made({**told, "bytes": imported}))


def import_seal_samples(model: Model, modality: str, key_id: str, ciphertexts: Samples,
                        labels: Optional[Labels] = None, *, progress: Progress = None) -> bytes:
    """Encrypted samples from SEAL's Ciphertexts, one per sample, all of one ring. labels: one
    per sample, one for all, or none."""
    return bytes(call("heft_seal_import_samples", model, modality, key_id, files_of_samples(ciphertexts),
                      {"labels": labels_of(labels)}, progress))


def import_seal_secret_key(model: Model, key_id: str, source: Path, out: Path,
                           enrolment_source: Optional[Path] = None, *, passphrase: Passphrase = None,
                           progress: Progress = None) -> None:
    """Makes the secret key file out (mode 0600) from SEAL's SecretKey in the file source,
    which is not encrypted; for two rings, from both secret keys. Load it with KeyOwner.load
    and make the public keys. AlreadyExists, InvalidArgument; FailedPrecondition if other
    users can read source."""
    more: Any = None if enrolment_source is None else path_of(enrolment_source)
    call("heft_seal_import_secret_key", model, key_id, path_of(source), path_of(out), more, passphrase,
         progress)
