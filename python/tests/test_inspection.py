# SPDX-License-Identifier: Apache-2.0
"""What is small: profiles and plans, files of vectors, conditions, keys that sign elsewhere, receipts."""

import pathlib
import threading
from typing import Any

import numpy as np
import pytest

import heft
from conftest import World


def test_profiles_and_plans(world: World) -> None:
    thin = heft.describe_profile("standard")
    assert thin.ring_degree in (4096, 8192) and "128" in thin.security
    assert thin.total_bits <= thin.bound_2024_classical
    with pytest.raises(heft.InvalidArgument, match="flooded"):
        heft.describe_profile("thick")
    known = heft.inspect(world.owner.evaluation_keys()).params_id
    assert known is not None
    found = heft.profile_of(known)
    assert found is not None and found.name == "standard"
    assert heft.profile_of("00" * 16) is None and heft.inspect(world.model.to_bytes()).params_id is None
    with pytest.raises(heft.InvalidArgument):
        heft.profile_of("standard")
    enrolment, matching = heft.describe_plan(world.model)["rings"]
    assert [enrolment["ring_degree"], matching["ring_degree"]] == [8192, 4096]
    assert enrolment["serves"] == "enrolment"
    assert matching["matching"]["rotations"] == world.model.gamma
    assert matching["normalisation"]["degree"] == 0, "of probes, the key owner divides by the norm"
    assert enrolment["normalisation"]["degree"] == world.model.approximation.degree
    assert enrolment["projection"]["pairs"][0]["second"] == 1 and enrolment["galois_keys"]


def test_files_are_described_as_the_tools_do(world: World, tmp_path: pathlib.Path) -> None:
    path = tmp_path / "m.heft"
    path.write_bytes(world.model.to_bytes())
    facts, text = heft.describe_file(path, plan=True)
    assert facts["kind"] == "model" and facts["id"] == world.model.id and facts["id"] in text
    assert [ring["ring_degree"] for ring in facts["plan"]["rings"]] == [8192, 4096] and "plan:" in text
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(heft.DataLoss, match="m.heft"):
        heft.describe_file(path)


def test_polynomials() -> None:
    model = heft.Model.train(
        heft.TrainingData.synthesise(identities=12, samples=4, dimensions=(24, 16), jitter=(0.3, 0.2),
                                     within=1.0, noise=(1.0, 1.5), rank_identity=8, rank_within=4),
        gamma=8, epochs=1)
    f = model.approximation
    low, high = f.interval
    s = np.linspace(low, high, 7)
    stage = f.stages[0]
    plain = stage.in_powers_of_s()
    assert plain.centre == 0 and plain.half_width == 1 and stage.degree == len(plain.coefficients) - 1
    values: Any = np.polynomial.Polynomial(plain.coefficients)
    for at in s:
        assert stage(float(at)) == pytest.approx(float(values(at)), rel=1e-12)
        assert stage.derivative(float(at)) == pytest.approx(float(values.deriv()(at)), rel=1e-9)
        if len(f.stages) == 1:
            assert f.derivative(float(at)) == pytest.approx(stage.derivative(float(at)), rel=1e-12)


def test_fits() -> None:
    interval = (0.4, 2.2)
    quadratic = heft.Approximation.fit(2, interval)
    assert quadratic.name == "minimax" and quadratic.interval == interval
    assert quadratic.max_relative_error() > heft.Approximation.fit(3, interval).max_relative_error()
    squares = heft.Approximation.fit(2, interval, kind="least_squares")
    assert squares.max_relative_error() > quadratic.max_relative_error()
    for degree, bad, kind in ((32, interval, "minimax"), (2, (0, 1), "minimax"), (2, interval, "taylor")):
        with pytest.raises(heft.InvalidArgument):
            heft.Approximation.fit(degree, bad, kind=kind)


def test_data_of_the_papers_form() -> None:
    paired = heft.TrainingData.synthesise(
        identities=5, dimensions=(8, 4), all_pairs_of=(10, 15), seed=3)
    assert len(paired) == 5 * 2 * 3
    with pytest.raises(heft.InvalidArgument):
        heft.TrainingData.synthesise(identities=5, dimensions=(8, 4), all_pairs_of=(10,))
    with pytest.raises(heft.InvalidArgument):
        heft.TrainingData.synthesise(identities=5, dimensions=(8, 4), noise=float("nan"))
    words: Any = "much"
    with pytest.raises(TypeError):
        heft.TrainingData.synthesise(identities=5, jitter=words)


