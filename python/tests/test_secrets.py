# SPDX-License-Identifier: Apache-2.0
"""What holds a secret is not pickled, copied or printed; what is public is."""

import copy
import pathlib
import pickle
import stat
from typing import Any, Callable

import pytest

import heft
from conftest import World


def test_secrets_stay_where_they_are(world: World) -> None:
    key = heft.SigningKey.generate()
    for secret in (world.owner, key):
        takes: list[Callable[[object], object]] = [
            pickle.dumps, copy.copy, copy.deepcopy, lambda o: pickle.dumps(o, 0),
            lambda o: o.__reduce__()]
        for take in takes:
            with pytest.raises(TypeError, match="secret"):
                take(secret)
    assert world.owner.key_id in repr(world.owner) and len(repr(world.owner)) < 60
    assert repr(key) == f"<heft.SigningKey {key.public_key}>"
    assert not hasattr(world.owner, "__dict__")


def test_what_is_public_is_pickled(world: World) -> None:
    assert pickle.loads(pickle.dumps(world.model)).decision_id == world.model.decision_id
    trust = heft.Trust()
    trust.add("server", "door", heft.SigningKey.generate().public_key)
    assert str(pickle.loads(pickle.dumps(trust))) == str(trust)
    for handle in (world.client, world.matcher):
        with pytest.raises(TypeError, match="not pickled"):
            pickle.dumps(handle)


def test_a_sealed_key(world: World, tmp_path: pathlib.Path) -> None:
    asked: list[int] = []

    def passphrase() -> str:
        asked.append(1)
        return "a passphrase of many words"

    owner = heft.KeyOwner.generate(world.model, tmp_path / "keys", passphrase=passphrase)
    assert asked == [1]
    secret = tmp_path / "keys" / "secret.key"
    assert stat.S_IMODE(secret.stat().st_mode) == 0o600
    assert owner.journal_file.endswith("secret.key.journal")
    with heft.KeyOwner.load(world.model, tmp_path / "keys", passphrase=passphrase()) as again:
        assert again.key_id == owner.key_id
    with pytest.raises(heft.FailedPrecondition, match="sealed|passphrase"):
        heft.KeyOwner.load(world.model, secret)
    with pytest.raises(heft.InvalidArgument):
        heft.KeyOwner.load(world.model, secret, passphrase="another")

    def fails() -> str:
        raise EOFError("nobody answers")

    with pytest.raises(EOFError):
        heft.KeyOwner.load(world.model, secret, passphrase=fails)
    with pytest.raises(heft.AlreadyExists):
        heft.KeyOwner.generate(world.model, tmp_path / "keys")


def test_a_signing_key_on_disk(tmp_path: pathlib.Path) -> None:
    key = heft.SigningKey.generate()
    key.save(tmp_path / "clear.key")
    key.save(tmp_path / "sealed.key", "words")
    assert heft.SigningKey.load(tmp_path / "clear.key").public_key == key.public_key
    assert heft.SigningKey.load(tmp_path / "sealed.key", "words").public_key == key.public_key
    with pytest.raises(heft.AlreadyExists):
        key.save(tmp_path / "clear.key")
    (tmp_path / "clear.key").chmod(0o644)
    with pytest.raises(heft.FailedPrecondition):
        heft.SigningKey.load(tmp_path / "clear.key")


def test_an_empty_passphrase_is_refused(world: World, tmp_path: pathlib.Path) -> None:
    key = heft.SigningKey.generate()
    empties: list[Any] = ["", lambda: ""]
    for empty in empties:
        with pytest.raises(heft.InvalidArgument, match="passphrase is empty"):
            heft.KeyOwner.generate(world.model, tmp_path / "keys", passphrase=empty)
        with pytest.raises(heft.InvalidArgument, match="passphrase is empty"):
            key.save(tmp_path / "signing.key", empty)
    assert not (tmp_path / "keys" / "secret.key").exists()
    assert not (tmp_path / "signing.key").exists()
