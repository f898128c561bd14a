# SPDX-License-Identifier: Apache-2.0
"""Galleries in buckets: each person into his own, a search of all of them, and of nothing less."""

import hashlib
import pathlib
from typing import Iterator, NamedTuple

import pytest

import heft
from conftest import World

BUCKETS = 3
PEOPLE = range(8)


class Crowd(NamedTuple):
    """A gallery in buckets, and its key owner, who believes its server."""

    name: str
    shards: heft.ShardList
    owner: heft.KeyOwner
    client: heft.Client
    matcher: heft.Matcher
    world: World

    def probe(self, person: int, use: str = "identification") -> dict[str, bytes]:
        rows = self.world.rows(range(person, person + 1), 1)
        return self.client.encrypt_each(rows, use=use)  # type: ignore[arg-type]

    def search(self, person: int) -> list[bytes]:
        return self.matcher.identify_shards(self.name, self.shards, self.probe(person),
                                            audience=self.owner.public_key)


@pytest.fixture(scope="module")
def crowd(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Crowd]:
    name = str(tmp_path_factory.mktemp("crowd") / "store:people")
    with heft.KeyOwner.generate(world.model) as owner:
        owner.set_budget(scores=10**6, decisions=10**6, client_bits=10**9, rejections=10**6)
        client = heft.Client(world.model, owner.encryption_key())
        matcher = heft.Matcher(world.model, owner.evaluation_keys(), owner.enrolment_keys())
        shards = heft.ShardList.create(matcher, name, BUCKETS)
        files = client.encrypt_each(world.rows(PEOPLE), [f"person {i}" for i in PEOPLE])
        assert matcher.enrol(name, files, shards=shards).brought == len(PEOPLE)
        assert matcher.enrol(name, files, shards=shards).repeated
        trust = heft.Trust()
        trust.add("server", "matcher", heft.Gallery(f"{name}.000").server_key)
        for bucket in shards.open(name):
            word = owner.approve(matcher.pending(bucket), shards=shards)
            assert all(verdict.approved for verdict in word.verdicts)
            matcher.activate(bucket, word.signed_admission, owner.public_key)
        owner.require_signed(trust)
        yield Crowd(name, shards, owner, client, matcher, world)


def test_the_list_says_who_belongs_where(crowd: Crowd, tmp_path: pathlib.Path) -> None:
    shards = crowd.shards
    assert len(shards) == len(shards.buckets) == BUCKETS and shards.gallery == "people"
    ids = b"".join(map(bytes.fromhex, shards.buckets))
    assert shards.gallery_id == hashlib.sha256(ids).hexdigest()[:32]
    shards.save(tmp_path / "people.shards")
    same = (heft.ShardList.load(tmp_path / "people.shards"), heft.ShardList.parse(str(shards)),
            heft.ShardList("people", shards.buckets))
    assert all(one == shards for one in same) and shards != "people"
    assert heft.bucket_of("ann", 8) == 1 and heft.bucket_address("store:people", 7) == "store:people.007"
    for i in PEOPLE:
        bucket = shards.bucket_of(f"person {i}")
        held = shards.open_bucket(crowd.name, bucket)
        assert f"person {i}" in held.identities() and shards.find(held.gallery_id) == bucket
    assert shards.find("0" * 32) is None
    with pytest.raises(heft.DataLoss, match="no shard list"):
        heft.ShardList.parse("{}")
    with pytest.raises(heft.InvalidArgument, match="twice"):
        heft.ShardList("people", shards.buckets[:1] * 2)
    with pytest.raises(heft.FailedPrecondition, match="shard list"):
        heft.ShardList("people", shards.buckets[::-1]).open(crowd.name)
    with pytest.raises(heft.AlreadyExists):
        heft.ShardList.create(crowd.matcher, crowd.name, BUCKETS)
    with pytest.raises(TypeError):
        hash(shards)


def test_a_search_is_of_all_buckets(crowd: Crowd) -> None:
    replies = crowd.search(4)
    assert len(replies) == BUCKETS
    owner, shards = crowd.owner, crowd.shards
    for part, why in ((replies[:-1], "no reply of 2"), (replies + replies[:1], "a second reply"),
                      (replies[:-1] + crowd.search(4)[-1:], "another request")):
        with pytest.raises(heft.FailedPrecondition, match=why):
            owner.open(part, shards=shards)
        with pytest.raises(heft.FailedPrecondition, match=why):
            owner.decide(part, score=0.5, shards=shards)
    with pytest.raises(heft.InvalidArgument, match="give a list"):
        owner.open(replies[0], shards=shards)
    before = owner.budget().openings
    opened = owner.open(reversed(replies), publish=2, shards=shards)
    assert opened.candidates[0].identity == "person 4" and opened.searched == len(PEOPLE)
    assert owner.budget().openings == before + 1
    with pytest.raises(heft.FailedPrecondition, match="opened before"):
        owner.open(replies, shards=shards)


def test_decisions_and_claims(crowd: Crowd) -> None:
    owner, shards = crowd.owner, crowd.shards
    assert owner.threshold_for(crowd.search(2), score=0.5, shards=shards).score == 0.5
    assert owner.decide(crowd.search(2), score=0.5, shards=shards).identity == "person 2"
    bucket = shards.open_bucket(crowd.name, shards.bucket_of("person 6"))
    claim = crowd.matcher.verify(bucket, crowd.probe(6, "enrolment"), "person 6",
                                 audience=owner.public_key)
    decision = owner.decide([claim], score=0.5, shards=shards)
    assert decision.accepted and decision.claimed == "person 6"


def test_others_leaves_out_whom_the_label_names(crowd: Crowd) -> None:
    def decide(others: bool) -> heft.Decision:
        files = crowd.client.encrypt_each(crowd.world.rows(range(3, 4), 1), ["person 3"],
                                          use="identification")
        replies = crowd.matcher.identify_shards(crowd.name, crowd.shards, files,
                                                audience=crowd.owner.public_key)
        return crowd.owner.decide(replies, score=0.5, others=others, shards=crowd.shards)

    assert decide(False).identity == "person 3"
    assert decide(True).identity != "person 3"


def test_who_belongs_elsewhere_is_rejected(crowd: Crowd) -> None:
    wrong = (crowd.shards.bucket_of("late") + 1) % BUCKETS
    bucket = crowd.shards.open_bucket(crowd.name, wrong)
    crowd.matcher.enrol(bucket, crowd.client.encrypt_each(crowd.world.rows(range(20, 21)), ["late"]))
    with heft.KeyOwner.generate(crowd.world.model) as other:
        with pytest.raises(heft.FailedPrecondition):
            other.approve(crowd.matcher.pending(bucket), shards=crowd.shards)
    pending = crowd.matcher.pending(bucket)
    said = crowd.owner.approve(pending, shards=crowd.shards).verdicts[0]
    assert not said.approved and "belongs into bucket" in said.reason
