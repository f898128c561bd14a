# SPDX-License-Identifier: Apache-2.0
"""The roles together: enrol, activate, identify, verify, decide, and scores as NumPy has them."""

import numpy as np
import pytest

import heft
from conftest import SAMPLES, World

NOISE = 2e-3 + 5e-4  # of a score, and its rounding


def test_the_right_person_is_named(world: World, gallery: str) -> None:
    done = world.enrol(gallery)
    assert (done.activated, done.rejected, done.templates) == (8, 0, 8)
    reply = world.matcher.identify(gallery, world.probe(5))
    decision = world.owner.decide(reply, fpir=0.1)
    assert decision.accepted and decision.identity == "person 5"
    assert decision.kind == "identification" and decision.threshold.of == "searches"
    with pytest.raises(heft.FailedPrecondition, match="opened"):
        world.owner.open(reply)


def test_scores_are_numpys(world: World, gallery: str) -> None:
    world.enrol(gallery)
    opened = world.owner.open(world.matcher.identify(gallery, world.probe(3)), publish=8)
    probe = world.plain(3, 1)
    probe /= np.linalg.norm(probe)  # of probes, the key owner divides by the length itself
    assert len(opened.candidates) == 8 and opened.searched == 8
    for candidate in opened.candidates:
        person = int(candidate.identity.split()[1])
        assert candidate.score == pytest.approx(float(probe @ world.plain(person)), abs=NOISE)
    frame = opened.to_dataframe()
    assert list(frame.columns) == ["identity", "score", "templates", "log_likelihood_ratio"]
    assert frame.score.is_monotonic_decreasing and frame.identity[0] == "person 3"


def test_claims(world: World, gallery: str) -> None:
    world.enrol(gallery)
    mine = world.client.encrypt_each(world.rows(range(2, 3), 1))
    right = world.owner.decide(world.matcher.verify(gallery, mine, "person 2"), fmr=0.05)
    assert right.accepted and right.identity == "person 2" and right.kind == "verification"
    wrong = world.owner.decide(world.matcher.verify(gallery, mine, "person 6"), score=0.6)
    assert not wrong.accepted and wrong.identity == ""
    nobody = world.owner.open(world.matcher.verify(gallery, mine, "somebody else"))
    assert nobody.claimed == "somebody else" and nobody.candidates[0].score <= 0.26


def test_many_probes(world: World, gallery: str) -> None:
    world.enrol(gallery)
    files = world.client.encrypt_each(world.rows(range(0, 4), 1), use="identification")
    replies = world.matcher.identify_all(gallery, files)
    names = [world.owner.decide(reply, score=0.5).identity for reply in replies]
    assert names == [f"person {i}" for i in range(4)]
    taken: list[int] = []
    assert world.matcher.identify_all(gallery, files, use=lambda row, reply: taken.append(row)) == []
    assert taken == [0, 1, 2, 3]
    together = world.matcher.identify_together(
        gallery, [world.probe(1), {"face": b"no samples"}, world.probe(2)])
    assert isinstance(together[1], heft.DataLoss)
    for reply, name in ((together[0], "person 1"), (together[2], "person 2")):
        assert isinstance(reply, bytes)
        assert world.owner.decide(reply, score=0.5).identity == name
    mine = world.client.encrypt_each(world.rows(range(2, 4), 1))
    claims = world.matcher.verify_all(gallery, mine, "person 2")
    accepted = [world.owner.decide(reply, score=0.6).accepted for reply in claims]
    assert accepted == [True, False]


def test_a_function_that_fails_ends_the_call_with_its_own_exception(
        world: World, gallery: str) -> None:
    world.enrol(gallery)
    files = world.client.encrypt_each(world.rows(range(0, 2), 1), use="identification")

    def fails(row: int, reply: bytes) -> None:
        raise KeyError(row)

    with pytest.raises(KeyError):
        world.matcher.identify_all(gallery, files, use=fails)


def test_many_are_enrolled_in_one_call(world: World, gallery: str) -> None:
    people = 20
    rng = np.random.default_rng(1)
    vectors = {name: np.repeat(rows, 30, axis=0) for name, rows in world.rows(range(people)).items()}
    labels = np.repeat(np.array([f"person {i}" for i in range(people)]), 30)
    for rows in vectors.values():
        rows += rng.normal(0, 1e-3, rows.shape).astype(np.float32)
    steps: list[tuple[int, int]] = []
    done = world.matcher.enrol_many(
        gallery, vectors, labels, client=world.client, owner=world.owner,
        metadata={"site": "berlin"},
        progress=lambda what, count, total, note: steps.append((count, total)))
    assert done.brought == done.activated == done.templates == 600 and done.pending == 0
    assert steps[0] == (0, 600) and steps[-1] == (600, 600)
    reply = world.matcher.identify(gallery, world.probe(11), where="site=berlin")
    opened = world.owner.open(reply)
    assert opened.candidates[0].identity == "person 11" and opened.candidates[0].templates == 30
    nobody = world.owner.open(world.matcher.identify(gallery, world.probe(11), where=["site=paris"]))
    assert nobody.where == ["site=paris"] and nobody.searched == 0 and nobody.candidates == []
    with pytest.raises(heft.InvalidArgument, match="labels"):
        world.matcher.enrol_many(gallery, vectors, labels[1:], client=world.client)


