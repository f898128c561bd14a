# SPDX-License-Identifier: Apache-2.0
"""Shared keys: two of three owners approve and decide, no owner does so alone, and new shares."""

from __future__ import annotations

import pathlib
import shutil
from dataclasses import dataclass
from typing import Callable, Iterator, Optional

import numpy as np
import pytest

import heft
from conftest import SAMPLES, World

ACCEPT = 0.7
PASSPHRASES = (None, "of owner 2", None)
NOISE = 2e-3 + 5e-4  # of a score, and its rounding


@dataclass
class SharedWorld(World):
    """A world with three owners; `owner` is the first, and galleries are approved by two."""

    keys: heft.SharedKeySet
    owners: list[heft.KeyOwner]

    def activate(self, gallery: str) -> heft.ActivateResult:
        """Owner 3 gives its part, owner 1 combines."""
        request = self.matcher.pending(gallery)
        part = self.owners[2].approve_part(request, [1, 3])
        word = self.owner.approve(request, parts=part).signed_admission
        return self.matcher.activate(gallery, word, heft.Trust.load(self.keys.keys.trust))


def load(model: heft.Model, share: str, passphrase: Optional[str] = None) -> heft.KeyOwner:
    """An owner with a budget that no test here spends."""
    owner = heft.KeyOwner.load(model, share, passphrase=passphrase)
    owner.set_budget(scores=10**6, decisions=10**6, client_bits=10**9, rejections=10**6)
    return owner


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedWorld]:
    """Made once: keys take most of the time."""
    data = heft.TrainingData.synthesise(
        identities=30, samples=SAMPLES, dimensions=(64, 48), jitter=0.3)
    model = heft.Model.train(data, gamma=16, epochs=5, profile="flooded")
    keys = heft.make_shared_key_set(
        model, tmp_path_factory.mktemp("shared") / "keys", 3, 2,
        passphrases=[None, lambda: "of owner 2", None])
    owners = [load(model, share, word) for share, word in zip(keys.shares, PASSPHRASES)]
    files = keys.keys
    client = heft.Client(model, files.encryption_key)
    with heft.Matcher(model, files.evaluation_keys, files.enrolment_keys) as matcher:
        yield SharedWorld(data, model, owners[0], client, matcher, keys, owners)
    for owner in owners:
        owner.close()


