# SPDX-License-Identifier: Apache-2.0
"""Objects of Microsoft SEAL, out and in: what they hold, whose they are, and what is refused. With
SEAL itself: tests/seal."""

import json
import os
import pathlib
import stat
import struct
import subprocess
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import heft
from conftest import World


def header(file: bytes) -> tuple[int, int]:
    """Compression and size of an object, as docs/seal.md has them."""
    magic, size, major, _minor, compression, rest, total = struct.unpack("<HBBBBHQ", file[:16])
    assert (magic, size, major, rest) == (0xA15E, 16, 4, 0) and total == len(file)
    return compression, total


@dataclass
class Exchange:
    """A key owner whose secret keys of both rings went out to SEAL's files, and came back."""

    key_id: str
    owner: heft.KeyOwner
    client: heft.Client
    folder: pathlib.Path


@pytest.fixture(scope="module")
def exchange(world: World, tmp_path_factory: pytest.TempPathFactory) -> Exchange:
    folder = tmp_path_factory.mktemp("seal")
    first = heft.KeyOwner.generate(world.model)
    first.export_seal_secret_key(folder / "matching.seal")
    first.export_seal_secret_key(folder / "enrolment.seal", ring="enrolment")
    for name in ("matching", "enrolment"):
        file = folder / f"{name}.seal"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        header(file.read_bytes())
        (folder / f"{name}.public").write_bytes(heft.export_seal_encryption_key(
            world.model, first.encryption_key(), ring=name))  # type: ignore[arg-type]
    key_id = heft.new_key_id()
    heft.import_seal_secret_key(world.model, key_id, folder / "matching.seal",
                                folder / "secret.key", folder / "enrolment.seal")
    assert stat.S_IMODE((folder / "secret.key").stat().st_mode) == 0o600
    owner = heft.KeyOwner.load(world.model, folder)
    assert owner.key_id == key_id
    owner.set_budget(scores=10**6, decisions=10**6, client_bits=10**9, rejections=10**6)
    key = heft.import_seal_encryption_key(
        world.model, key_id, folder / "matching.public", folder / "enrolment.public")
    assert heft.inspect(key).key_id == key_id
    return Exchange(key_id, owner, heft.Client(world.model, key), folder)