def test_a_function_may_admit(world: World, gallery: str) -> None:
    asked: list[bytes] = []

    def activate(request: bytes) -> bytes:
        asked.append(request)
        return world.owner.approve(request, reject="person 1").signed_admission

    done = world.matcher.enrol_many(
        gallery, world.rows(range(3)), ["person 0", "person 1", "person 2"], client=world.client,
        owner=activate)
    assert (done.activated, done.rejected) == (0, 3) or (done.activated, done.rejected) == (2, 1)
    assert len(asked) == 1 and heft.inspect(asked[0]).kind == "ADRQ"


def test_a_client_that_fuses(world: World, gallery: str) -> None:
    labels = [f"person {i}" for i in range(4)]
    world.matcher.enrol(gallery, world.client.encrypt_fused(world.rows(range(4)), labels))
    world.activate(gallery)
    probe = world.client.encrypt_fused(world.rows(range(2, 3), 1), use="identification")
    assert world.owner.decide(world.matcher.identify(gallery, probe), score=0.5).identity == "person 2"


def test_the_mean_of_several_samples(world: World, gallery: str) -> None:
    at = slice(3 * SAMPLES, 3 * SAMPLES + 4)
    rows = {name: world.data.vectors(name)[at] for name in world.data.modalities}
    world.enrol(gallery, range(3))
    world.matcher.enrol(gallery, world.client.encrypt_each(rows, ["three"] * 4), average=True)
    assert world.activate(gallery).templates == 4
    reply = world.matcher.identify(gallery, world.probe(3, 5))
    assert world.owner.decide(reply, score=0.5).identity == "three"


def test_who_waits_is_named_before_anything_is_decided(world: World, gallery: str) -> None:
    world.matcher.enrol(gallery, world.client.encrypt_each(world.rows(range(2)), ["ann", "bob"]))
    inquiry = world.owner.inquiry(world.matcher.pending(gallery))
    assert [p.identity for e in inquiry.enrolments for p in e.people] == ["ann", "bob"]
    admissions = world.owner.approve(world.matcher.pending(gallery))
    assert [(v.identity, v.approved) for v in admissions.verdicts] == [("ann", True), ("bob", True)]


def test_a_new_name_of_two_enrolments_waits_for_a_choice(world: World, gallery: str) -> None:
    for row in range(2):
        world.matcher.enrol(gallery, world.client.encrypt_each(world.rows(range(row, row + 1)), ["ann"]))
    assert [e.identities for e in heft.Gallery(gallery).pending()] == [["ann"], ["ann"]]
    done = world.owner.approve(world.matcher.pending(gallery))
    (contested,) = done.contested
    assert not done.verdicts and contested.identity == "ann" and contested.elsewhere == 0
    chosen, other = [claim.entry for claim in contested.claims]
    assert {claim.client for claim in contested.claims} == {""}
    held = world.owner.approve(world.matcher.pending(gallery), hold=[other])
    assert held.contested[0].elsewhere == 1
    (verdict,) = world.owner.approve(world.matcher.pending(gallery), entries=[chosen]).verdicts
    assert verdict.approved
    inquiry = world.owner.inquiry(world.matcher.pending(gallery))
    assert [p.others for e in inquiry.enrolments for p in e.people] == [1, 1] and inquiry.more == 0
    with pytest.raises(heft.NotFound):
        world.owner.approve(world.matcher.pending(gallery), entries=["00" * 32])


def test_rejections_are_grouped_by_cause(world: World, gallery: str) -> None:
    names = ["ann", "bob", "cyd"]
    world.matcher.enrol(gallery, world.client.encrypt_each(world.rows(range(3)), names))
    done = world.owner.approve(world.matcher.pending(gallery), reject=["ann", "cyd"])
    assert [v.rejection for v in done.verdicts] == ["REJECTED", "", "REJECTED"]
    (group,) = done.groups
    assert (group.rejection, group.cause, group.remedy) == ("REJECTED", "rejected by name", "")
    assert group.identities == ["ann", "cyd"]


def test_an_idempotency_key_answers_again(world: World, gallery: str) -> None:
    files = world.client.encrypt_each(world.rows(range(2)), ["ann", "bob"])
    first = world.matcher.enrol(gallery, files, idempotency_key="one")
    again = world.matcher.enrol(gallery, files, idempotency_key="one")
    assert not first.repeated and again.repeated and again.brought == 2
    with pytest.raises(heft.AlreadyExists):
        world.matcher.enrol(gallery, files)
