# SPDX-License-Identifier: Apache-2.0
"""Exceptions by kind."""

import os
import pathlib
import re
from typing import Any

import numpy as np
import pytest

import heft
import heft.decision_keys
from heft._words import in_python
from conftest import World


def test_every_kind_is_an_error_and_what_python_calls_it() -> None:
    kinds = {heft.InvalidArgument: ValueError, heft.OutOfRange: ValueError,
             heft.DataLoss: ValueError, heft.NotFound: LookupError, heft.Unavailable: OSError,
             heft.DeadlineExceeded: TimeoutError, heft.BudgetSpent: heft.ResourceExhausted}
    for kind, natural in kinds.items():
        assert issubclass(kind, heft.Error) and issubclass(kind, natural)
    assert heft.errors.error_of("NEVER_HEARD_OF", "x").code == "NEVER_HEARD_OF"


def test_kinds(world: World, gallery: str, tmp_path: pathlib.Path) -> None:
    with pytest.raises(heft.NotFound):
        heft.Model.load(tmp_path / "nowhere.heft")
    with pytest.raises(heft.DataLoss):
        heft.Model.load(world.model.to_bytes()[:-1])
    with pytest.raises(heft.NotFound):
        heft.Gallery(gallery)
    with pytest.raises(heft.InvalidArgument, match="face, voice"):
        world.client.encrypt("iris", np.ones(8, np.float32))
    with pytest.raises(heft.OutOfRange):
        world.model.threshold_for(1e-9)
    with pytest.raises(heft.InvalidArgument):
        world.model.threshold_for(2)
    world.enrol(gallery)
    stranger = heft.KeyOwner.generate(world.model)
    with pytest.raises(heft.FailedPrecondition):
        stranger.open(world.matcher.identify(gallery, world.probe(1)))
    other = heft.Client(world.model, stranger.encryption_key())
    with pytest.raises(heft.FailedPrecondition):
        world.matcher.identify(gallery, other.encrypt_each(world.rows(range(1)), use="identification"))
    with pytest.raises(heft.FailedPrecondition, match="ann|person"):
        world.matcher.enrol(gallery, world.client.encrypt_each(world.rows(range(1), 2), ["person 0"]))


def test_a_budget_is_spent(world: World, gallery: str) -> None:
    with heft.KeyOwner.generate(world.model) as owner:
        owner.set_budget(scores=2)
        client = heft.Client(world.model, owner.encryption_key())
        matcher = heft.Matcher(world.model, owner.evaluation_keys(), owner.enrolment_keys())
        matcher.enrol(gallery, client.encrypt_each(world.rows(range(1)), ["ann"]))
        word = owner.approve(matcher.pending(gallery)).signed_admission
        matcher.activate(gallery, word, owner.public_key)

        def reply() -> bytes:
            rows = world.rows(range(1), 1)
            return matcher.identify(gallery, client.encrypt_each(rows, use="identification"))

        assert len(owner.open(reply()).candidates) == 1
        with pytest.raises(heft.BudgetSpent, match="budget is spent"):  # a client gets half
            owner.open(reply())
        use = owner.budget()
        assert use.limits.scores == 2 and use.scores == 1 and use.identities == 1
        assert owner.decide(reply(), score=0.5).identity == "ann"
        owner.set_budget(scores=4)
        assert len(owner.open(reply()).candidates) == 1


def test_no_score_is_opened_until_it_is_allowed(world: World, gallery: str) -> None:
    assert heft.default_limits(world.model).scores == 0, "so few people permit nothing"
    world.enrol(gallery)
    before = world.owner.budget().limits.scores
    world.owner.set_budget(scores=0)
    try:
        reply = world.matcher.identify(gallery, world.probe(1))
        with pytest.raises(heft.BudgetSpent, match=r"no score of a person.*KeyOwner.set_budget\(scores=N\)"):
            world.owner.open(reply)
        assert world.owner.decide(reply, score=0.5).identity == "person 1"
    finally:
        world.owner.set_budget(scores=before)
    assert world.owner.open(world.matcher.identify(gallery, world.probe(1))).candidates


