#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads every golden file to its last byte, from docs/formats.md alone.

    read_golden.py     exit code 0 if the page tells every byte of every file

The engine's readers and this one were written from the same page; where they disagree, one of the
three is wrong.
"""
import hashlib
import json
import math
import struct
import sys
from pathlib import Path

MAGIC = bytes.fromhex("484546540d0a1a0a")
# The rings: N, and the primes in order, the special one last. use() chooses one.
COMPACT = (8192, [30, 29, 20, 28, 28, 28, 20, 30])
THIN = (8192, [27, 26, 25, 28, 28, 28, 20, 30])


def primes_of(n, sizes):
    """The largest primes = 1 (mod 2N) of each size, the special prime chosen first."""
    taken = []
    for bits in [sizes[-1]] + sizes[:-1]:
        q = (1 << bits) - ((1 << bits) - 1) % (2 * n)
        while q in taken or any(q % d == 0 for d in range(3, math.isqrt(q) + 1, 2)):
            q -= 2 * n
        taken.append(q)
    return taken[1:] + taken[:1]


def use(n, primes):
    global N, PRIMES, PARAMETERS_ID
    N, PRIMES = n, primes
    PARAMETERS_ID = hashlib.blake2b(struct.pack(f"<{len(primes) + 1}I", n, *primes),
                                    digest_size=32).digest()[:16]


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def raw(self, size):
        assert self.at + size <= len(self.data), "truncated"
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, form):
        return struct.unpack("<" + form, self.raw(struct.calcsize(form)))[0]

    def u8(self): return self.number("B")
    def u32(self): return self.number("I")
    def u64(self): return self.number("Q")

    def f64(self):
        value = self.number("d")
        assert math.isfinite(value)
        return value

    def string(self): return self.raw(self.u64()).decode()
    def name(self): return self.raw(self.u8()).decode()
    def f64s(self): return [self.f64() for _ in range(self.u64())]

    def end(self):
        assert self.at == len(self.data), f"{len(self.data) - self.at} bytes left over"


def open_envelope(path, kind, version=1):
    return envelope_in(path.read_bytes(), kind, version)


def envelope_in(data, kind, version=1):
    r = Reader(data)
    assert r.raw(8) == MAGIC and r.raw(4) == kind.encode() and r.u32() == version
    payload = r.raw(r.u64())
    assert r.raw(32) == hashlib.blake2b(r.data[:-32], digest_size=32).digest()
    r.end()
    return Reader(payload)


def polynomial(r, primes):
    for q in primes:
        bits = q.bit_length()
        value = int.from_bytes(r.raw(N * bits // 8), "little")
        text = format(value, f"0{N * bits}b")
        assert all(int(text[i:i + bits], 2) < q for i in range(0, N * bits, bits))


def noise(r):
    scale, message, error = r.f64(), r.f64(), r.f64()
    assert scale > 0 and message >= 0 and error >= 0


def ciphertext(r):
    parts, limbs = r.u32(), r.u32()
    assert parts in (2, 3) and 1 <= limbs < len(PRIMES)
    noise(r)
    for _ in range(parts):
        polynomial(r, PRIMES[:limbs])
    return limbs


def short_ciphertext(r):
    bits, dropped, raised = r.u8(), r.u8(), r.u8()
    assert (bits, dropped, raised) == (23, 7, 3) and bits + raised < PRIMES[0].bit_length()
    noise(r)
    r.raw(N * (bits - dropped) // 8 + N * bits // 8)


def seeded_ciphertext(r):
    limbs = r.u32()
    assert 1 <= limbs < len(PRIMES)
    noise(r)
    r.raw(32)
    polynomial(r, PRIMES[:limbs])


def ids(r):
    assert r.raw(16) == PARAMETERS_ID
    return r.raw(16)


def tail(r):
    start, rate, scale, shape, evenness = (r.f64() for _ in range(5))
    assert math.isfinite(start) and 0 < rate <= 1 and scale > 0 and shape < 1 and evenness > 0


def model(path, version=1, of="compact"):
    r = open_envelope(path, "MODL", version)
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
    if version == 3:
        agreement = r.f64()
        assert 0 < agreement <= 1
        core += struct.pack("<d", agreement)
    assert len(r.f64s()) in (0, gamma * sum(dimensions))
    for _ in range(r.u32()):
        assert 0 < r.f64() < 1
        r.f64(), r.f64(), r.u64()
        if version == 3:
            assert 0 <= r.f64() <= r.f64() <= 1
    calibrated = version == 2
    if version == 3:
        for _ in range(r.u32()):
            assert r.u32() >= 1 and r.u64() > 0 and r.u64() > 0
            tail(r)
            for _ in range(r.u32()):
                tail(r)
        calibrated = r.u32() == 1
    if calibrated:
        assert r.f64() > 0 and math.isfinite(r.f64())
    json.loads(r.string())
    r.end()
    return hashlib.blake2b(core, digest_size=32).digest()[:16], gamma


def encryption_key(path, version=1):
    r = open_envelope(path, "PUBK", version)
    key_id = ids(r)
    if version == 1:
        r.raw(32)
    else:
        polynomial(r, PRIMES)
    polynomial(r, PRIMES)
    r.end()
    return key_id


def evaluation_keys(path, key_id, version=1):
    r = open_envelope(path, "EVAL", version)
    assert ids(r) == key_id
    for _ in range(r.u64()):
        element = r.u32()
        assert element % 2 == 1 and element < 2 * N
        switching_key(r, version)
    r.end()


def switching_key(r, version=1):
    limbs = r.u32()
    if version == 1:
        r.raw(32)
    for _ in range(limbs * version):
        polynomial(r, PRIMES[:limbs] + PRIMES[-1:])
    return limbs


def rekeying_key(path, key_id, new_key_id):
    r = open_envelope(path, "RKEY")
    assert ids(r) == key_id and r.raw(16) == new_key_id != key_id
    assert switching_key(r) >= 2
    r.end()


def budget(path, key_id, successor):
    r = open_envelope(path, "BUDG")
    assert ids(r) == key_id and r.raw(16) == successor
    for _ in range(r.u64()):
        r.raw(16), r.u64(), r.u64()
        hashes = []
        for _ in range(r.u64()):
            hashes.append(r.raw(16))
            r.u64()
        assert hashes == sorted(set(hashes))
    r.end()


class JournalKeys:
    """What is derived from a secret key in the clear."""

    def __init__(self, path):
        coefficients = path.read_bytes()[24 + 33:-32]
        assert len(coefficients) == N
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
        r.raw(16), r.u8(), r.raw(3 * 8), r.raw(3 * 8)
        for key in (16, 48, 32):
            r.raw(r.u64() * (key + 4 * 8))
    r.raw(r.u64() * 24)


def journal(path, key_id, keys):
    """The last entry's sequence and MAC."""
    data = path.read_bytes()
    r = Reader(data)
    assert r.raw(8) == MAGIC and r.raw(4) == b"JRNL" and r.u32() == 1
    assert r.raw(16) == keys.fingerprint and r.raw(16) == key_id
    r.raw(72)
    sequence, before = r.u64(), r.raw(32)
    assert (sequence, before) == (0, bytes(32))
    mac = keys.mac(data[:r.at])
    assert r.raw(32) == mac
    acts = []
    while r.at < len(data):
        start = r.at
        end = r.u64() + r.at
        assert r.u64() == sequence + 1 and r.u64() == 1800000000
        sequence += 1
        acts.append(r.u8())
        r.raw(32), r.raw(16)
        assert r.u8() <= 1 and r.u8() <= 1
        r.u32(), r.raw(16), r.raw(16 * r.u64())
        r.raw(3 * 8), r.raw(16), r.raw(r.u64())
        state = Reader(r.raw(r.u64()))
        if acts[-1] == 1:
            ledger(state)
        assert state.at == len(state.data) and r.at == end
        mac = keys.mac(mac, data[start:end])
        assert r.raw(32) == mac
    assert acts == [1, 6, 4, 4, 5]
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
        assert set(r.raw(N + (N // 2 if version == 2 else 0))) <= {0, 1, 255}
    else:
        assert 1 <= r.u64() <= 16 and r.u64() <= 2**31
        r.raw(16 + 24 + N + 16)
    r.end()
    return found


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


def manifest(path, key_id, model_id, gamma, revoked, version):
    """The generations of the blocks' files, from version 3 on the gallery's id, from 5 on its root;
    from 6 on also the names, the digests of templates and those of samples in means."""
    r = open_envelope(path, "GALM", version)
    binding(r, key_id, model_id, gamma)
    r.u64()
    generations = [r.u64() for _ in range(r.u64())]
    names = [r.string() for _ in range(r.u64())]
    assert all(1 <= len(name) <= 255 for name in names)
    if version >= 2:
        assert [r.raw(16) for _ in range(r.u64())] == revoked
    gallery_id = r.raw(16) if version >= 3 else None
    if version >= 4:
        digests = [r.raw(16) for _ in names]
    if version < 5:
        r.end()
        return generations, gallery_id
    hashes = [r.raw(32) for _ in generations]
    root = r.raw(32)
    parts = [r.raw(16) for _ in range(r.u64())] if version >= 6 else []
    r.end()
    leaves = []
    for p, name in enumerate(names):
        text = name.encode()
        leaves.append(blake(b"\0" + struct.pack("<QQ", p, len(text)) + text + hashes[p // N]
                            + struct.pack("<Q", generations[p // N])))
    assert root == tree(leaves)
    if version >= 6:
        return names, digests, parts
    return generations, gallery_id, root


def tree(leaves):
    """RFC 6962, section 2.1."""
    if len(leaves) < 2:
        return leaves[0] if leaves else blake(b"")
    split = 1
    while 2 * split < len(leaves):
        split *= 2
    return blake(b"\1" + tree(leaves[:split]) + tree(leaves[split:]))


def gallery(folder, key_id, model_id, gamma, revoked=None):
    generations, _ = manifest(folder / "manifest.heft", key_id, model_id, gamma, revoked,
                              1 if revoked is None else 2)
    names = {f"block-{b}-{g}.heft" for b, g in enumerate(generations)} | {"manifest.heft"}
    assert names == {p.name for p in folder.iterdir()}
    for number, generation in enumerate(generations):
        r = open_envelope(folder / f"block-{number}-{generation}.heft", "GBLK")
        binding(r, key_id, model_id, gamma)
        assert r.u64() == number and r.raw(44) == bytes(44) and r.at + 24 == 128
        for q in PRIMES[:2]:
            words = struct.unpack(f"<{2 * N * gamma}I", r.raw(8 * N * gamma))
            assert max(words) < q
        r.end()


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


def scores(path, key_id, model_id, kind, version=1):
    return scores_of(open_envelope(path, "SCOR", version), key_id, model_id, kind, version)


def scores_of(r, key_id, model_id, kind, version):
    """From version 4 on: gallery id, generation, root, nonce and commitment; in version 5 also which
    places answer, when, and the conditions."""
    assert ids(r) == key_id and r.raw(16) == model_id and r.u8() == kind
    r.string()
    claimed = r.string()
    identities = [r.name() for _ in range(r.u64())]
    templates = r.u64()
    answers, restriction = [True] * templates, None
    if version >= 5:
        bits = r.raw(-(-templates // 8))
        answers = [bool(bits[p // 8] >> p % 8 & 1) for p in range(templates)]
        assert int.from_bytes(bits, "little") >> templates == 0 and not all(answers) and kind == 0
        restriction = (answers, r.u64(), [condition(r) for _ in range(r.u8())])
    norm = r.u8()
    assert norm in ((0, 1) if version < 3 else (1, 2))
    if norm:
        ciphertext(r)
    short = version == 2 if version < 3 else (0, 1).index(r.u8()) == 1
    replies = r.u64()
    assert not short or replies > 0 and kind == 0
    if kind == 0:
        assert len(identities) in (0, templates) and not claimed
        assert replies == len({p // N for p in range(templates) if answers[p]})
        assert all((name != "") == answers[p] for p, name in enumerate(identities))
    else:
        assert identities == [claimed] and templates == 0
    for _ in range(replies):
        if kind == 1:
            assert all(r.u32() & 0x7FFFFFFF < N // 2 for _ in range(r.u64()))
        (short_ciphertext if short else ciphertext)(r)
    origin = (r.raw(16), r.u64(), r.raw(32), r.raw(32), r.raw(32)) if version >= 4 else None
    r.end()
    return origin if restriction is None else (origin, restriction)


# Ed25519 (RFC 8032, section 5.1): the curve -x^2 + y^2 = 1 + d x^2 y^2 modulo P, of order L.
P, L = 2**255 - 19, 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P


def point(data):
    y = int.from_bytes(data, "little")
    sign, y = y >> 255, y & (1 << 255) - 1
    square = (y * y - 1) * pow(D * y * y + 1, -1, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * pow(2, (P - 1) // 4, P) % P
    assert (x * x - square) % P == 0, "no point of the curve"
    return (x if x & 1 == sign else P - x, y)


def add(a, b):
    product = D * a[0] * b[0] * a[1] * b[1] % P
    return ((a[0] * b[1] + a[1] * b[0]) * pow(1 + product, -1, P) % P,
            (a[1] * b[1] + a[0] * b[0]) * pow(1 - product, -1, P) % P)


def times(n, a):
    out = (0, 1)
    while n:
        if n & 1:
            out = add(out, a)
        a, n = add(a, a), n >> 1
    return out


BASE = point((4 * pow(5, -1, P) % P).to_bytes(32, "little"))


def public_key(seed):
    half = int.from_bytes(hashlib.sha512(seed).digest()[:32], "little")
    x, y = times(half & (1 << 254) - 8 | 1 << 254, BASE)
    return (y | (x & 1) << 255).to_bytes(32, "little")


def signature_is_good(key, message, signature):
    s = int.from_bytes(signature[32:], "little")
    h = int.from_bytes(hashlib.sha512(signature[:32] + key + message).digest(), "little") % L
    return s < L and times(s, BASE) == add(point(signature[:32]), times(h, point(key)))


def blake(data):
    return hashlib.blake2b(data, digest_size=32).digest()


def signed(folder, reply, manifest_id, samples_file):
    """A reply signed by a server, its key, and the trust file that believes it."""
    r = open_envelope(folder / "server.key", "SIGK")
    key = r.raw(32)
    assert r.u8() == 0 and public_key(r.raw(32)) == key
    r.end()
    assert (folder / "server.pub").read_text() == f"{key.hex()} server\n"
    r = open_envelope(folder / "identification.ct", "SIGN")
    statement = r.raw(1 + 4 + 32 + 32 + 16 + 8 + 16 + 32 + 8 + 8)
    assert r.raw(32) == key
    signature, file = r.raw(64), r.raw(len(r.data) - r.at)
    assert file == reply and statement[:5] == b"\2SCOR"
    assert signature_is_good(
        key, b"HEFT signed file, version 1" + statement + key + blake(file), signature)
    s = Reader(statement[5:])
    assert s.raw(32) == bytes(32) and s.raw(32) == bytes(32)
    assert s.raw(16) == manifest_id and s.u64() == 3 and s.raw(16) != bytes(16)
    files = blake(blake(samples_file))
    assert s.raw(32) == blake(b"HEFT request, version 1" + struct.pack("<Q", 1) + files)
    issued, expires = s.u64(), s.u64()
    assert issued > 0 and expires == 0
    s.end()
    trust = json.loads((folder / "trust.heft").read_text())
    assert trust["heft_trust"] == 1 and trust["server"] == [{"name": "server", "key": key.hex()}]
    assert trust["galleries"] == [{"id": manifest_id.hex(), "generation": 3}]
    assert set(trust) == {"heft_trust", "server", "revoked", "galleries"}
    assert len(bytes.fromhex(trust["revoked"][0]["key"])) == 32


def signed_file(path):
    """The kind and the bytes of the file in a signed one."""
    r = open_envelope(path, "SIGN")
    statement, key, signature = r.raw(1 + 4 + 32 + 32 + 16 + 8 + 16 + 32 + 8 + 8), r.raw(32), r.raw(64)
    file = r.raw(len(r.data) - r.at)
    assert signature_is_good(
        key, b"HEFT signed file, version 1" + statement + key + blake(file), signature)
    return statement[1:5], file


def keyed_hash(key, purpose, message):
    """The first 32 bytes: block 0 of ChaCha20 with a nonce of zeros, under keyed BLAKE2b."""
    subkey = hashlib.blake2b(bytes([len(purpose)]) + purpose + message, digest_size=32, key=key).digest()
    state = list(struct.unpack("<16I", b"expand 32-byte k" + subkey + bytes(16)))
    x = state[:]

    def quarter(a, b, c, d):
        for u, v, w, turn in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[u] = (x[u] + x[v]) & 0xFFFFFFFF
            y = x[w] ^ x[u]
            x[w] = (y << turn | y >> 32 - turn) & 0xFFFFFFFF

    for _ in range(10):
        for i in range(4):
            quarter(i, 4 + i, 8 + i, 12 + i)
        for i in range(4):
            quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4)
    return struct.pack("<16I", *((a + b) & 0xFFFFFFFF for a, b in zip(x, state)))[:32]


def audited(folder, key_id, model_id, gamma):
    """What checks a server: roots, a state that was signed, a reply with its seed, canaries."""
    _, gallery_id, root = manifest(folder / "manifest.heft", key_id, model_id, gamma, [], 5)
    kind, file = signed_file(folder / "verification.ct")
    assert kind == b"SCOR"
    origin = scores_of(envelope_in(file, "SCOR", 4), key_id, model_id, 1, 4)
    r = open_envelope(folder / "audit.key", "AUDK")
    audit_key = r.raw(32)
    r.end()
    r = open_envelope(folder / "verification.seed", "SEED")
    nonce, seed = r.raw(32), r.raw(32)
    r.end()
    assert seed == keyed_hash(audit_key, b"reply", nonce)
    commitment = blake(b"HEFT seed of a reply, version 1" + nonce + seed)
    assert origin == (gallery_id, 1, root, nonce, commitment)
    r = open_envelope(folder / "pending.ct", "ADRQ", 2)
    binding(r, key_id, model_id, gamma)
    assert (r.raw(16), r.u64(), r.raw(32), r.u64()) == (gallery_id, 1, root, 0)
    r.end()
    kind, file = signed_file(folder / "state.heft")
    assert kind == b"ADMS"
    r = envelope_in(file, "ADMS", 2)
    binding(r, key_id, model_id, gamma)
    assert (r.raw(16), r.u64(), r.raw(32), r.u64()) == (gallery_id, 1, root, 0)
    r.end()
    r = open_envelope(folder / "canaries.heft", "CNRY")
    assert r.raw(16) == key_id and r.raw(16) == model_id
    # One triple and a probe; random names have 16 letters.
    sealed = 8 + 16 + 3 * (8 + 16 + 8 * gamma) + 8 + (8 + 16 + 8)
    r.raw(24 + sealed + 16)
    r.end()
    assert {p.name for p in folder.iterdir()} == {
        "manifest.heft", "verification.ct", "audit.key", "verification.seed", "pending.ct",
        "state.heft", "canaries.heft"}


def means(folder, key_id, model_id, gamma, sample):
    """A manifest and a waiting enrolment of a mean, in which `sample` stands: a record a modality."""
    names, digests, parts = manifest(folder / "manifest.heft", key_id, model_id, gamma, [], 6)
    assert names == ["bob", "ann"]
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
    assert sorted(of_mean) == sorted(parts) and len(parts) == 2 and digest == digests[1]
    assert digest == blake(b"".join(of_mean))[:16]
    records = (b"\1" + blake(modality.encode() + record) for modality, record in sample)
    assert of_mean[0] == blake(b"".join(records))[:16]
    assert {p.name for p in folder.iterdir()} == {"manifest.heft", "waiting.heft", "metadata.heft",
                                                  "voice.ct"}


TIME = 1800000000


def lead(byte, size=16):
    """An id or a digest of the golden records: a byte, and zeros."""
    return bytes([byte]) + bytes(size - 1)


def record(path, padded=False, version=1):
    r = Reader(path.read_bytes())
    assert r.u8() == version
    assert not padded or len(r.data) == 4096
    return r


def rest_is_zero(r):
    assert not any(r.raw(len(r.data) - r.at))


def resident(r, version=1):
    state, clean = r.u8(), r.f64()
    if state == 0:
        return state, clean
    person = r.raw(16)
    if state == 2:
        return (state, clean, person) + ((r.u64(), r.raw(16)) if version > 1 else ())
    name, sample = r.string(), r.raw(16)
    parts = [r.raw(16) for _ in range(r.u64())]
    contribution, entry, generation, enrolled, expires = r.raw(32), r.u64(), r.u64(), r.u64(), r.u64()
    metadata = {r.name(): r.name() for _ in range(r.u8())}
    return (state, clean, person, name, sample, parts, contribution, entry, generation, enrolled,
            expires, metadata)


def small_records(folder):
    r = record(folder / "info")
    assert r.u64() == 5 and [r.raw(32) for _ in range(4)] == [lead(d, 32) for d in (1, 2, 3, 4)]
    assert (r.u32(), r.u32(), r.f64(), r.f64()) == (60, 2, 0.5, 0.25)
    r.end()
    r = record(folder / "entry")
    assert (r.u64(), r.u64(), r.u64()) == (65, 5, TIME)
    digest, fused = r.raw(32), r.raw(5)
    assert fused == bytes((1, 2, 3, 4, 5)) and digest == blake(fused)
    r.end()
    r = record(folder / "fold")
    assert (r.u64(), r.u64()) == (4, TIME)
    r.end()
    r = record(folder / "named")
    assert r.u32() == 1 and [r.u64() for _ in range(r.u64())] == [0, 65]
    r.end()


def people(folder):
    r = record(folder / "run-left", padded=True, version=2)
    run = [resident(r, 2) for _ in range(64)]
    assert run[0][3] == "ann" and run[2] == (2, 0.25, lead(6), TIME + 3, lead(7))
    rest_is_zero(r)
    r = record(folder / "receipt-times", version=2)
    assert (r.u64(), r.u64(), r.u64()) == (5, TIME, TIME + 1)
    assert [(r.raw(16), r.u32(), r.u64()) for _ in range(r.u64())] == [
        (lead(1), 2, TIME - 60), (lead(3), 1, 0)]
    assert r.raw(r.u64()) == bytes((9, 8, 7))
    r.end()
    for name, start in (("waiting", b"HGWT\2"), ("waiting-1", b"")):
        r = Reader((folder / name).read_bytes())
        assert r.raw(len(start)) == start and len(r.data) == 4096
        assert [r.string() for _ in range(r.u64())] == ["ann", "bob"]
        assert [r.raw(16) for _ in range(r.u64())] == [lead(1), lead(2), lead(3)]
        rest_is_zero(r)


def records(folder):
    """The values of a gallery's store."""
    r = record(folder / "head")
    assert [r.raw(16) for _ in range(3)] == [lead(1), lead(2), lead(3)] and r.u32() == 16
    assert (r.raw(16), r.u64(), r.raw(32)) == (lead(4), 5, lead(6, 32))
    assert (r.u64(), r.u64(), r.u64(), r.u32(), r.u32()) == (70, 60, 2, 128, 1)
    assert [r.u64() for _ in range(7)] == [9, 7, 3, 1000, TIME, TIME + 1, TIME + 2]
    assert (r.u8(), r.u64(), r.u64()) == (1, 600, 1 << 20)
    assert [r.raw(16) for _ in range(r.u64())] == [lead(7), lead(8)]
    r.end()
    small_records(folder)
    people(folder)
    r = record(folder / "run", padded=True)
    run = [resident(r) for _ in range(64)]
    assert run[0] == (1, 0.125, lead(1), "ann", lead(2), [lead(3), lead(4)], lead(5, 32), 8, 5, TIME,
                      TIME + 60, {"site": "berlin"})
    assert run[2] == (2, 0.25, lead(6)) and run[1:2] + run[3:] == [(0, 0.0)] * 62
    rest_is_zero(r)
    r = record(folder / "exchange", padded=True)
    assert (r.raw(32), r.u64()) == (lead(1, 32), TIME)
    assert [(r.u64(), r.raw(32)) for _ in range(r.u64())] == [(0, lead(2, 32)), (3, lead(4, 32))]
    assert [(r.u64(), [(r.u32(), r.u32(), r.u32()) for _ in range(r.u64())])
            for _ in range(r.u64())] == [(3, [(0, 5, 6), (1, 7, 7)])]
    rest_is_zero(r)
    r = record(folder / "receipt")
    assert (r.u64(), r.u64(), r.u64()) == (5, TIME, TIME + 1)
    assert [(r.raw(16), r.u32()) for _ in range(r.u64())] == [(lead(1), 2), (lead(3), 1)]
    assert r.raw(r.u64()) == bytes((9, 8, 7))
    r.end()
    r = Reader((folder / "block").read_bytes())
    assert (r.raw(4), r.u32(), r.u64(), r.u64(), r.u32(), r.u32()) == (b"HGBK", 1, 3, 5, 16, 0)
    assert r.u64() == 0x0102030405060708
    digest, padding = r.raw(32), r.raw(40)
    assert r.at == 112 and not any(padding) and digest == blake(r.data[112:])
    assert [r.u32() for _ in range(4)] == [0, 1, 0xFFFFFFFE, 7]
    r.end()
    assert {p.name for p in folder.iterdir()} == {
        "head", "info", "run", "entry", "fold", "exchange", "receipt", "named", "block",
        "run-left", "receipt-times", "waiting", "waiting-1"}


def main():
    here = Path(__file__).parent
    use(COMPACT[0], primes_of(*COMPACT))
    model_id, gamma = model(here / "model.heft")
    assert model(here / "model-2.heft", 2) == (model_id, gamma)
    model_3_id, _ = model(here / "model-3.heft", 3)
    assert model_3_id != model_id
    key_id = encryption_key(here / "encryption.key")
    evaluation_keys(here / "evaluation.keys", key_id)
    assert encryption_key(here / "encryption-2.key", 2) == key_id
    evaluation_keys(here / "evaluation-2.keys", key_id, 2)
    secret_key(here / "secret.key", key_id, 0)
    secret_key(here / "sealed.key", key_id, 1)
    face = samples(here / "face.ct", "CTXT", key_id)
    samples(here / "finger-bulk.ct", "CTXS", key_id)
    gallery(here / "gallery", key_id, model_id, gamma)
    scores(here / "identification.ct", key_id, model_id, 0)
    scores(here / "verification.ct", key_id, model_id, 1)
    proved = here / "proved"
    scores(proved / "identification.ct", key_id, model_id, 0, 3)
    scores(proved / "verification.ct", key_id, model_id, 1, 3)
    assert len(list(proved.iterdir())) == 2
    read = {"model.heft", "model-2.heft", "model-3.heft", "encryption.key", "evaluation.keys", "secret.key", "sealed.key", "face.ct",
            "finger-bulk.ct", "gallery", "identification.ct", "verification.ct",
            "checkpoint.json", "encryption-2.key", "evaluation-2.keys", "renewed",
            "secret.key.budget", "thin", "signed", "journal", "proved", "audited", "means",
            "records"}
    audited(here / "audited", key_id, model_id, gamma)
    records(here / "records")
    voice = samples(here / "means/voice.ct", "CTXT", key_id)
    means(here / "means", key_id, model_3_id, gamma, [face, voice])
    keys = JournalKeys(here / "secret.key")
    link = journal(here / "journal/secret.key.journal", key_id, keys)
    (end,) = (here / "journal").glob("*.anchor")
    anchor(end, key_id, keys, link)
    assert len(list((here / "journal").iterdir())) == 2
    renewed = here / "renewed"
    new_key_id = secret_key(renewed / "secret.key", None, 0)
    rekeying_key(renewed / "rekeying.key", key_id, new_key_id)
    gallery(renewed / "gallery", new_key_id, model_id, gamma, [key_id])
    _, gallery_id = manifest(here / "signed" / "manifest.heft", new_key_id, model_id, gamma, [key_id], 3)
    assert gallery_id == blake(b"HEFT gallery without an id" + PARAMETERS_ID + new_key_id + model_id
                               + struct.pack("<I", gamma))[:16]
    signed(here / "signed", (here / "identification.ct").read_bytes(), gallery_id,
           (here / "face.ct").read_bytes())
    assert {p.name for p in (here / "signed").iterdir()} == {
        "server.key", "server.pub", "identification.ct", "trust.heft", "manifest.heft"}
    budget(here / "secret.key.budget", key_id, new_key_id)
    budget(renewed / "secret.key.budget", new_key_id, bytes(16))
    assert {p.name for p in renewed.iterdir()} == {"secret.key", "rekeying.key", "gallery",
                                                   "secret.key.budget"}
    checkpoint = json.loads((here / "checkpoint.json").read_text())
    assert checkpoint["kind"] == "heft training checkpoint 1"
    assert checkpoint["epoch"] == checkpoint["adam_step"] >= checkpoint["best_epoch"]
    for name in ("projection", "best", "adam_mean", "adam_square"):
        assert checkpoint[name]["rows"] * checkpoint[name]["columns"] == len(
            checkpoint[name]["values"])
    assert {"options", "best_auroc", "modality_weights"} < set(checkpoint)
    others = {p.name for p in here.iterdir()} - read - {"README.md", "read_golden.py", "__pycache__"}
    assert not others, f"files that nobody reads: {others}"
    # Two rings: the matching ring has half the degree and the first four primes.
    thin = here / "thin"
    thin_id, _ = model(thin / "model.heft", of="thin")
    large = primes_of(*THIN)
    use(THIN[0], large)
    thin_key_id = secret_key(thin / "secret.key", None, 0, 2)
    use(THIN[0] // 2, large[:4])
    scores(thin / "identification.ct", thin_key_id, thin_id, 0, 2)
    scores(thin / "proved.ct", thin_key_id, thin_id, 0, 3)
    _, restriction = scores(thin / "restricted.ct", thin_key_id, thin_id, 0, 5)
    assert restriction == ([False, True, True], 1800000000, [
        ("site", ["berlin", "paris"]), ("age", 18, 30.5), ("height", None, 200)])
    assert {p.name for p in thin.iterdir()} == {"model.heft", "secret.key", "identification.ct",
                                                "proved.ct", "restricted.ct"}
    return 0


if __name__ == "__main__":
    sys.exit(main())