def test_files_of_vectors_and_labels(tmp_path: pathlib.Path) -> None:
    rows = np.random.default_rng(2).normal(size=(5, 3))
    np.save(tmp_path / "a.npy", rows)
    read = heft.read_vectors(tmp_path / "a.npy")
    assert read.dtype == np.float32 and np.array_equal(read, rows.astype(np.float32))
    np.savetxt(tmp_path / "a.txt", rows)
    np.testing.assert_allclose(heft.read_vectors(tmp_path / "a.txt"), rows, rtol=1e-6)
    (tmp_path / "labels.txt").write_text("ann\n bob \n")
    assert heft.read_labels(tmp_path / "labels.txt") == ["ann", "bob"]
    (tmp_path / "list.txt").write_text("['ann', 'bob']")
    assert heft.read_labels(tmp_path / "list.txt") == ["ann", "bob"]
    (tmp_path / "bad.txt").write_text("1 2\n3 nan\n")
    with pytest.raises(heft.InvalidArgument):
        heft.read_vectors(tmp_path / "bad.txt")
    (tmp_path / "bad.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-1])
    with pytest.raises(heft.DataLoss):
        heft.read_vectors(tmp_path / "bad.npy")
    for read_it in (heft.read_vectors, heft.read_labels):
        with pytest.raises(heft.NotFound):
            read_it(tmp_path / "nowhere")


def test_expiry() -> None:
    assert heft.parse_expiry("2027-01-16", now=1800000000) == 1800057600
    assert heft.parse_expiry("90d", now=1800000000) == 1800000000 + 90 * 86400
    assert heft.parse_expiry("") == 0 and heft.parse_expiry("1y") > 1800000000
    for wrong in ("90", "2027-02-29", "2001-01-01"):
        with pytest.raises(heft.InvalidArgument):
            heft.parse_expiry(wrong, now=1800000000)


def test_conditions(world: World, gallery: str) -> None:
    odd = heft.Condition("list", ["a|b", "x..y"])
    assert (odd.key, odd.values, odd.at_least) == ("list", ["a|b", "x..y"], None)
    adult = heft.Condition("age", at_least=18)
    assert str(adult) == "age=18.." and heft.Condition.parse("age=18..").to_dict() == adult.to_dict()
    assert heft.fits({"age": "30", "list": "a|b"}, [odd, adult])
    assert not heft.fits({"age": "17"}, adult) and heft.fits({}, None)
    assert heft.fits({"site": ["berlin", "paris"]}, "site=paris")
    wrong: list[dict[str, Any]] = [{"key": ""}, {"key": "a b", "values": "x"}, {"key": "a"},
                                   {"key": "a", "values": "x", "at_least": 1.0},
                                   {"key": "a", "at_most": float("nan")}]
    for arguments in wrong:
        with pytest.raises(heft.InvalidArgument):
            heft.Condition(**arguments)
    for text in ("", "site", "=x", "a=1..x"):
        with pytest.raises(heft.InvalidArgument):
            heft.Condition.parse(text)
    none: Any = [5]
    with pytest.raises(TypeError):
        heft.fits({}, none)
    world.enrol(gallery, range(2), metadata={"list": "a|b"})
    world.enrol(gallery, range(2, 4))
    assert [t.identity for t in heft.Gallery(gallery).page(where=odd)[0]] == ["person 0", "person 1"]
    opened = world.owner.open(world.matcher.identify(gallery, world.probe(1), where=[odd]))
    assert opened.searched == 2


def test_a_key_that_signs_elsewhere(world: World, gallery: str) -> None:
    ed25519: Any = pytest.importorskip("cryptography.hazmat.primitives.asymmetric.ed25519")
    secret = ed25519.Ed25519PrivateKey.generate()
    public = secret.public_key().public_bytes_raw().hex() if hasattr(
        secret.public_key(), "public_bytes_raw") else _raw(secret)
    key = heft.SigningKey.outside(public, secret.sign)
    trust = heft.Trust()
    trust.add("trainer", "token", public)
    signed = key.sign(world.model.to_bytes(), "trainer")
    assert heft.open_signed(signed, trust).signer == public and public in repr(key)
    with pytest.raises(heft.Error):
        key.save(gallery)

    def fails(message: bytes) -> bytes:
        raise RuntimeError("the token is out")

    liars: list[Any] = [fails, lambda m: b"\0" * 64, lambda m: b"short", lambda m: None,
                        lambda m: b"\0" * 65]
    for liar in liars:
        with pytest.raises(heft.Error):
            heft.SigningKey.outside(public, liar).sign(world.model.to_bytes(), "trainer")
    with pytest.raises(heft.Unavailable, match="the token is out"):
        heft.SigningKey.outside(public, fails).sign(world.model.to_bytes(), "trainer")
    none: Any = "no function"
    with pytest.raises(TypeError):
        heft.SigningKey.outside(public, none)
    with pytest.raises(heft.InvalidArgument):
        heft.SigningKey.outside("no key", secret.sign)
    # A gallery with such a server key.
    heft.use_gallery_signer(gallery, public, secret.sign)
    world.enrol(gallery, range(2))
    reply = world.matcher.identify(gallery, world.probe(1))
    said = heft.read_signed(reply)
    assert said.signer == public == heft.Gallery(gallery).server_key
    assert not (pathlib.Path(gallery) / "server.key").exists()


def _raw(secret: Any) -> str:
    from cryptography.hazmat.primitives import serialization

    raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
    return bytes(secret.public_key().public_bytes(*raw)).hex()


def test_what_a_reply_is_bound_to(world: World, gallery: str) -> None:
    world.enrol(gallery, range(2))
    request = world.probe(1)
    said = heft.read_signed(world.matcher.identify(gallery, request))
    assert said.request == heft.request_digest(request) and len(said.nonce) == 32
    backwards = {name: request[name] for name in reversed(list(request))}
    assert heft.request_digest(backwards) == said.request, "in any order"
    assert heft.request_digest(request, 1) != said.request
    assert heft.request_digest(world.probe(1)) != said.request


def test_what_a_registrar_allowed() -> None:
    registrar, trust, gallery = heft.SigningKey.generate(), heft.Trust(), "ab" * 16
    word = registrar.authorise(gallery, "ann", "remove")
    with pytest.raises(heft.FailedPrecondition):
        heft.check_authorised(word, trust, "remove", gallery, "ann")
    trust.add("registrar", "office", registrar.public_key)
    heft.check_authorised(word, trust, "remove", gallery, "ann")
    others: list[tuple[Any, str, str]] = [
        ("add", gallery, "ann"), ("remove", "cd" * 16, "ann"), ("remove", gallery, "bob")]
    for act, other, identity in others:
        with pytest.raises(heft.FailedPrecondition):
            heft.check_authorised(word, trust, act, other, identity)
    with pytest.raises(heft.DataLoss):
        heft.check_authorised(word[:-1], trust, "remove", gallery, "ann")
    assert trust.revoked == []
    trust.revoke(registrar.public_key)
    assert trust.revoked == [registrar.public_key]
    with pytest.raises(heft.FailedPrecondition):
        heft.check_authorised(word, trust, "remove", gallery, "ann")


def test_receipts(world: World, gallery: str, tmp_path: pathlib.Path) -> None:
    world.enrol(gallery, range(3))
    held = heft.Gallery(gallery)
    copy = held.export(tmp_path / "exported")
    gone = held.remove(world.matcher, "person 1")
    (receipt,) = held.receipts()
    assert gone.receipts == [receipt]
    said = heft.read_receipt(receipt)
    assert said.gallery_id == held.gallery_id and said.persons == gone.persons and len(said.removed) == 1
    assert said.generation == gone.generation and said.erased >= said.removed[0] > 0
    with pytest.raises(heft.DataLoss):
        heft.read_receipt(receipt[:-1])
    assert held.erase_remains() == [] and held.erasure_remains() == "" and held.damaged_blocks() == []
    assert held.verify(world.model).recorded and held.compact(world.matcher).overwritten
    held.remember_generation()
    with pytest.raises(heft.FailedPrecondition):
        heft.Gallery.import_gallery(tmp_path / "exported", tmp_path / "old:back")
    world.enrol(str(tmp_path / "other"), range(2))
    heft.Gallery(tmp_path / "other").export(tmp_path / "other copy")
    came = heft.Gallery.import_gallery(tmp_path / "other copy", f"{gallery}:visitors")
    assert came.name == "visitors" and copy.gallery_id == held.gallery_id and len(heft.Gallery(f"{gallery}:visitors")) == 2
    assert held.params_id == heft.inspect(world.owner.evaluation_keys()).params_id or held.params_id
    with pytest.raises(heft.AlreadyExists):
        heft.Gallery.import_gallery(tmp_path / "other copy", f"{gallery}:visitors")


def test_the_process() -> None:
    try:
        heft.check_secure_memory()
    except heft.Unavailable as refused:
        assert "lock" in str(refused)
    thread = threading.Thread(target=heft.give_way)  # only of that thread
    thread.start()
    thread.join()


def test_times_are_of_what_can_be_evaluated() -> None:
    for run in (heft.run_benchmark, heft.run_sweep):
        with pytest.raises(heft.InvalidArgument):
            run(gammas=[33], skip_large=True)
        wrong: list[dict[str, Any]] = [{"degree": 1000}, {"degree": 0}, {"iterations": 0}, {"templates": 0},
                                       {"batch": 0}]
        for options in wrong:
            with pytest.raises(heft.InvalidArgument, match="must be"):
                run(skip_large=True, **options)
        with pytest.raises(heft.Error):
            run(iterations=1, templates=16, dimensions=[8, 8], gammas=[8], skip_large=True,
                large_templates=16, progress=lambda what, done, total, note: False)
