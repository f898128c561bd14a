# SPDX-License-Identifier: Apache-2.0
"""Keys that are expanded once: the tools' files, the same scores, and what is not believed."""

import copy
import os
import pathlib
import pickle
import subprocess
from typing import Callable

import pytest

import heft
from conftest import World


@pytest.fixture(scope="module")
def keys(world: World, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("expanded") / "keys"
    heft.KeyOwner.generate(world.model, folder).close()
    world.model.save(folder / "model.heft")
    return folder


def test_a_matcher_of_expanded_keys(world: World, keys: pathlib.Path, gallery: str) -> None:
    evaluation = heft.ExpandedKeys.make(world.model, keys / "evaluation.keys")
    enrolment = heft.ExpandedKeys.make(
        world.model, keys / "enrolment.keys", keys / "elsewhere.expanded")
    assert (keys / "evaluation.keys.expanded").stat().st_size >= evaluation.size > 10**6
    trust = heft.Trust.load(keys / "trust.heft")
    owner = heft.KeyOwner.load(world.model, keys)
    owner.set_budget(scores=1000)
    signed = evaluation.check_signed(trust, kind="EVAL")
    assert signed.signer == owner.public_key and signed.file == b"" and signed.kind == "EVAL"
    client = heft.Client(world.model, keys / "encryption.key")
    matcher = heft.Matcher(world.model, evaluation, enrolment, trust=trust)
    del evaluation, enrolment  # the matcher keeps the mapping
    matcher.enrol(gallery, client.encrypt_each(world.rows(range(4)), list("abcd")))
    matcher.activate(gallery, owner.approve(matcher.pending(gallery)).signed_admission, trust)
    probe = client.encrypt_each(world.rows(range(2, 3), 1), use="identification")
    reply = matcher.identify(gallery, probe)
    assert heft.read_signed(reply).audience == owner.public_key
    # The same scores as with keys that are not expanded; only the random parts of a reply differ.
    plain = heft.Matcher(world.model, keys / "evaluation.keys", keys / "enrolment.keys")
    ours = {c.identity: c.score for c in owner.open(reply).candidates}
    theirs = {c.identity: c.score for c in owner.open(plain.identify(gallery, probe)).candidates}
    assert ours.keys() == theirs.keys() and max(ours, key=lambda n: ours[n]) == "c"
    for name, score in ours.items():
        assert theirs[name] == pytest.approx(score, abs=2e-3)
    mixed = heft.Matcher(world.model, heft.ExpandedKeys.open(keys / "evaluation.keys"),
                         (keys / "enrolment.keys").read_bytes())
    assert heft.read_signed(mixed.identify(gallery, probe)).audience == "", "nobody was asked"


def test_the_tools_file(world: World, keys: pathlib.Path, tmp_path: pathlib.Path) -> None:
    source = tmp_path / "evaluation.keys"
    source.write_bytes((keys / "evaluation.keys").read_bytes())
    done = subprocess.run(
        [os.environ["HEFT_SERVER_PROGRAM"], "prepare-keys", "--model", keys / "model.heft", "--keys",
         source, "--trust", keys / "trust.heft"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    theirs = (tmp_path / "evaluation.keys.expanded").read_bytes()
    opened = heft.ExpandedKeys.open(source)
    assert opened.size <= len(theirs)
    heft.Matcher(world.model, opened)
    heft.ExpandedKeys.make(world.model, source, tmp_path / "ours")
    assert len((tmp_path / "ours").read_bytes()) == len(theirs)


def test_what_is_not_believed(world: World, keys: pathlib.Path, tmp_path: pathlib.Path) -> None:
    source = tmp_path / "evaluation.keys"
    source.write_bytes((keys / "evaluation.keys").read_bytes())
    with pytest.raises(heft.NotFound):
        heft.ExpandedKeys.open(source)
    expanded = tmp_path / "evaluation.keys.expanded"
    heft.ExpandedKeys.make(world.model, source)
    whole = expanded.read_bytes()
    for wrong in (whole[:-1], whole[:100], b"", whole[:40] + bytes([whole[40] ^ 1]) + whole[41:]):
        expanded.write_bytes(wrong)
        with pytest.raises(heft.DataLoss):
            heft.ExpandedKeys.open(source)
    expanded.write_bytes(whole)
    expanded.chmod(0o666)
    with pytest.raises(heft.FailedPrecondition):
        heft.ExpandedKeys.open(source)
    expanded.chmod(0o600)
    source.write_bytes(world.owner.evaluation_keys())
    with pytest.raises(heft.DataLoss):
        heft.ExpandedKeys.open(source)
    source.write_bytes(b"no keys")
    with pytest.raises(heft.DataLoss):
        heft.ExpandedKeys.make(world.model, source)
    with pytest.raises(heft.NotFound):
        heft.ExpandedKeys.make(world.model, tmp_path / "nowhere")
    with pytest.raises(TypeError):
        heft.ExpandedKeys.make(world.model, b"bytes")  # type: ignore[arg-type]


def test_whose_keys_they_are(world: World, keys: pathlib.Path, tmp_path: pathlib.Path) -> None:
    expanded = heft.ExpandedKeys.make(world.model, keys / "evaluation.keys", tmp_path / "a")
    with pytest.raises(heft.FailedPrecondition):
        expanded.check_signed(heft.Trust())
    with pytest.raises(heft.FailedPrecondition):
        heft.Matcher(world.model, expanded, trust=heft.Trust())
    trust = heft.Trust.load(keys / "trust.heft")
    with pytest.raises(heft.FailedPrecondition):
        expanded.check_signed(trust, kind="ENRK")
    with pytest.raises(heft.FailedPrecondition):
        heft.Matcher(world.model, expanded, expanded, trust=trust)
    with pytest.raises(heft.Error):
        heft.Matcher(world.model, expanded, expanded)
    (tmp_path / "unsigned").write_bytes(world.owner.evaluation_keys())
    unsigned = heft.ExpandedKeys.make(world.model, tmp_path / "unsigned")
    with pytest.raises(heft.FailedPrecondition, match="signed"):
        unsigned.check_signed(trust)
    takes: list[Callable[[object], object]] = [pickle.dumps, copy.copy]
    for take in takes:
        with pytest.raises(TypeError):
            take(expanded)


def test_keys_that_are_none(world: World) -> None:
    with pytest.raises(heft.DataLoss):
        heft.Matcher(world.model, b"")
    with pytest.raises(heft.DataLoss):
        heft.Matcher(world.model, b"", trust=heft.Trust())
    with pytest.raises(TypeError):
        heft.Matcher(world.model, None)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        heft.Matcher(world.model, 5)  # type: ignore[arg-type]