def test_a_closed_object_says_so(world: World, gallery: str) -> None:
    world.enrol(gallery)
    owner = heft.KeyOwner.generate(world.model)
    with owner:
        pass
    assert owner.closed
    with pytest.raises(heft.FailedPrecondition, match="closed"):
        owner.encryption_key()
    with heft.Gallery(gallery) as held:
        assert len(held) == 8
    with pytest.raises(heft.FailedPrecondition, match="closed"):
        len(held)
    with pytest.raises(heft.FailedPrecondition, match="closed"):
        world.matcher.identify(held, world.probe(1))
    key = heft.SigningKey.generate()
    key.close()
    with pytest.raises(heft.FailedPrecondition, match="closed"):
        key.public_key
    matcher = heft.Matcher(world.model, world.owner.evaluation_keys())
    matcher.close()
    with pytest.raises(heft.FailedPrecondition, match="closed"), matcher:
        pass


def test_progress_can_stop_and_its_exceptions_come_through(world: World) -> None:
    with pytest.raises(heft.Cancelled):
        heft.Model.train(world.data, gamma=8, epochs=3, progress=lambda *event: False)

    def fails(what: str, done: int, total: int, note: str) -> bool:
        raise ZeroDivisionError(what)

    with pytest.raises(ZeroDivisionError):
        heft.Model.train(world.data, gamma=8, epochs=3, progress=fails)
    with pytest.raises(heft.InvalidArgument, match="progress"):
        heft.Model.train(world.data, progress=3)  # type: ignore[arg-type]


def test_a_bar_is_shown(world: World, capfd: pytest.CaptureFixture[str]) -> None:
    heft.Model.train(world.data, gamma=8, epochs=2, progress=True)
    assert "training" in capfd.readouterr().err


def test_odd_values_are_errors_of_a_kind(world: World, tmp_path: pathlib.Path) -> None:
    rows = world.rows(range(1))
    with pytest.raises(heft.InvalidArgument, match="UTF-8"):
        world.client.encrypt("face", rows["face"], ["a\ud800"])
    with pytest.raises(TypeError):
        world.client.encrypt_each({1: rows["face"]})  # type: ignore[dict-item]
    with pytest.raises(TypeError):
        world.matcher.activate("nowhere", b"", 3)  # type: ignore[arg-type]
    calls: list[Any] = [heft.KeyOwner.load, heft.KeyOwner.generate]
    for call in calls:
        with pytest.raises(heft.Error):
            call(world.model, "x" * 5000)


def test_a_rule_and_noise_that_mean_nothing_cost_nothing(world: World, gallery: str) -> None:
    world.enrol(gallery)
    reply = world.matcher.identify(gallery, world.probe(1))
    before = world.owner.budget().decisions
    with pytest.raises(heft.InvalidArgument, match="not a number"):
        world.owner.decide(reply, score=float("nan"))
    for bits in (-5, 29):
        with pytest.raises(heft.InvalidArgument):
            world.owner.open(reply, security_bits=bits)
    assert world.owner.budget().decisions == before
    assert world.owner.decide(reply, score=0.5).identity == "person 1"


@pytest.mark.parametrize("jws", ["W10.e30.AA", "e30.NQ.AA", "e30", "bnVsbA.e30.AA", "e30.e30.AA.AA",
                                 ".".join(["W1tb" * 40_000] * 3), "\u00e9.b.c", "\ud800.b.c"],
                         ids=lambda jws: ascii(jws[:12]))
def test_what_is_no_decision_is_data_loss(jws: str) -> None:
    with pytest.raises(heft.DataLoss):
        heft.decision_keys.DecisionKeys({"keys": []}).check(jws, issuer="i", audience="a")


