# SPDX-License-Identifier: Apache-2.0
"""Checking a server: audits of its replies, and canaries among its templates."""

import copy
import hashlib
import json
import os
import pathlib
import pickle
import subprocess
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np
import pytest

import heft
from conftest import World


@dataclass
class Audit:
    """What an auditor has: a copy, the files of a request, the reply and its seed."""

    trust: heft.Trust
    gallery: heft.Gallery
    copy: str
    request: dict[str, bytes]
    reply: bytes
    seed: bytes


@pytest.fixture
def audit(world: World, gallery: str, tmp_path: pathlib.Path) -> Audit:
    world.enrol(gallery, range(4))
    world.activate(gallery)  # none is pending: the key owner signs the new state
    request = world.probe(2)
    reply = world.matcher.identify(gallery, request)
    held = heft.Gallery(gallery)
    seed = held.reveal_seed(reply)
    copied = str(tmp_path / "copy")
    held.snapshot(copied)
    trust = heft.Trust()
    trust.add("server", "door", held.server_key)
    trust.add("key-owner", "owner", world.owner.public_key)
    return Audit(trust, held, copied, request, reply, seed)


def test_a_reply_is_made_again(world: World, audit: Audit) -> None:
    finding = world.matcher.audit_reply(
        audit.copy, audit.reply, audit.seed, [audit.request], audit.trust)
    assert finding.right and finding.reason == "" and bool(finding)
    others = [world.probe(1), audit.request]
    assert world.matcher.audit_reply(
        heft.Gallery(audit.copy), audit.reply, audit.seed, others, audit.trust)
    state = world.matcher.audit_gallery(audit.copy, audit.trust)
    assert state and state.to_dict() == {"right": True, "reason": ""}
    assert world.matcher.audit_gallery(audit.copy, audit.trust, audit.gallery.state_file)
    assert pathlib.Path(audit.gallery.state_file).parent == pathlib.Path(audit.gallery.name)
    world.enrol(audit.gallery.name, range(4, 5))
    unsigned = world.matcher.audit_gallery(audit.gallery, audit.trust)
    assert not unsigned and "generation" in unsigned.reason


def test_verifications_too(world: World, gallery: str) -> None:
    world.enrol(gallery, range(3))
    held = heft.Gallery(gallery)
    trust = heft.Trust()
    trust.add("server", "door", held.server_key)
    request = world.client.encrypt_each(world.rows(range(1, 2), 1))
    reply = world.matcher.verify(gallery, request, "person 1")
    assert world.matcher.audit_reply(gallery, reply, held.reveal_seed(reply), [request], trust)


def test_a_process_answers_the_same_probe_anew_each_time(world: World, gallery: str) -> None:
    world.enrol(gallery, range(4))
    search = world.probe(2)
    claim = world.client.encrypt_each(world.rows(range(2, 3), 1))
    asks: list[Callable[[], bytes]] = [
        lambda: world.matcher.identify(gallery, search),
        lambda: world.matcher.verify(gallery, claim, "person 2")]
    for ask in asks:
        answers = [heft.read_signed(ask()) for _ in range(3)]
        replies = [ask() for _ in range(3)]
        assert len({answer.file for answer in answers}) == 3, "each has a secret factor of its own"
        for reply in replies:  # each is opened, as none is the same as one before
            assert world.owner.decide(reply, score=0.5).identity == "person 2"


def test_a_false_seed_is_found_and_what_cannot_be_judged_is_an_error(
        world: World, audit: Audit) -> None:
    matcher = world.matcher
    another = matcher.identify(audit.gallery, audit.request)
    finding = matcher.audit_reply(
        audit.copy, another, audit.gallery.reveal_seed(another), [audit.request], audit.trust)
    assert finding, "the same request may be answered twice where nobody signs"
    # Another reply's seed: the server claims that it made this reply with it.
    crossed = heft.read_signed(audit.reply).file
    with pytest.raises(heft.Error):
        matcher.audit_reply(audit.copy, crossed, audit.seed, [audit.request], audit.trust)
    wrong = matcher.audit_reply(audit.copy, audit.reply,
                                audit.gallery.reveal_seed(another), [audit.request], audit.trust)
    assert not wrong and not wrong.right and wrong.reason
    with pytest.raises(heft.FailedPrecondition):
        matcher.audit_reply(audit.copy, audit.reply, audit.seed, [world.probe(2)], audit.trust)
    with pytest.raises(heft.FailedPrecondition):
        matcher.audit_reply(audit.copy, audit.reply, audit.seed, [], audit.trust)
    with pytest.raises(heft.FailedPrecondition):
        matcher.audit_reply(audit.copy, audit.reply, audit.seed, [audit.request], heft.Trust())
    with pytest.raises(heft.DataLoss):
        matcher.audit_reply(audit.copy, audit.reply[:-1], audit.seed, [audit.request], audit.trust)
    with pytest.raises(heft.DataLoss):
        matcher.audit_gallery(audit.copy, audit.trust, b"no state")
    world.enrol(str(audit.gallery.name), range(4, 5))
    with pytest.raises(heft.FailedPrecondition):
        matcher.audit_reply(audit.gallery, audit.reply, audit.seed, [audit.request], audit.trust)


