# SPDX-License-Identifier: Apache-2.0
"""Signatures: keys, requests and replies, as the command line checks them."""

import pathlib
import threading
from typing import Optional

import pytest

import heft
from conftest import World


def test_keys_of_a_folder_are_signed(world: World, tmp_path: pathlib.Path) -> None:
    keys = tmp_path / "keys"
    owner = heft.KeyOwner.generate(world.model, keys)
    trust = heft.Trust.load(keys / "trust.heft")
    assert list(trust.keys("key-owner").values()) == [owner.public_key]
    heft.Client(world.model, keys / "encryption.key", trust=trust)
    heft.Matcher(world.model, keys / "evaluation.keys", keys / "enrolment.keys", trust=trust)
    with pytest.raises(heft.FailedPrecondition, match="signed"):
        heft.Client(world.model, owner.encryption_key(), trust=trust)
    with pytest.raises(heft.FailedPrecondition):
        heft.Client(world.model, keys / "encryption.key", trust=heft.Trust())


def test_replies_are_signed_and_who_they_are_from_is_asked(
        world: World, gallery: str, tmp_path: pathlib.Path) -> None:
    keys = tmp_path / "keys"
    owner = heft.KeyOwner.generate(world.model, keys)
    client = heft.Client(world.model, keys / "encryption.key")
    matcher = heft.Matcher(world.model, keys / "evaluation.keys", keys / "enrolment.keys")
    matcher.enrol(gallery, client.encrypt_each(world.rows(range(3)), ["ann", "bob", "cy"]))
    word = owner.approve(matcher.pending(gallery)).signed_admission
    matcher.activate(gallery, word, heft.Trust.load(keys / "trust.heft"))

    def ask(**options: object) -> bytes:
        probe = client.encrypt_each(world.rows(range(1, 2), 1), use="identification")
        return matcher.identify(gallery, probe, **options)  # type: ignore[arg-type]

    held = heft.Gallery(gallery)
    said = heft.read_signed(ask())
    assert said.kind == "SCOR" and said.role == "server" and said.signer == held.server_key
    assert said.audience == owner.public_key and said.gallery == held.gallery_id
    assert said.expires - said.issued == 3600
    assert not heft.is_signed(ask(sign=False))
    trust = heft.Trust()
    trust.add("server", "door", held.server_key)
    owner.require_signed(trust)
    assert owner.decide(ask(), score=0.4).identity == "bob"
    with pytest.raises(heft.FailedPrecondition):
        owner.decide(ask(sign=False), score=0.4)
    with pytest.raises(heft.FailedPrecondition):
        owner.decide(ask(audience=heft.SigningKey.generate().public_key), score=0.4)
    trust.revoke(held.server_key)
    owner.require_signed(trust)
    with pytest.raises(heft.FailedPrecondition, match="revokes"):
        owner.decide(ask(), score=0.4)


def test_signed_requests_are_answered_once(world: World, gallery: str) -> None:
    world.enrol(gallery)
    me, trust = heft.SigningKey.generate(), heft.Trust()
    trust.add("client", "kiosk", me.public_key)
    files = {name: me.sign(file, "client") for name, file in world.probe(4).items()}
    reply = world.matcher.identify(gallery, files, trust=trust)
    assert heft.read_signed(reply).subject == me.public_key
    with pytest.raises(heft.FailedPrecondition, match="answered"):
        world.matcher.identify(gallery, files, trust=trust)
    with pytest.raises(heft.FailedPrecondition):
        world.matcher.identify(gallery, world.probe(4), trust=trust)


def test_a_registrar_allows_another_template(world: World, gallery: str) -> None:
    owner, registrar, trust = (heft.KeyOwner.generate(world.model), heft.SigningKey.generate(),
                               heft.Trust())
    trust.add("registrar", "office", registrar.public_key)
    trust.add("key-owner", "owner", owner.public_key)
    believed: dict[str, str] = {}
    client = heft.Client(world.model, owner.encryption_key())
    matcher = heft.Matcher(world.model, owner.evaluation_keys(), owner.enrolment_keys())

    def enrol(sample: int, authorisation: Optional[bytes] = None) -> heft.ActivateResult:
        files = client.encrypt_each(world.rows(range(1), sample), ["ann"])
        signed = {name: registrar.sign(file, "registrar") for name, file in files.items()}
        matcher.enrol(gallery, signed, authorisation=authorisation, trust=trust)
        if "server" not in believed:
            believed["server"] = heft.Gallery(gallery).server_key
            trust.add("server", "door", believed["server"])
            owner.require_signed(trust)
        word = owner.approve(matcher.pending(gallery)).signed_admission
        return matcher.activate(gallery, word, trust)

    assert enrol(0).activated == 1
    with pytest.raises(heft.FailedPrecondition, match="registrar"):
        enrol(1)
    assert enrol(1, registrar.authorise(heft.Gallery(gallery).gallery_id, "ann")).activated == 1
    assert len(heft.Gallery(gallery).person("ann").templates) == 2


def test_trust_files(tmp_path: pathlib.Path) -> None:
    trust, key = heft.Trust(), heft.SigningKey.generate().public_key
    trust.add("server", "door", key)
    trust.pin("ab" * 16, 3)
    trust.save(tmp_path / "trust.heft")
    again = heft.Trust.load(tmp_path / "trust.heft")
    assert again.keys("server") == {"door": key} and again.galleries == {"ab" * 16: 3}
    with pytest.raises(heft.AlreadyExists):
        again.add("server", "door", heft.SigningKey.generate().public_key)
    with pytest.raises(heft.InvalidArgument):
        again.add("doorman", "door", key)  # type: ignore[arg-type]
    with pytest.raises(heft.DataLoss):
        heft.Trust.parse("no trust file")
    with pytest.raises(heft.NotFound):
        again.revoke("cd" * 32)


def test_a_trust_is_changed_while_others_read_it(world: World) -> None:
    trust, key = heft.Trust(), heft.SigningKey.generate()
    trust.add("trainer", "lab", key.public_key)
    signed = key.sign(world.model.to_bytes(), "trainer")

    def change(start: int) -> None:
        for i in range(start, start + 50):
            trust.add("client", f"kiosk {i}", f"{i + 1:064x}")

    threads = [threading.Thread(target=change, args=[50 * i]) for i in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        assert heft.open_signed(signed, trust).signer_name == "lab"
    assert len(trust.keys("client")) == 200


def test_a_signed_file_is_opened_or_refused(world: World) -> None:
    key, trust = heft.SigningKey.generate(), heft.Trust()
    trust.add("trainer", "lab", key.public_key)
    signed = key.sign(world.model.to_bytes(), "trainer", life=0)
    opened = heft.open_signed(signed, trust, roles=["trainer"], kind="MODL")
    assert opened.signer_name == "lab" and opened.file == world.model.to_bytes()
    assert heft.Model.load(signed, trust=trust).id == world.model.id
    with pytest.raises(heft.FailedPrecondition):
        heft.Model.load(world.model.to_bytes(), trust=trust)
    with pytest.raises(heft.DataLoss):
        heft.open_signed(signed[:-1] + bytes([signed[-1] ^ 1]), trust)
