# SPDX-License-Identifier: Apache-2.0
"""Galleries: what is in them, pages, removal, copies, another key."""

import pathlib
from typing import Any, cast

import pytest

import heft
from conftest import World


def test_looks(world: World, gallery: str) -> None:
    made = heft.Gallery.create(gallery, world.matcher)
    assert len(made) == 0 and made.pending() == []
    with pytest.raises(heft.AlreadyExists):
        heft.Gallery.create(gallery, world.matcher)
    world.enrol(gallery, metadata={"site": "berlin", "list": ["a", "b"]})
    info = made.info(world.model)
    assert (info.templates, info.pending, info.gamma, info.name) == (8, 0, 16, "main")
    assert info.gallery_id == made.gallery_id and info.key_id == world.owner.key_id == made.key_id
    assert info.noise_margin is not None and 0 < info.noise_margin <= 1
    assert made.info().noise_margin is None and info.to_dict()["templates"] == 8
    assert made.identities() == [f"person {i}" for i in range(8)]
    person = made.person("person 3")
    assert person.templates[0].metadata == {"site": ["berlin"], "list": ["a", "b"]}
    assert made.person("nobody").templates == []
    assert made.verify(world.model).intact


def test_pages(world: World, gallery: str) -> None:
    world.enrol(gallery)
    held = heft.Gallery(gallery)
    found: list[str] = []
    start = 0
    while True:
        page, following = held.page(start, 3)
        assert len(page) <= 3
        found += [t.identity for t in page]
        if following is None:
            break
        start = following
    assert found == [f"person {i}" for i in range(8)]
    assert held.page(where="site=berlin")[0] == []
    frame = held.to_dataframe()
    assert list(frame.identity) == found and list(frame.position) == list(range(8))


def test_removal(world: World, gallery: str) -> None:
    world.enrol(gallery)
    held = heft.Gallery(gallery)
    before = held.generation
    done = held.remove(world.matcher, "person 2")
    assert done.removed == done.erased == 1 and done.leaving == 0 and done.overwritten
    assert len(done.receipts) == 1 and heft.is_signed(done.receipts[0])
    assert len(held) == 7 and held.generation > before
    with pytest.raises(heft.NotFound):
        held.remove(world.matcher, ["person 2"])
    opened = world.owner.open(world.matcher.identify(held, world.probe(2)))
    assert "person 2" not in [c.identity for c in opened.candidates]


def test_who_was_enrolled_in_bulk_leaves_with_the_key_owners_help(
        world: World, gallery: str) -> None:
    people = range(25)
    labels = [f"person {i}" for i in people]
    world.matcher.enrol_many(gallery, world.rows(people), labels, client=world.client,
                             owner=world.owner)
    held = heft.Gallery(gallery)
    assert held.remove(world.matcher, ["person 7"]).leaving == 1
    trust = heft.Trust()
    trust.add("key-owner", "owner", world.owner.public_key)
    answer = world.owner.renew(held.ask_renewal(world.matcher)).signed_renewal
    done = held.renew(world.matcher, answer, trust)
    assert done.erased == 1 and done.leaving == 0 and held.info().leaving == 0
    assert world.owner.decide(world.matcher.identify(held, world.probe(8)), score=0.5).accepted


def test_roll_back_and_compact(world: World, gallery: str) -> None:
    world.enrol(gallery, range(3))
    held = heft.Gallery(gallery)
    then = held.generation
    world.enrol(gallery, range(3, 5))
    assert held.roll_back(world.matcher, then).removed == 2
    held.fold(world.matcher)
    assert held.compact(world.matcher).damaged == [] and len(held) == 3
    assert held.remove_expired(world.matcher).removed == 0


def test_copies(world: World, gallery: str, tmp_path: pathlib.Path) -> None:
    world.enrol(gallery)
    held = heft.Gallery(gallery)
    copies = held.snapshot(tmp_path / "copy")
    assert [(c.name, c.gallery_id) for c in copies] == [("main", held.gallery_id)]
    held.remove(world.matcher, ["person 1"])
    held.close()
    with pytest.raises(heft.FailedPrecondition):
        heft.Gallery.restore(tmp_path / "copy", gallery)
    back = heft.Gallery.restore(tmp_path / "copy", gallery, matcher=world.matcher, accept_older=True)
    assert back.older and back.erased == 1, "erasure goes before restore"
    assert len(heft.Gallery(gallery)) == 7
    heft.Gallery(gallery).export(tmp_path / "export")
    assert len(heft.Gallery(str(tmp_path / "export"))) == 7


def test_another_key(world: World, gallery: str, tmp_path: pathlib.Path) -> None:
    old = heft.KeyOwner.generate(world.model, tmp_path / "old")
    client = heft.Client(world.model, tmp_path / "old" / "encryption.key")
    matcher = heft.Matcher(world.model, *(tmp_path / "old" / name for name in
                                          ("evaluation.keys", "enrolment.keys")))
    matcher.enrol(gallery, client.encrypt_each(world.rows(range(3)), ["ann", "bob", "cy"]))
    word = old.approve(matcher.pending(gallery)).signed_admission
    matcher.activate(gallery, word, old.public_key)
    heft.Gallery(gallery).compact(matcher)
    rekeying = old.rekey(tmp_path / "new")
    assert old.budget().successor is not None
    new = heft.KeyOwner.load(world.model, tmp_path / "new")
    assert heft.Gallery(gallery).rekey(world.model, rekeying) == (old.key_id, new.key_id)
    client = heft.Client(world.model, tmp_path / "new" / "encryption.key")
    matcher = heft.Matcher(world.model, *(tmp_path / "new" / name for name in
                                          ("evaluation.keys", "enrolment.keys")))
    probe = client.encrypt_each(world.rows(range(1, 2), 1), use="identification")
    assert new.decide(matcher.identify(gallery, probe), score=0.5).identity == "bob"


def test_enrol_many_says_where_to_go_on(world: World, gallery: str) -> None:
    rows, labels = world.rows(range(3)), ["a", "b", "c"]

    def fails(request: bytes) -> bytes:
        raise ZeroDivisionError("no answer")

    def enrol(start: int, owner: Any) -> heft.EnrolManyResult:
        return world.matcher.enrol_many(gallery, rows, labels, client=world.client, owner=owner,
                                        start=start)

    stranger = heft.KeyOwner.generate(world.model)
    for owner, start in ((fails, 0), (stranger, 3)):
        with pytest.raises((ZeroDivisionError, heft.Error)) as caught:
            enrol(start, owner)
        assert cast(Any, caught.value).start == 3
    done = enrol(3, world.owner)
    assert (done.brought, done.activated, done.pending, done.templates) == (0, 3, 0, 3)
    assert enrol(3, world.owner).activated == 0
    for start, owner in ((3, None), (4, world.owner)):
        with pytest.raises(heft.InvalidArgument, match="there is none"):
            enrol(start, owner)


def test_a_kept_error_holds_no_state_of_a_gallery(world: World, gallery: str) -> None:
    world.enrol(gallery)
    with pytest.raises(heft.Error) as kept:
        world.matcher.identify(gallery, world.client.encrypt_each(world.rows(range(1))))
    heft.set_writer_wait(0)
    try:
        removed = heft.Gallery(gallery).remove(world.matcher, ["person 1"])
        assert removed.receipts, "somebody still reads the state with this person"
    finally:
        heft.set_writer_wait(60)
    assert "identification" in str(kept.value)