def test_seeds_are_of_this_gallery(world: World, audit: Audit, tmp_path: pathlib.Path) -> None:
    other = str(tmp_path / "other")
    world.enrol(other, range(2))
    with pytest.raises(heft.FailedPrecondition):
        heft.Gallery(other).reveal_seed(audit.reply)
    with pytest.raises(heft.FailedPrecondition):
        audit.gallery.reveal_seed(audit.reply, server_key=heft.SigningKey.generate().public_key)
    with pytest.raises(heft.InvalidArgument):
        audit.gallery.reveal_seed(audit.reply, server_key="no key")
    unsigned = world.matcher.identify(audit.gallery, audit.request, sign=False)
    with pytest.raises(heft.FailedPrecondition):
        audit.gallery.reveal_seed(unsigned)
    heft.Gallery(other).make_audit_key()
    assert (tmp_path / "other" / "audit.key").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("requests", ["face.ct", b"bytes", {"face": b"bytes"}, 5])
def test_requests_are_a_list(world: World, audit: Audit, requests: Any) -> None:
    with pytest.raises(TypeError):
        world.matcher.audit_reply(audit.copy, audit.reply, audit.seed, requests, audit.trust)


def test_which_to_audit() -> None:
    for replies, one_in, count in ((100, 10, 10), (101, 10, 11), (3, 1000, 1), (5, 1, 5), (0, 3, 0),
                                   (7, 2**64 - 1, 1)):
        chosen = heft.choose_for_audit(replies, one_in)
        assert len(chosen) == count and chosen == sorted(set(chosen))
        assert all(0 <= i < replies for i in chosen)
    # 2 of 64 the same eight times over: once in 2^77.
    assert len({tuple(heft.choose_for_audit(64, 32)) for _ in range(8)}) > 1
    with pytest.raises(TypeError):
        heft.choose_for_audit(-1, 2)