def test_messages_speak_python(world: World, gallery: str) -> None:
    assert in_python("give a rate, --fpir or --no-exact") == "give a rate, fpir= or no_exact="
    assert in_python("Try --method none, or a file a--b.npy") == 'Try method="none", or a file a--b.npy'
    assert in_python("(heft calibrate --data DATA), or give --threshold") == \
        "(Model.calibrate(data)), or give score="
    assert in_python("of the rings (heft-seal export parameters --ring matching)") == \
        'of the rings (heft.export_seal_parameters ring="matching")'
    assert in_python("people: no such workspace (heft init makes one)") == \
        "people: no such workspace (Workspace.create makes one)"
    assert in_python("restore it from a snapshot (`heft-server gallery restore`)") == \
        "restore it from a snapshot (Gallery.restore)"
    world.enrol(gallery, range(2))
    reply = world.matcher.identify(gallery, world.probe(0))
    with pytest.raises(heft.InvalidArgument, match="fpir=") as refused:
        world.owner.decide(reply, fmr=0.01)
    assert "--" not in str(refused.value)


def test_no_sentence_of_the_library_keeps_a_command_or_an_option() -> None:
    literal, seen = re.compile(r'"((?:[^"\\\n]|\\.)*)"'), 0
    # A program or a file's first line may be named, a command may not.
    command = re.compile(r"(?<![\w-])--[a-z]|\bheft(?:-server|-seal)? (?!or |training )[a-z]")
    for folder in ("base", "fusion", "store", "gallery", "matcher", "desk", "owner", "features", "learning",
                   "evaluation", "exchange", "experiment"):
        for path in sorted((pathlib.Path(os.environ["HEFT_SOURCE_DIR"]) / folder).rglob("*.cc")):
            if path.name.endswith("_test.cc"):
                continue
            joined = re.sub(r'"\s*\n\s*"', "", path.read_text())  # a sentence over several lines
            for text in literal.findall(joined):
                if command.search(text):
                    seen += 1
                    assert not command.search(in_python(text)), (path, text)
    assert seen > 60


def test_wrong_arguments_are_named_by_their_types(world: World, gallery: str) -> None:
    world.enrol(gallery, range(1))
    files = world.client.encrypt_each(world.rows(range(1)), ["ann"])
    anything: Any = world.matcher
    with pytest.raises(TypeError) as swapped:
        anything.verify(gallery, files, files)
    assert str(swapped.value) == "identity: give a str, not dict", "and not a megabyte of ciphertext"
    with pytest.raises(TypeError, match="^give a heft.Model, not bytes$"):
        heft.Client(files["face"], files["face"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="other"):
        anything.identify(other=3)


def test_paths_may_be_any_bytes(world: World, tmp_path: pathlib.Path) -> None:
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9")
    os.mkdir(folder)
    world.model.save(folder + "/model.heft")
    model = heft.Model.load(folder + "/model.heft")
    with heft.KeyOwner.generate(model, folder + "/keys") as owner:
        assert owner.rekey(folder + "/new") == folder + "/new/rekeying.key"
        assert os.path.exists(owner.write_public_keys(folder + "/more").encryption_key)
    heft.Client(model, folder + "/keys/encryption.key")
    with pytest.raises(heft.NotFound, match="caf\ufffd"):
        heft.Model.load(folder + "/none.heft")
    flooded = heft.Model.train(world.data, gamma=16, epochs=5, profile="flooded")
    made = heft.make_shared_key_set(flooded, folder + "/shared", 2, 2)
    assert os.path.exists(made.keys.encryption_key) and all(map(os.path.exists, made.shares))
    step = heft.join_key_set(flooded, folder + "/joint", owners=2)
    assert os.path.exists(step.message)


def test_a_passphrase_without_a_utf8_form(world: World, tmp_path: pathlib.Path) -> None:
    with pytest.raises(heft.InvalidArgument, match="^passphrase: a text has no UTF-8 form"):
        heft.KeyOwner.generate(world.model, tmp_path / "keys", passphrase="a\ud800")
