# SPDX-License-Identifier: Apache-2.0
"""Shared keys: ceremonies, and shares of owners who come later. KeyOwner has what an owner does."""

from __future__ import annotations

from typing import Optional, Sequence

from heft._library import Passphrase, Progress, call
from heft._model import Model
from heft._records import JoinStep, SharedKeySet
from heft._values import Path, Source, path_of, paths_told, source_of



def join_key_set(model: Model, folder: Path, messages: Sequence[Path] = (), *, owners: int = 0,
                 passphrase: Passphrase = None, progress: Progress = None) -> JoinStep:
    """One step of making a key with other owners, without a dealer: no process has the
    secret, and all owners open together. Begin with owners, 2 or 3, in a folder without
    keys. Each later step takes the paths of all owners' messages of one round, this
    one's among them, until round 6. Between the steps the folder has the owner's state,
    sealed under the passphrase as the share will be.

    InvalidArgument for messages of another round, missing and repeated ones;
    FailedPrecondition for messages of another ceremony or model, and for an owner that
    changed its parts or was shown other messages; AlreadyExists, DataLoss, Cancelled."""
    if isinstance(messages, str):
        raise TypeError("messages: give a list of paths")
    paths = [path_of(one) for one in messages]
    step = call("heft_key_set_join", model, path_of(folder), owners, paths, len(paths), passphrase, progress)
    return JoinStep(paths_told(step, folder))


def make_shared_key_set(model: Model, folder: Path, owners: int, threshold: int, *,
                        passphrases: Optional[Sequence[Passphrase]] = None,
                        progress: Progress = None) -> SharedKeySet:
    """Makes a secret key that no owner holds alone, deals its shares and wipes it. An
    opening takes threshold owners, 2 or 3, of 2 to 5. The folder gets the public keys,
    and a folder for each owner (owner-1/share.key, ...), with the owner's journal. The
    model must have profile flooded.

    passphrases: a list with one for each owner, which seals the owner's share.
    InvalidArgument; FailedPrecondition for another profile, or a model without room for
    the noise of so many owners; AlreadyExists, Unavailable, Cancelled."""
    if isinstance(passphrases, str):
        raise TypeError("passphrases: give a list, with one for each owner")
    given = None if passphrases is None else list(passphrases)
    made = call("heft_shared_key_set_make", model, path_of(folder), owners, threshold, given,
                len(given or ()), progress)
    return SharedKeySet(paths_told(made, folder))


def make_blank_share(model: Model, record: Source, owner: int, path: Path, *,
                     passphrase: Passphrase = None) -> str:
    """Writes a share of nothing yet, for the successor of an owner, who loads it and calls
    take_new_share. Returns its public key, for the others' give_new_shares. record: the
    ceremony's (ceremony.heft). InvalidArgument, AlreadyExists, DataLoss, Unavailable."""
    data, _ = source_of(record, "the ceremony's record", "ceremony")
    return str(call("heft_blank_share_make", model, data, owner, path_of(path), passphrase)["signer"])