def test_the_command_line_agrees(world: World, audit: Audit, tmp_path: pathlib.Path) -> None:
    owner = heft.KeyOwner.generate(world.model, tmp_path / "keys")
    client = heft.Client(world.model, tmp_path / "keys/encryption.key")
    matcher = heft.Matcher(world.model, tmp_path / "keys/evaluation.keys",
                           tmp_path / "keys/enrolment.keys")
    gallery = tmp_path / "theirs"
    matcher.enrol(gallery, client.encrypt_each(world.rows(range(3)), ["ann", "bob", "cyd"]))
    for _ in range(2):  # the second time none is pending, and the state is signed
        word = owner.approve(matcher.pending(gallery)).signed_admission
        matcher.activate(gallery, word, owner.public_key)
    request = client.encrypt_each(world.rows(range(1, 2), 1), use="identification")
    reply = matcher.identify(gallery, request)
    (tmp_path / "reply.ct").write_bytes(reply)
    (tmp_path / "request").mkdir()
    for name, file in request.items():
        (tmp_path / "request" / name).write_bytes(file)
    world.model.save(tmp_path / "model.heft")
    trust = heft.Trust.load(tmp_path / "keys/trust.heft")
    trust.add("server", "door", heft.Gallery(gallery).server_key)
    trust.save(tmp_path / "keys/trust.heft")

    def run(program: str, *arguments: object) -> str:
        done = subprocess.run([os.environ[program], *map(str, arguments)], text=True,
                              capture_output=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("HEFT_SERVER_PROGRAM", "reveal", "--gallery", gallery, "--in", tmp_path / "reply.ct",
        "--out", tmp_path / "reply.seed")
    assert heft.Gallery(gallery).reveal_seed(reply) == (tmp_path / "reply.seed").read_bytes()
    said = json.loads(run("HEFT_SERVER_PROGRAM", "audit", "--model", tmp_path / "model.heft",
                          "--keys", tmp_path / "keys/evaluation.keys", "--gallery", gallery,
                          "--request", tmp_path / "request", "--reply", tmp_path / "reply.ct",
                          "--seed", tmp_path / "reply.seed", "--json"))
    assert said["wrong"] == 0 and len(said["findings"]) == 2
    assert matcher.audit_reply(gallery, reply, tmp_path / "reply.seed",
                               [list((tmp_path / "request").iterdir())], trust)
    assert matcher.audit_gallery(gallery, trust)


# Canaries.


def test_a_search_without_the_canaries_is_refused(
        world: World, gallery: str, tmp_path: pathlib.Path) -> None:
    owner = heft.KeyOwner.generate(world.model, tmp_path / "keys")
    owner.set_budget(scores=10**6, decisions=10**6, client_bits=10**9, rejections=10**6)
    client = heft.Client(world.model, owner.encryption_key())
    matcher = heft.Matcher(world.model, owner.evaluation_keys(), owner.enrolment_keys())
    canaries = owner.make_canaries(1)
    assert len(canaries.people) == 3 and len(canaries.probes) == 1
    for person in (*canaries.people, *canaries.probes):
        assert {name: rows.shape for name, rows in person.vectors.items()} == {
            "face": (64,), "voice": (48,)}
        for rows in person.vectors.values():
            assert rows.dtype == np.float32 and np.linalg.norm(rows) == pytest.approx(1, abs=1e-5)

    def enrol(people: dict[str, Any]) -> None:
        for label, rows in people.items():
            matcher.enrol(gallery, client.encrypt_each(rows, label))
        word = owner.approve(matcher.pending(gallery)).signed_admission
        matcher.activate(gallery, word, owner.public_key)

    def ask() -> bytes:
        rows = world.rows(range(1, 2), 1)
        return matcher.identify(gallery, client.encrypt_each(rows, use="identification"))

    everybody = world.rows(range(3))
    enrol({f"person {i}": {n: r[i] for n, r in everybody.items()} for i in range(3)})
    before = ask()
    enrol({person.label: person.vectors for person in canaries.people})
    owner.register_canaries(canaries.file)
    assert (tmp_path / "keys/secret.key.canaries").is_file()
    opened = owner.open(ask(), publish=10)
    assert opened.refusal == "" and opened.searched == 3
    assert {c.identity for c in opened.candidates} == {f"person {i}" for i in range(3)}
    refused = owner.open(before)
    assert "canar" in refused.refusal and refused.candidates == []
    # They also apply after the key is loaded again.
    with heft.KeyOwner.load(world.model, tmp_path / "keys") as again:
        assert again.decide(ask(), score=0.4).identity == "person 1"
        answer = again.open(matcher.identify(gallery, client.encrypt_each(
            canaries.probes[0].vectors, canaries.probes[0].label, use="identification")))
        assert answer.refusal == ""
    # Remove one of them.
    heft.Gallery(gallery).remove(matcher, canaries.people[0].label)
    assert not owner.decide(ask(), score=0.4).accepted


def test_the_command_line_takes_our_canaries_and_we_theirs(
        world: World, tmp_path: pathlib.Path) -> None:
    owner = heft.KeyOwner.generate(world.model, tmp_path / "keys")
    world.model.save(tmp_path / "model.heft")
    key = ("--model", tmp_path / "model.heft", "--secret-key", tmp_path / "keys/secret.key")

    def run(*arguments: object) -> dict[str, Any]:
        done = subprocess.run([os.environ["HEFT_PROGRAM"], "canary", *map(str, (*key, *arguments)),
                               "--json"], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return dict(json.loads(done.stdout))

    said = run("--out", tmp_path / "canaries")
    assert len(said["people"]) == 9
    owner.require_canaries(tmp_path / "canaries/canaries.heft")
    owner.register_canaries(tmp_path / "canaries/canaries.heft")
    (tmp_path / "ours.heft").write_bytes(owner.make_canaries(1, ["ida", "jon", "kay"]).file)
    run("--require", tmp_path / "ours.heft")
    assert (tmp_path / "keys/secret.key.canaries").read_bytes() == (
        tmp_path / "ours.heft").read_bytes()


def test_canaries_are_secret(world: World) -> None:
    canaries = world.owner.make_canaries(1, ["ida", "jon", "kay"])
    assert [person.label for person in canaries.people] == ["ida", "jon", "kay"]
    secrets: list[object] = [canaries, canaries.people[0]]
    takes: list[Callable[[object], object]] = [pickle.dumps, copy.copy, copy.deepcopy]
    for secret in secrets:
        assert "ida" not in repr(secret)
        for take in takes:
            with pytest.raises(TypeError, match="secret"):
                take(secret)


def test_canaries_that_are_none(world: World, tmp_path: pathlib.Path) -> None:
    owner = heft.KeyOwner.generate(world.model)
    file = owner.make_canaries(1).file
    for triples in (0, 1001):
        with pytest.raises(heft.InvalidArgument):
            owner.make_canaries(triples)
    with pytest.raises(TypeError):
        owner.make_canaries(-1)
    names: list[Any] = [["ann"], ["ann", "ann", "bob"], ["ann", "bob", ""], ["\ud800", "b", "c"]]
    for few in names:
        with pytest.raises(heft.InvalidArgument):
            owner.make_canaries(1, few)
    with pytest.raises(heft.FailedPrecondition):
        world.owner.require_canaries(file)
    with pytest.raises(heft.FailedPrecondition, match="file"):
        owner.register_canaries(file)
    for wrong in (b"", b"no canaries", file[:-1], file[:200] + b"x" + file[201:]):
        with pytest.raises(heft.DataLoss):
            owner.require_canaries(wrong)
    (tmp_path / "large").write_bytes(b"\0" * (2**25 + 1))
    with pytest.raises(heft.InvalidArgument):
        owner.require_canaries(tmp_path / "large")
    with pytest.raises(heft.NotFound):
        owner.register_canaries(tmp_path / "nowhere")


def test_the_newest_signed_state_alone(world: World, gallery: str, tmp_path: pathlib.Path) -> None:
    owner = heft.KeyOwner.generate(world.model, tmp_path / "keys")
    owner.set_budget(scores=10**6)
    client = heft.Client(world.model, owner.encryption_key())
    matcher = heft.Matcher(world.model, owner.evaluation_keys(), owner.enrolment_keys())

    def activate() -> None:
        word = owner.approve(matcher.pending(gallery)).signed_admission
        matcher.activate(gallery, word, owner.public_key)

    matcher.enrol(gallery, client.encrypt_each(world.rows(range(2)), ["ann", "bob"]))
    activate()
    activate()
    probe = client.encrypt_each(world.rows(range(1), 1), use="identification")
    owner.require_signed_gallery()
    assert owner.open(matcher.identify(gallery, probe)).candidates
    heft.Gallery(gallery).remove(matcher, "bob")
    with pytest.raises(heft.FailedPrecondition):
        owner.open(matcher.identify(gallery, probe))
    activate()
    assert owner.open(matcher.identify(gallery, probe)).searched == 1


def test_audit_logs(tmp_path: pathlib.Path) -> None:
    def digest(line: str) -> str:
        return hashlib.sha256(line.encode()).hexdigest()

    lines: list[str] = []
    for i in range(4):
        before = digest(lines[-1]) if lines else "0" * 64
        lines.append(json.dumps({"seq": i + 1, "prev": before, "event": "x"}))
    old, new = tmp_path / "audit.log.2", tmp_path / "audit.log"
    old.write_text("".join(line + "\n" for line in lines[:2]))
    new.write_text("".join(line + "\n" for line in lines[2:]))
    head = heft.verify_audit_logs([old, str(new)])
    assert (head.lines, head.hash, str(head)) == (4, digest(lines[3]), f"4:{digest(lines[3])}")
    noted = str(heft.verify_audit_logs([old]))
    assert heft.verify_audit_logs([old, new], noted=noted).lines == 4
    assert heft.verify_audit_logs([new], after=noted).lines == 4
    with pytest.raises(heft.DataLoss, match="cut off"):
        heft.verify_audit_logs([old], noted=str(head))
    with pytest.raises(heft.DataLoss, match="audit.log:1 "):
        heft.verify_audit_logs([new])
    with pytest.raises(heft.InvalidArgument, match="noted"):
        heft.verify_audit_logs([old], noted="two")
    with pytest.raises(heft.NotFound):
        heft.verify_audit_logs([tmp_path / "nowhere"])
