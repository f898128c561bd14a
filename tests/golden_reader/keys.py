# SPDX-License-Identifier: Apache-2.0
"""Models, keys in every form, and the journal of openings."""
import hashlib
import json
import math
import struct

from wire import MAGIC, Reader, ids, open_envelope, polynomial, ring


def tail(r):
    start, rate, scale, shape, evenness = (r.f64() for _ in range(5))
    assert math.isfinite(start) and 0 < rate <= 1 and scale > 0 and shape < 1 and evenness > 0


def model(path, of="compact"):
    r = open_envelope(path, "MODL", 4)
    dimensions = []
    for _ in range(r.u32()):
        assert r.string()
        dimensions.append(r.u32())
    gamma, profile = r.u32(), r.string()
    assert len(r.f64s()) == gamma * sum(dimensions) and profile == of
    r.string()
    assert 0 < r.f64() < r.f64()
    for _ in range(r.u32()):
        r.f64(), r.f64()
        assert 2 <= len(r.f64s()) <= 64
    core = r.data[:r.at]
    agreement = r.f64()
    assert 0 <= agreement <= 1
    if agreement:
        core += struct.pack("<d", agreement)
    assert len(r.f64s()) in (0, gamma * sum(dimensions))
    whole = (1 << len(dimensions)) - 1
    sets = [table(r) for _ in range(r.u32())]
    assert not sets or sets[0] == whole
    assert len(set(sets)) == len(sets) and all(0 < s <= whole for s in sets)
    json.loads(r.string())
    r.end()
    return hashlib.sha256(core).digest()[:16], gamma


def table(r):
    """A decision table; the set of modalities that it is for."""
    modalities = r.u32()
    for _ in range(r.u32()):
        assert 0 < r.f64() < 1
        r.f64(), r.f64(), r.u64()
        assert 0 <= r.f64() <= r.f64() <= 1
    for _ in range(r.u32()):
        assert r.u32() >= 1 and r.u64() > 0 and r.u64() > 0
        tail(r)
        for _ in range(r.u32()):
            tail(r)
    if (0, 1).index(r.u32()):
        assert r.f64() > 0 and math.isfinite(r.f64())
    return modalities


def encryption_key(path, version=1):
    r = open_envelope(path, "PUBK", version)
    key_id = ids(r)
    if version == 1:
        r.raw(32)
    else:
        polynomial(r, ring.primes)
    polynomial(r, ring.primes)
    r.end()
    return key_id


def evaluation_keys(path, key_id, version=1):
    r = open_envelope(path, "EVAL", version)
    assert ids(r) == key_id
    for _ in range(r.u64()):
        element = r.u32()
        assert element % 2 == 1 and element < 2 * ring.n
        switching_key(r, version)
    r.end()


def switching_key(r, version=1):
    limbs = r.u32()
    if version == 1:
        r.raw(32)
    for _ in range(limbs * version):
        polynomial(r, ring.primes[:limbs] + ring.primes[-1:])
    return limbs


def rekeying_key(path, key_id, new_key_id):
    r = open_envelope(path, "RKEY")
    assert ids(r) == key_id and r.raw(16) == new_key_id != key_id
    assert switching_key(r) >= 2
    r.end()


class JournalKeys:
    """What is derived from a secret key in the clear."""

    def __init__(self, path):
        coefficients = path.read_bytes()[24 + 33:-32]
        assert len(coefficients) == ring.n
        master = hashlib.blake2b(coefficients, digest_size=32,
                                 key=b"HEFT journal of openings, 1").digest()

        def subkey(number):
            return hashlib.blake2b(b"", digest_size=32, key=master, person=b"heftjrnl",
                                   salt=struct.pack("<QQ", number, 0)).digest()
        self.mac_key, self.fingerprint = subkey(1), subkey(3)[:16]

    def mac(self, *parts):
        return hashlib.blake2b(b"".join(parts), digest_size=32, key=self.mac_key).digest()


def ledger(r):
    assert r.raw(16) == bytes(16)
    r.u64()
    for _ in range(r.u64()):
        r.u64(), r.raw(r.u64())
    for _ in range(r.u64()):
        r.raw(16), r.u8(), r.raw(5 * 8), r.raw(2 * 8)
        for size in (16 + 4 * 8, 48 + 6 * 8, 32 + 4 * 8):
            r.raw(r.u64() * size)
    r.raw(r.u64() * 24)
    r.u64(), r.raw(r.u64() * 56), r.u64(), r.raw(r.u64() * 16), r.raw(16), r.u64(), r.u64()


def journal(path, key_id, keys):
    """The last entry's sequence and MAC."""
    data = path.read_bytes()
    r = Reader(data)
    assert r.raw(8) == MAGIC and r.raw(4) == b"JRNL" and r.u32() == 5
    assert r.raw(16) == keys.fingerprint and r.raw(16) == key_id
    r.raw(72)
    sequence, before = r.u64(), r.raw(32)
    assert (sequence, before) == (0, bytes(32))
    mac = keys.mac(data[:r.at])
    assert r.raw(32) == mac
    acts, nonces = [], set()
    while r.at < len(data):
        start = r.at
        end = r.u64() + r.at
        assert r.u64() == sequence + 1 and r.u64() == 1800000000
        nonces.add(r.raw(16))
        sequence += 1
        acts.append(r.u8())
        r.raw(32), r.raw(16)
        assert r.u8() <= 1 and r.u8() <= 1 and r.u8() <= 1
        r.u32(), r.raw(16), r.raw(16 * r.u64())
        r.raw(4 * 8), r.raw(16), r.raw(r.u64())
        state = Reader(r.raw(r.u64()))
        if acts[-1] == 1:
            ledger(state)
        if acts[-1] in (4, 6, 12):
            r.u64()
        assert state.at == len(state.data) and r.at == end
        mac = keys.mac(mac, data[start:end])
        assert r.raw(32) == mac
    assert acts == [1, 6, 4, 5, 4, 5] and len(nonces) == 6
    return sequence, mac


def anchor(path, key_id, keys, link):
    assert path.name == keys.fingerprint.hex() + ".anchor"
    r = open_envelope(path, "JANC")
    start = r.at
    assert r.raw(16) == keys.fingerprint and r.raw(16) == key_id
    assert (r.u64(), r.raw(32)) == link
    assert r.u64() == 0 and r.raw(16) == bytes(16)
    assert keys.mac(b"JANC", r.data[start:r.at]) == r.raw(32)
    r.end()


def secret_key(path, key_id, form, version=1):
    r = open_envelope(path, "SECK", version)
    found = ids(r)
    assert key_id in (None, found) and r.u8() == form
    if form == 0:
        assert set(r.raw(ring.n + (ring.n // 2 if version == 2 else 0))) <= {0, 1, 255}
    else:
        assert 1 <= r.u64() <= 16 and r.u64() <= 2**31
        r.raw(16 + 24 + ring.n + 16)
    r.end()
    return found