@pytest.fixture(scope="module")
def people(shared: SharedWorld, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A gallery of four."""
    gallery = str(tmp_path_factory.mktemp("people") / "gallery")
    assert shared.enrol(gallery, range(4)).activated == 4
    return gallery


def test_owners_check_the_ceremony(shared: SharedWorld, tmp_path: pathlib.Path) -> None:
    folder = pathlib.Path(shared.keys.ceremony).parent
    assert not (folder / "secret.key").exists() and shared.keys.threshold == 2
    checks = [owner.check_ceremony(folder) for owner in shared.owners[::2]]
    assert [check.shared.owner for check in checks] == [1, 3]
    assert len({check.digest for check in checks}) == 1
    assert checks[0].owners == [owner.public_key for owner in shared.owners]
    assert shared.owner.shared is not None
    assert shared.owner.shared.to_dict() == {"owner": 1, "owners": 3, "threshold": 2, "renewal": 0}
    for name in ("encryption.key", "evaluation.keys", "enrolment.keys"):
        shutil.copy(folder / name, tmp_path)
    exchanged = bytearray((tmp_path / "evaluation.keys").read_bytes())
    exchanged[100] ^= 1
    (tmp_path / "evaluation.keys").write_bytes(exchanged)
    with pytest.raises(heft.DataLoss, match="evaluation.keys"):
        shared.owner.check_ceremony(tmp_path)


def test_what_no_ceremony_is(shared: SharedWorld, tmp_path: pathlib.Path) -> None:
    with pytest.raises(heft.InvalidArgument):
        heft.make_shared_key_set(shared.model, tmp_path / "x", 2, 3)
    with pytest.raises(heft.InvalidArgument, match="1 passphrases for 3 owners"):
        heft.make_shared_key_set(shared.model, tmp_path / "x", 3, 2, passphrases=["one"])
    with pytest.raises(TypeError, match="give a list"):
        heft.make_shared_key_set(shared.model, tmp_path / "x", 3, 2, passphrases="one")
    with pytest.raises(heft.FailedPrecondition, match=r'Model.train\(data, profile="flooded"\)'):
        heft.make_shared_key_set(
            heft.Model.train(shared.data, gamma=16, method="pca"), tmp_path / "x", 3, 2)
    assert not (tmp_path / "x").exists()
    with pytest.raises(heft.InvalidArgument, match="passphrase"):
        heft.KeyOwner.load(shared.model, shared.keys.shares[1], passphrase="of owner 1")
    whole = heft.KeyOwner.generate(shared.model)
    assert whole.shared is None
    refusals: list[Callable[[], object]] = [
        lambda: whole.check_ceremony(tmp_path),
        lambda: whole.give_new_shares([1, 2]),
        lambda: whole.approve_part(b"request", [1, 2])]
    for refused in refusals:
        with pytest.raises(heft.FailedPrecondition, match="whole key"):
            refused()


def test_two_of_three_decide(shared: SharedWorld, people: str) -> None:
    one, two, three = shared.owners
    before = [owner.budget().openings for owner in shared.owners]
    reply = shared.matcher.identify(people, shared.probe(2))
    part = two.decide_part(reply, [2, 3], score=ACCEPT)
    assert three.budget().openings == before[2]
    decision = three.decide(reply, score=ACCEPT, parts=[part])
    assert decision.accepted and decision.identity == "person 2"
    assert decision.refusal == ""
    assert [owner.budget().openings - was for owner, was in zip(shared.owners, before)] == [0, 1, 1]
    stranger = shared.matcher.identify(people, shared.probe(9))
    part = one.decide_part(stranger, [1, 2], fpir=0.1)
    refused = two.decide(stranger, fpir=0.1, parts=part)
    assert (refused.accepted, refused.identity, refused.refusal) == (False, "", "")
    mine = shared.client.encrypt_each(shared.rows(range(1, 2), 1))
    for claimed, accepted in (("person 1", True), ("person 3", False)):
        claim = shared.matcher.verify(people, mine, claimed)
        part = three.decide_part(claim, [1, 3], score=ACCEPT)
        assert one.decide(claim, score=ACCEPT, parts=[part]).accepted == accepted


def test_scores_are_numpys(shared: SharedWorld, people: str) -> None:
    reply = shared.matcher.identify(people, shared.probe(3))
    part = shared.owners[1].open_part(reply, [1, 2], publish=4)
    opened = shared.owner.open(reply, publish=4, parts=[part])
    probe = shared.plain(3, 1)
    probe /= np.linalg.norm(probe)
    assert len(opened.candidates) == 4 and opened.candidates[0].identity == "person 3"
    for candidate in opened.candidates:
        person = int(candidate.identity.split()[1])
        assert candidate.score == pytest.approx(float(probe @ shared.plain(person)), abs=NOISE)


def test_no_owner_opens_alone(shared: SharedWorld, people: str) -> None:
    one, two, three = shared.owners
    reply = shared.matcher.identify(people, shared.probe(0))
    charged = one.budget().openings
    alone: list[Callable[[], object]] = [
        lambda: one.decide(reply, score=ACCEPT), lambda: one.open(reply)]
    for refused in alone:
        with pytest.raises(heft.FailedPrecondition, match=r"2 of 3 owners.*KeyOwner.decide_part.*parts="):
            refused()
    for owners in ([1], [1, 1], [2, 3], [1, 4], [2, 1]):
        with pytest.raises(heft.InvalidArgument):
            one.decide_part(reply, owners, score=ACCEPT)
    assert one.encryption_key() == b"" and one.budget().openings == charged
    assert two.decide(reply, score=ACCEPT, parts=[
        three.decide_part(reply, [2, 3], score=ACCEPT)]).identity == "person 0"


def test_no_owner_approves_alone(shared: SharedWorld, people: str, gallery: str) -> None:
    one, _, three = shared.owners
    shared.matcher.enrol(gallery, shared.client.encrypt_each(shared.rows(range(2)), ["ann", "bob"]))
    request = shared.matcher.pending(gallery)
    with pytest.raises(heft.FailedPrecondition, match="2 of 3 owners"):
        one.approve(request)
    part = three.approve_part(request, [1, 3], reject="bob")
    other = three.approve_part(shared.matcher.pending(people), [1, 3])
    with pytest.raises(heft.FailedPrecondition, match="of another"):
        one.approve(request, reject="bob", parts=[other])
    done = one.approve(request, reject="bob", parts=[part])
    assert [verdict.approved for verdict in done.verdicts] == [True, False]


def test_a_part_is_for_one_reply_question_and_set(shared: SharedWorld, people: str) -> None:
    one, two, three = shared.owners
    reply, other = [shared.matcher.identify(people, shared.probe(0)) for _ in range(2)]
    part = one.decide_part(reply, [1, 2], score=ACCEPT)
    charged = two.budget().openings
    with pytest.raises(heft.FailedPrecondition, match="of another reply"):
        two.decide(other, score=ACCEPT, parts=[part])
    with pytest.raises(heft.FailedPrecondition, match="another question"):
        two.decide(reply, score=0.1, parts=[part])
    with pytest.raises(heft.FailedPrecondition, match="one of them combines, and this is owner 3"):
        three.decide(reply, score=ACCEPT, parts=[part])
    altered = bytearray(part)
    altered[len(altered) // 2] ^= 1
    with pytest.raises(heft.DataLoss):
        two.decide(reply, score=ACCEPT, parts=[altered])
    with pytest.raises(heft.FailedPrecondition):  # not a second time
        one.decide_part(reply, [1, 3], score=ACCEPT)
    assert two.budget().openings == charged
    assert two.decide(reply, score=ACCEPT, parts=[part]).accepted


def test_two_of_three_renew_blocks(shared: SharedWorld, gallery: str) -> None:
    """A person who was enrolled in bulk leaves with the parts of two owners."""
    one, two, _ = shared.owners
    labels = [f"person {i}" for i in range(25)]
    shared.matcher.enrol_many(gallery, shared.rows(range(25)), labels, client=shared.client)
    assert shared.activate(gallery).activated == 25
    held = heft.Gallery(gallery)
    held.fold(shared.matcher)
    assert held.remove(shared.matcher, ["person 7"]).leaving == 1
    request = held.ask_renewal(shared.matcher)
    with pytest.raises(heft.FailedPrecondition, match="2 of 3 owners"):
        one.renew(request)
    part = two.renew_part(request, [1, 2])
    with pytest.raises(heft.FailedPrecondition):
        two.renew_part(request, [1, 2])
    done = held.renew(shared.matcher, one.renew(request, parts=part).signed_renewal,
                      heft.Trust.load(shared.keys.keys.trust))
    assert done.erased == 1 and held.info().leaving == 0
    reply = shared.matcher.identify(held, shared.probe(8))
    part = two.decide_part(reply, [1, 2], score=ACCEPT)
    assert one.decide(reply, score=ACCEPT, parts=part).identity == "person 8"


def test_a_gallery_moves_to_another_shared_key(
        shared: SharedWorld, gallery: str, tmp_path: pathlib.Path) -> None:
    keys = [heft.make_shared_key_set(shared.model, tmp_path / name, 2, 2) for name in ("old", "new")]
    old, new = ([heft.KeyOwner.load(shared.model, share) for share in one.shares] for one in keys)
    files = keys[0].keys
    client = heft.Client(shared.model, files.encryption_key)
    matcher = heft.Matcher(shared.model, files.evaluation_keys, files.enrolment_keys)
    matcher.enrol(gallery, client.encrypt_each(shared.rows(range(2)), ["ann", "bob"]))
    request = matcher.pending(gallery)
    word = old[0].approve(request, parts=old[1].approve_part(request, [1, 2])).signed_admission
    matcher.activate(gallery, word, heft.Trust.load(files.trust))
    heft.Gallery(gallery).compact(matcher)
    with pytest.raises(heft.InvalidArgument):
        old[1].give_rekeying_part(new[1], [2], tmp_path / "part")
    old[1].give_rekeying_part(new[1], [1, 2], tmp_path / "part")
    with pytest.raises(heft.FailedPrecondition, match="revoked"):
        old[1].give_rekeying_part(new[1], [1, 2], tmp_path / "again")
    old[0].combine_rekeying_key(new[0], tmp_path / "part", tmp_path / "rekeying.key")
    ids = heft.Gallery(gallery).rekey(shared.model, tmp_path / "rekeying.key")
    assert ids == (files.key_id, keys[1].keys.key_id)
    files = keys[1].keys
    client = heft.Client(shared.model, files.encryption_key)
    matcher = heft.Matcher(shared.model, files.evaluation_keys, files.enrolment_keys)
    reply = matcher.identify(
        gallery, client.encrypt_each(shared.rows(range(1, 2), 1), use="identification"))
    part = new[1].decide_part(reply, [1, 2], score=ACCEPT)
    assert new[0].decide(reply, score=ACCEPT, parts=part).identity == "bob"
    for owner in [*old, *new]:
        owner.close()


def test_new_shares_take_the_old_ones_places(
        shared: SharedWorld, people: str, tmp_path: pathlib.Path) -> None:
    one, two, three = shared.owners
    before = shared.matcher.identify(people, shared.probe(1))
    old = one.decide_part(before, [1, 2], score=ACCEPT)
    blank = tmp_path / "blank.key"
    newcomer = heft.make_blank_share(shared.model, shared.keys.ceremony, 3, blank)
    with pytest.raises(heft.InvalidArgument, match="both"):
        one.give_new_shares([1, 2], replace=3)
    messages = [owner.give_new_shares([1, 2], replace=3, newcomer=newcomer) for owner in (one, two)]
    successor = load(shared.model, str(blank))
    assert successor.public_key == newcomer
    new = []
    for number, owner in enumerate([one, two, successor], start=1):
        path = tmp_path / f"share-{number}.key"
        owner.take_new_share(messages, path)
        shutil.copy(owner.journal_file, f"{path}.journal")
        new.append(load(shared.model, str(path)))
        with pytest.raises(heft.AlreadyExists):
            owner.take_new_share(messages, path)
    folder = pathlib.Path(shared.keys.ceremony).parent
    assert new[0].check_ceremony(folder).digest == new[2].check_ceremony(folder).digest
    assert all(owner.shared is not None and owner.shared.renewal == 1 for owner in new)
    one.take_new_share(messages, tmp_path / "sealed.key", passphrase="new")
    with pytest.raises(heft.FailedPrecondition, match="passphrase"):
        heft.KeyOwner.load(shared.model, tmp_path / "sealed.key")
    # Who is replaced gets none, and messages of one owner are not enough.
    with pytest.raises(heft.FailedPrecondition, match="replaced"):
        three.take_new_share(messages, tmp_path / "none.key")
    with pytest.raises(heft.InvalidArgument):
        two.take_new_share(messages[0], tmp_path / "none.key")
    # The new shares open, the successor's among them; a part by an old one does not fit them.
    reply = shared.matcher.identify(people, shared.probe(1))
    part = new[2].decide_part(reply, [2, 3], score=ACCEPT)
    assert new[1].decide(reply, score=ACCEPT, parts=[part]).identity == "person 1"
    with pytest.raises(heft.FailedPrecondition, match="another ceremony"):
        new[1].decide(before, score=ACCEPT, parts=[old])
    reply = shared.matcher.identify(people, shared.probe(1))
    with pytest.raises(heft.FailedPrecondition, match="journal"):  # which went on with the new share
        one.decide_part(reply, [1, 2], score=ACCEPT)
    for owner in [*new, successor]:
        owner.close()


def test_two_owners_make_a_key_without_a_dealer(shared: SharedWorld, tmp_path: pathlib.Path) -> None:
    """From the first message to a share of each, which check their ceremony and open together."""
    folders = [tmp_path / name for name in ("one", "two")]
    words = (None, "of two")
    with pytest.raises(heft.InvalidArgument):
        heft.join_key_set(shared.model, folders[0], owners=4)
    steps = [heft.join_key_set(shared.model, folder, owners=2, passphrase=word)
             for folder, word in zip(folders, words)]
    while steps[0].round < 6:
        messages = [step.message for step in steps]
        with pytest.raises(heft.InvalidArgument):
            heft.join_key_set(shared.model, folders[0], messages[1:])
        steps = [heft.join_key_set(shared.model, folder, messages, passphrase=word)
                 for folder, word in zip(folders, words)]
    assert sorted(step.owner for step in steps) == [1, 2]
    assert steps[0].keys.key_id == steps[1].keys.key_id
    owners = [load(shared.model, step.share, word) for step, word in zip(steps, words)]
    checks = [owner.check_ceremony(folders[0]) for owner in owners]
    assert checks[0].digest == checks[1].digest
    assert all(check.joint and check.shared.threshold == 2 for check in checks)
    for owner in owners:
        owner.close()