def test_parameters_are_those_of_the_profile(world: World, tmp_path: pathlib.Path) -> None:
    matching = heft.export_seal_parameters(world.model, compression="none")
    # docs/seal.md: scheme, degree, primes; the profile's, of ring 4096 with 27, 26, 25 and 28 bits.
    scheme, degree, count = struct.unpack_from("<BQQ", matching.parameters, 16)
    assert (scheme, degree, count) == (2, 4096, len(matching.primes))
    assert [p.bit_length() for p in matching.primes] == [27, 26, 25, 28]
    assert all(p % 8192 == 1 for p in matching.primes) and matching.ring == "matching"
    assert header(matching.parameters)[0] == 0
    enrolment = heft.export_seal_parameters(world.model, ring="enrolment")
    assert enrolment.degree == 8192 and enrolment.ring == "enrolment"
    assert matching.rotation_steps and not enrolment.rotation_steps
    assert header(enrolment.parameters)[0] == 2 and len(enrolment.runs) == 2
    world.model.save(tmp_path / "model.heft")
    done = subprocess.run(
        [os.environ["HEFT_SEAL_PROGRAM"], "export", "parameters", "--model",
         tmp_path / "model.heft", "--out", tmp_path / "parms.seal", "--json"],
        capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    ours = heft.export_seal_parameters(world.model)
    assert (tmp_path / "parms.seal").read_bytes() == ours.parameters
    assert said["primes"] == ours.primes and said["rotation_steps"] == ours.rotation_steps


def test_the_whole_way_through_seals_files(
        world: World, exchange: Exchange, gallery: str) -> None:
    model, owner, folder = world.model, exchange.owner, exchange.folder
    keys = owner.write_public_keys(folder / "keys")
    assert keys.key_id == exchange.key_id and keys.secret_key == ""
    matcher = heft.Matcher(model, keys.evaluation_keys, keys.enrolment_keys,
                           trust=heft.Trust.load(keys.trust))

    def through_seal(files: dict[str, bytes], labels: list[str]) -> dict[str, bytes]:
        out = {}
        for modality, file in files.items():
            samples = heft.export_seal_samples(model, file, compression="zlib")
            assert samples.labels == labels and not samples.bulk
            assert all(header(one)[0] == 1 for one in samples.ciphertexts)
            out[modality] = heft.import_seal_samples(
                model, modality, exchange.key_id, samples.ciphertexts, labels)
        return out

    names = ["ann", "bob", "cyd"]
    people = through_seal(exchange.client.encrypt_each(world.rows(range(3)), names), names)
    matcher.enrol(gallery, people)
    matcher.activate(gallery, owner.approve(matcher.pending(gallery)).signed_admission, owner.public_key)
    rows = world.rows(range(1, 2), 1)
    probe = through_seal(exchange.client.encrypt_each(rows, ["who"], use="identification"), ["who"])
    reply = matcher.identify(gallery, probe)
    scores = heft.export_seal_scores(model, reply)
    assert scores.kind == "identification" and scores.probe == "who" and scores.templates == 3
    assert scores.identities == names and len(scores.replies) == 1
    assert header(scores.replies[0].ciphertext)[0] == 2 and header(scores.squared_norm)[0] == 2
    assert len(scores.factors) in (0, 4096)
    assert scores.factors.dtype == np.float64
    assert owner.decide(reply, score=0.5).identity == "bob"
    claim = exchange.client.encrypt_each(world.rows(range(1, 2), 1))
    claimed = heft.export_seal_scores(model, matcher.verify(gallery, claim, "bob"))
    assert claimed.kind == "verification" and claimed.claimed == "bob"
    assert all(lane in (0, 1) for _, lane in claimed.replies[0].answers)
    # The key owner's own encryption has less noise and half the bytes.
    own = owner.encrypt("face", world.rows(range(1))["face"], ["dan"])
    theirs = exchange.client.encrypt("face", world.rows(range(1))["face"], ["dan"])
    assert len(own) < 0.7 * len(theirs)
    fused = owner.encrypt_fused(rows, use="identification")
    assert owner.decide(matcher.identify(gallery, fused), score=0.5).identity == "bob"


def test_evaluation_keys_of_seal(world: World, exchange: Exchange, gallery: str) -> None:
    world_keys = exchange.owner.export_seal_evaluation_keys()
    header(world_keys.galois)
    imported = heft.import_seal_evaluation_keys(
        world.model, exchange.key_id, world_keys.galois, world_keys.relinearisation)
    assert imported.galois_keys == world_keys.galois_keys > 0
    matcher = heft.Matcher(world.model, imported.bytes, exchange.owner.enrolment_keys())
    matcher.enrol(gallery, exchange.client.encrypt_each(world.rows(range(2)), ["ann", "bob"]))
    word = exchange.owner.approve(matcher.pending(gallery)).signed_admission
    matcher.activate(gallery, word, exchange.owner.public_key)
    probe = exchange.client.encrypt_each(world.rows(range(1), 1), use="identification")
    assert exchange.owner.decide(matcher.identify(gallery, probe), score=0.5).identity == "ann"
    with pytest.raises(heft.Error):
        heft.import_seal_evaluation_keys(
            world.model, exchange.key_id, world_keys.relinearisation, world_keys.galois)


def test_the_command_line_reads_them_too(
        world: World, exchange: Exchange, tmp_path: pathlib.Path) -> None:
    world.model.save(tmp_path / "model.heft")
    (tmp_path / "encryption.key").write_bytes(exchange.owner.encryption_key())
    face = exchange.client.encrypt("face", world.rows(range(2))["face"], ["ann", "bob"])
    (tmp_path / "face.ct").write_bytes(face)

    def run(*arguments: object) -> None:
        done = subprocess.run([os.environ["HEFT_SEAL_PROGRAM"], "export",
                               *map(str, arguments)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr

    run("encryption-key", "--model", tmp_path / "model.heft", "--in", tmp_path / "encryption.key",
        "--out", tmp_path / "public.seal")
    assert (tmp_path / "public.seal").read_bytes() == heft.export_seal_encryption_key(
        world.model, tmp_path / "encryption.key")
    run("samples", "--model", tmp_path / "model.heft", "--in", tmp_path / "face.ct", "--out",
        tmp_path / "face")
    ours = heft.export_seal_samples(world.model, face).ciphertexts
    assert [(tmp_path / f"face/{i}.seal").read_bytes() for i in range(2)] == ours


def test_what_seal_files_are_refused(
        world: World, exchange: Exchange, tmp_path: pathlib.Path) -> None:
    model, key_id, folder = world.model, exchange.key_id, exchange.folder
    public = (folder / "matching.public").read_bytes()
    with pytest.raises(heft.InvalidArgument):
        heft.import_seal_encryption_key(model, key_id, public)
    with pytest.raises(heft.Error):
        heft.import_seal_encryption_key(model, key_id, public, public)
    for wrong in (b"", b"no key", public[:-1], public[:16], b"\0" * len(public)):
        with pytest.raises(heft.Error):
            heft.import_seal_encryption_key(model, key_id, wrong, folder / "enrolment.public")
        with pytest.raises(heft.Error):
            heft.import_seal_samples(model, "face", key_id, [wrong])
    for bad in ("", "xyz", "00" * 15, key_id + "0"):
        with pytest.raises(heft.InvalidArgument, match="key_id"):
            heft.import_seal_samples(model, "face", bad, [public])
    with pytest.raises(heft.InvalidArgument):
        heft.import_seal_samples(model, "iris", key_id, [public])
    words: list[dict[str, Any]] = [{"compression": "gzip"}, {"ring": "outer"}]
    for word in words:
        with pytest.raises(heft.InvalidArgument):
            heft.export_seal_parameters(model, **word)
    with pytest.raises(heft.DataLoss):
        heft.export_seal_scores(model, b"no scores")
    with pytest.raises(heft.Error):
        heft.export_seal_samples(model, public)


def test_secret_keys_go_from_file_to_file(
        world: World, exchange: Exchange, tmp_path: pathlib.Path) -> None:
    model, key_id, folder = world.model, exchange.key_id, exchange.folder
    both: dict[str, Any] = {"source": folder / "matching.seal",
                            "enrolment_source": folder / "enrolment.seal"}
    with pytest.raises(heft.AlreadyExists):
        heft.import_seal_secret_key(model, key_id, out=folder / "secret.key", **both)
    with pytest.raises(heft.InvalidArgument):
        heft.import_seal_secret_key(model, key_id, folder / "matching.seal", tmp_path / "out")
    open_to_all = tmp_path / "matching.seal"
    open_to_all.write_bytes((folder / "matching.seal").read_bytes())
    open_to_all.chmod(0o644)
    with pytest.raises(heft.FailedPrecondition):
        heft.import_seal_secret_key(model, key_id, open_to_all, tmp_path / "out",
                                    folder / "enrolment.seal")
    assert not (tmp_path / "out").exists()
    with pytest.raises(heft.AlreadyExists):
        exchange.owner.export_seal_secret_key(folder / "matching.seal")
    heft.import_seal_secret_key(model, heft.new_key_id(), out=tmp_path / "sealed", **both,
                                passphrase="many words")
    with pytest.raises(heft.FailedPrecondition):
        heft.KeyOwner.load(model, tmp_path / "sealed")
    heft.KeyOwner.load(model, tmp_path / "sealed", passphrase="many words").close()
    with pytest.raises(heft.FailedPrecondition, match="closed"):
        closed = heft.KeyOwner.generate(model)
        closed.close()
        closed.export_seal_secret_key(tmp_path / "nothing")
    assert not (tmp_path / "nothing").exists()
