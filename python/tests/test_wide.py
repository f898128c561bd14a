# SPDX-License-Identifier: Apache-2.0
"""1,024 fused dimensions, in this process and through both services."""

import pathlib
from typing import Iterator

import pytest

import heft
import test_service
from conftest import SAMPLES, World
from test_service import Daemons, start_daemons


@pytest.fixture(scope="module")
def wide() -> Iterator[World]:
    data = heft.TrainingData.synthesise(
        identities=30, samples=SAMPLES, dimensions=(272, 256), jitter=0.1,
        within=0.3, noise=0.3)
    model = heft.Model.train(data, method="none").calibrate(data)
    assert model.gamma == 1024
    with heft.KeyOwner.generate(model) as owner:
        owner.set_budget(scores=10**6, decisions=10**6, client_bits=10**9, rejections=10**6)
        client = heft.Client(model, owner.encryption_key())
        with heft.Matcher(model, owner.evaluation_keys(), owner.enrolment_keys()) as matcher:
            yield World(data, model, owner, client, matcher)


def test_from_enrolment_to_removal(wide: World, gallery: str) -> None:
    done = wide.enrol(gallery, range(2))
    assert (done.activated, done.rejected, done.templates) == (2, 0, 2)
    held = heft.Gallery(gallery)
    trust = heft.Trust()
    trust.add("server", "door", held.server_key)

    request = wide.probe(1)
    reply = wide.matcher.identify(gallery, request)
    assert wide.matcher.audit_reply(gallery, reply, held.reveal_seed(reply), [request], trust)
    decision = wide.owner.decide(reply, fpir=0.1)
    assert decision.accepted and decision.identity == "person 1"

    claim = wide.client.encrypt_each(wide.rows(range(0, 1), 1))
    replies = [wide.matcher.verify(gallery, claim, name) for name in ("person 0", "person 1")]
    assert [wide.owner.decide(r, fmr=0.01).accepted for r in replies] == [True, False]

    gone = held.remove(wide.matcher, "person 1")
    assert gone.erased == 1 and heft.read_receipt(gone.receipts[0]).gallery_id == held.gallery_id
    opened = wide.owner.open(wide.matcher.identify(gallery, wide.probe(1, 2)))
    assert [c.identity for c in opened.candidates] == ["person 0"]


@pytest.fixture(scope="module")
def daemons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemons]:
    yield from start_daemons(tmp_path_factory.mktemp("services"), "wide", people=2)


def test_services(daemons: Daemons) -> None:
    with daemons.connect("client") as service, daemons.connect("registrar") as registrar:
        client = service.client()
        assert service.model().gamma == 1024
        probe = client.encrypt_each(daemons.rows(test_service.SAMPLES + 1), use="identification")
        decision = service.identify("visitors", probe, deadline=30)
        assert decision.accepted and decision.identity == "person 1"
        claim = client.encrypt_each(daemons.rows(2))
        assert service.verify("visitors", "person 0", claim, deadline=30).accepted
        gone = registrar.remove("person 1")
        assert gone["galleries"][0]["removed"] == 1 if "galleries" in gone else "taskId" in gone
    with daemons.connect("operator") as operator:
        trust = heft.Trust()
        trust.add("server", "matcher", (daemons.work / "matcher/store/server.pub").read_text())
        assert len(list(operator.receipts("visitors", trust=trust))) == 1
        assert operator.statistics("visitors")["templates"] == 1
