# SPDX-License-Identifier: Apache-2.0
"""The client of the services, against both daemons."""

import base64
import json
import pathlib
import pickle
import shutil
import subprocess
from dataclasses import dataclass
from typing import Iterator

import numpy as np
import pytest

import heft
import heft.decision_keys
import heft.service
from heft.service import Service

PEOPLE = 6
SAMPLES = 4


@dataclass
class Daemons:
    """Where they are, and vectors of people."""

    work: pathlib.Path
    matcher: str
    decider: str
    data: heft.TrainingData

    def connect(self, name: str, url: str = "") -> Service:
        pki = self.work / "pki"
        return Service(url or self.matcher, authorities=pki / "ca.pem",
                       certificate=pki / f"{name}.pem", private_key=pki / f"{name}.key")

    def rows(self, row: int) -> dict[str, "np.ndarray[tuple[int], np.dtype[np.float32]]"]:
        return {name: self.data.vectors(name)[row] for name in self.data.modalities}


def start_daemons(work: pathlib.Path, *options: str, people: int = PEOPLE) -> Iterator[Daemons]:
    """Both services, and people who are enrolled, until the iterator ends."""
    script = pathlib.Path(__file__).with_name("service_world.sh")
    program = subprocess.Popen([script, work, *options],
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert program.stdin is not None and program.stdout is not None
    urls = program.stdout.readline().split()
    try:
        assert len(urls) == 2, "the services did not start"
        world = Daemons(work, urls[0], urls[1], heft.TrainingData.load(work / "data"))
        with world.connect("registrar") as registrar, world.connect("client") as asks:
            client = asks.client(heft.Trust.load(work / "matcher" / "trust.heft"))
            for person in range(people):
                files = client.encrypt_each(world.rows(person * SAMPLES))
                said = registrar.enrol(f"person {person}", "visitors", files, wait=20,
                                       metadata={"site": "berlin" if person % 2 else "paris"})
                assert said["others"]["status"] == "active"
        yield world
    finally:
        program.stdin.close()
        program.wait(60)
        shutil.rmtree(work)


@pytest.fixture(scope="module")
def daemons(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Daemons]:
    yield from start_daemons(tmp_path_factory.mktemp("services"))


def test_who_is_it(daemons: Daemons) -> None:
    with daemons.connect("client") as service:
        assert service.ready()
        client = service.client()
        probe = client.encrypt_each(daemons.rows(2 * SAMPLES + 1), use="identification")
        decision = service.identify("visitors", probe, deadline=20)
        assert decision.accepted and decision.identity == "person 2"
        assert decision.kind == "identification" and "score" not in decision.claims
        elsewhere = client.encrypt_each(daemons.rows(2 * SAMPLES + 2), use="identification")
        assert service.identify("visitors", elsewhere, where={"site": "berlin"}).identity != "person 2"


def test_an_api_key_in_development(daemons: Daemons) -> None:
    authorities = daemons.work / "pki" / "ca.pem"
    key = (daemons.work / "notebook.key").read_text().strip()
    with Service(daemons.matcher, authorities=authorities, api_key=key) as service:
        probe = service.client().encrypt_each(daemons.rows(3 * SAMPLES + 1), use="identification")
        assert service.identify("visitors", probe, deadline=20).identity == "person 3"
        with pytest.raises(heft.PermissionDenied):
            service.remove("person 3")
    with Service(daemons.matcher, authorities=authorities, api_key=key + "0") as service:
        with pytest.raises(heft.Unauthenticated, match="API key"):
            service.galleries()
    with pytest.raises(heft.InvalidArgument, match="or an api_key"):
        Service(daemons.matcher, authorities=authorities)


def test_a_workspace_over_https(daemons: Daemons) -> None:
    """The calls of heft.Workspace: add, search, verify and remove, with a service's address."""
    pki = daemons.work / "pki"

    def workspace(name: str) -> heft.service.Workspace:
        made: object = heft.Workspace(daemons.matcher, "visitors",
                                      trust=daemons.work / "matcher" / "trust.heft",
                                      authorities=pki / "ca.pem", certificate=pki / f"{name}.pem",
                                      private_key=pki / f"{name}.key")
        assert isinstance(made, heft.service.Workspace)
        return made

    def rows(*wanted: int) -> dict[str, "np.ndarray[tuple[int, int], np.dtype[np.float32]]"]:
        return {name: daemons.data.vectors(name)[list(wanted)] for name in daemons.data.modalities}

    new = [PEOPLE, PEOPLE + 1]
    with workspace("registrar") as people:
        added = people.add(rows(*(person * SAMPLES for person in new)), ["new 0", "new 1"])
        assert (added.added, added.pending, added.rejected) == (2, 0, 0)
        with pytest.raises(heft.InvalidArgument, match="two rows"):
            people.add(rows(0, 1), ["twice", "twice"])
        with pytest.raises(heft.InvalidArgument, match="1 for 2 rows"):
            people.add(rows(0, 1), ["one"])
        with pytest.raises(heft.InvalidArgument, match="one for each row"):
            people.add(rows(0, 1))
    with workspace("client") as people:
        found = people.search(rows(new[0] * SAMPLES + 1, new[1] * SAMPLES + 1))
        assert [decision.identity for decision in found] == ["new 0", "new 1"]
        claims = people.verify(rows(new[0] * SAMPLES + 2, new[1] * SAMPLES + 2), "new 1")
        assert [decision.accepted for decision in claims] == [False, True]
        with pytest.raises(heft.PermissionDenied):
            people.remove("new 0")
    with workspace("registrar") as people:
        people.remove(["new 0", "new 1"])
        with pytest.raises(heft.NotFound):
            people.remove("new 0")


def test_is_it_she(daemons: Daemons) -> None:
    with daemons.connect("client") as service:
        client = service.client()
        right = service.verify("visitors", "person 3", client.encrypt_each(daemons.rows(3 * SAMPLES + 1)))
        wrong = service.verify("visitors", "person 4", client.encrypt_each(daemons.rows(3 * SAMPLES + 2)))
        assert right.accepted and not wrong.accepted


def test_a_decision_is_signed_for_somebody(daemons: Daemons) -> None:
    with daemons.connect("client") as service, daemons.connect("operator", daemons.decider) as decider:
        client = service.client()
        decision = service.verify("visitors", "person 1",
                                  client.encrypt_each(daemons.rows(SAMPLES + 1)), audience="door 7",
                                  challenge="3f9a")
        keys = heft.decision_keys.DecisionKeys.fetch(decider)
        said = {"issuer": "demo", "audience": "door 7", "challenge": "3f9a", "claimed": "person 1"}

        def check(jws: str, said: dict[str, str]) -> heft.service.Decision:
            return keys.check(jws, issuer=said["issuer"], audience=said["audience"],
                              challenge=said["challenge"], claimed=said["claimed"])

        checked = check(decision.jws, said)
        assert checked.accepted == decision.accepted and checked.identity == decision.identity
        for name, other in (("issuer", "x"), ("audience", "door 8"), ("challenge", ""),
                            ("claimed", "person 2"), ("claimed", "")):
            with pytest.raises(heft.FailedPrecondition):
                check(decision.jws, {**said, name: other})
        head, claims, signature = decision.jws.split(".")
        changed = json.loads(base64.urlsafe_b64decode(claims + "=="))
        changed["accepted"] = not decision.accepted
        forged = base64.urlsafe_b64encode(json.dumps(changed).encode()).decode().rstrip("=")
        with pytest.raises(heft.DataLoss):
            check(f"{head}.{forged}.{signature}", said)
        with pytest.raises(heft.DataLoss):
            check("no decision", said)


def test_the_key_owner_opens_what_the_service_answered(daemons: Daemons) -> None:
    with daemons.connect("client") as service:
        client = service.client()
        reply = service.scores("visitors", client.encrypt_each(daemons.rows(1), use="identification"))
        assert heft.inspect(reply).name == "encrypted scores" and heft.is_signed(reply)


def test_lists_tasks_and_removal(daemons: Daemons) -> None:
    with daemons.connect("registrar") as registrar, daemons.connect("operator") as operator:
        names = {p["personId"] for p in registrar.persons("visitors", page=2)}
        assert names == {f"person {i}" for i in range(PEOPLE)}
        paris = {p["personId"] for p in registrar.persons("visitors", where="site=paris")}
        assert paris == {f"person {i}" for i in range(0, PEOPLE, 2)}
        assert [g["name"] for g in operator.galleries()] == ["visitors"]
        checked = operator.wait_for(operator.begin("visitors", "verify"))
        assert checked.get("intact", True)
        gone = registrar.remove("person 5")
        assert gone["galleries"][0]["removed"] == 1 if "galleries" in gone else "taskId" in gone
        assert operator.statistics("visitors")["templates"] == PEOPLE - 1
        trust = heft.Trust()
        trust.add("server", "matcher", (daemons.work / "matcher/store/server.pub").read_text())
        with pytest.raises(heft.NotFound):
            registrar.remove("person 5")
        with daemons.connect("operator") as auditor:
            assert list(auditor.receipts("visitors", trust=trust))


def test_refusals_are_errors_of_their_kind(daemons: Daemons) -> None:
    with daemons.connect("client") as service:
        with pytest.raises(heft.PermissionDenied):
            service.galleries()
        probe = service.client().encrypt_each(daemons.rows(1), use="identification")
        with pytest.raises(heft.NotFound):
            service.identify("nowhere", probe)
        with pytest.raises(heft.DataLoss):
            service.identify("visitors", {"face": probe["face"][:1000], "voice": probe["voice"]})
        with pytest.raises(TypeError):
            pickle.dumps(service)
    with pytest.raises(heft.InvalidArgument):
        daemons.connect("client", "http://localhost:1")
    with daemons.connect("client", "https://localhost:1") as nowhere:
        with pytest.raises(heft.Unavailable):
            nowhere.parameters()
        assert not nowhere.ready()
