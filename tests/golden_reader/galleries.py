# SPDX-License-Identifier: Apache-2.0
"""Samples, waiting enrolments and scores."""
import struct

from wire import (ciphertext, hash_of, ids, open_envelope, ring, seeded_ciphertext,
                  short_ciphertext)


def samples(path, kind, key_id):
    """The modality and the last record."""
    r = open_envelope(path, kind)
    assert ids(r) == key_id
    modality = r.string()
    dimension = r.u32()
    if kind == "CTXT":
        r.u32(), r.u32()
    form, count = r.u8(), r.u64()
    for _ in range(count):
        assert len(r.string()) <= 255
    for _ in range(count if kind == "CTXT" else dimension):
        start = r.at
        (seeded_ciphertext if form == 1 else ciphertext)(r)
    r.end()
    return modality, r.data[start:]


def binding(r, key_id, model_id, gamma):
    assert ids(r) == key_id and r.raw(16) == model_id and r.u32() == gamma


def condition(r):
    """A key with its values, or its bounds."""
    key = r.name()
    values = [r.name() for _ in range(r.u8())]
    assert 1 <= len(key) <= 64 and all(values)
    if values:
        return key, values
    bounds = r.u8()
    assert 1 <= bounds <= 3
    return key, r.f64() if bounds & 1 else None, r.f64() if bounds & 2 else None


def scores(path, key_id, model_id, kind):
    return scores_of(open_envelope(path, "SCOR", 7), key_id, model_id, kind)


def scores_of(r, key_id, model_id, kind):
    """Gallery id, generation, root, nonce and commitment; where a place does not answer, also which
    places do, when, and the conditions."""
    assert ids(r) == key_id and r.raw(16) == model_id and r.u8() == kind
    assert r.u8() == 3, "face and voice"
    r.string()
    claimed = r.string()
    identities = [r.name() for _ in range(r.u64())]
    templates = r.u64()
    answers, restriction = [True] * templates, None
    if (0, 1).index(r.u8()):
        bits = r.raw(-(-templates // 8))
        answers = [bool(bits[p // 8] >> p % 8 & 1) for p in range(templates)]
        assert int.from_bytes(bits, "little") >> templates == 0 and not all(answers) and kind == 0
        restriction = (answers, r.u64(), [condition(r) for _ in range(r.u8())])
    assert r.u8() == 1, "a proof of the norm"
    ciphertext(r)
    short = (0, 1).index(r.u8()) == 1
    replies = r.u64()
    assert not short or replies > 0 and kind == 0
    if kind == 0:
        assert len(identities) in (0, templates) and not claimed
        assert replies == len({p // ring.n for p in range(templates) if answers[p]})
        assert all((name != "") == answers[p] for p, name in enumerate(identities))
    else:
        assert identities == [claimed] and templates == 0
    for _ in range(replies):
        if kind == 1:
            assert all(r.u32() & 0x7FFFFFFF < ring.n // 2 for _ in range(r.u64()))
        (short_ciphertext if short else ciphertext)(r)
    assert r.u64() == 0, "no end of a journal"
    origin = (r.raw(16), r.u64(), r.raw(32), r.raw(32), r.raw(32))
    r.end()
    return origin if restriction is None else (origin, restriction)


def means(folder, key_id, model_id, gamma, sample):
    """A waiting enrolment of a mean, in which `sample` stands: a record a modality."""
    for name, version in (("waiting.heft", 2), ("metadata.heft", 3)):
        r = open_envelope(folder / name, "QENR", version)
        binding(r, key_id, model_id, gamma)
        assert r.u64() == 1 and r.string() == "ann"
        digest = r.raw(16)
        of_mean = [r.raw(16) for _ in range(r.u64())]
        if version >= 3:
            assert r.u64() == 1800000001
            assert [(r.name(), r.name()) for _ in range(r.u8())] == [
                ("site", "berlin"), ("list", "night"), ("list", "staff")]
        assert r.u64() == 0 and r.u8() == 0
        assert [ciphertext(r), ciphertext(r), ciphertext(r)] == [1, 1, 3]
        r.end()
    assert len(of_mean) == 2
    assert digest == hash_of(b"".join(of_mean))[:16]
    records = (b"\1" + hash_of(modality.encode() + record) for modality, record in sample)
    assert of_mean[0] == hash_of(b"".join(records))[:16]
    assert {p.name for p in folder.iterdir()} == {"waiting.heft", "metadata.heft", "voice.ct"}
