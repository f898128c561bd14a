# SPDX-License-Identifier: Apache-2.0
"""Signatures, by a verifier of its own, and what checks a server."""
import hashlib
import json
import struct

from galleries import binding, scores_of
from wire import Reader, envelope_in, hash_of, open_envelope

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


def signed(folder, reply, samples_file):
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
        key, b"HEFT signed file, version 1" + statement + key + hash_of(file), signature)
    s = Reader(statement[5:])
    assert s.raw(32) == bytes(32) and s.raw(32) == bytes(32)
    gallery_id, generation = s.raw(16), s.u64()
    assert s.raw(16) != bytes(16)
    files = hash_of(hash_of(samples_file))
    assert s.raw(32) == hash_of(b"HEFT request, version 1" + struct.pack("<Q", 1) + files)
    issued, expires = s.u64(), s.u64()
    assert issued > 0 and expires == 0
    s.end()
    trust = json.loads((folder / "trust.heft").read_text())
    assert trust["heft_trust"] == 1 and trust["server"] == [{"name": "server", "key": key.hex()}]
    assert trust["galleries"] == [{"id": gallery_id.hex(), "generation": generation}]
    assert set(trust) == {"heft_trust", "server", "revoked", "galleries"}
    assert len(bytes.fromhex(trust["revoked"][0]["key"])) == 32


def signed_file(path):
    """The kind and the bytes of the file in a signed one."""
    r = open_envelope(path, "SIGN")
    statement, key, signature = r.raw(1 + 4 + 32 + 32 + 16 + 8 + 16 + 32 + 8 + 8), r.raw(32), r.raw(64)
    file = r.raw(len(r.data) - r.at)
    assert signature_is_good(
        key, b"HEFT signed file, version 1" + statement + key + hash_of(file), signature)
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
    kind, file = signed_file(folder / "verification.ct")
    assert kind == b"SCOR"
    origin = scores_of(envelope_in(file, "SCOR", 7), key_id, model_id, 1)
    r = open_envelope(folder / "audit.key", "AUDK")
    audit_key = r.raw(32)
    r.end()
    r = open_envelope(folder / "verification.seed", "SEED")
    nonce, seed = r.raw(32), r.raw(32)
    r.end()
    assert seed == keyed_hash(audit_key, b"reply", nonce)
    commitment = hash_of(b"HEFT seed of a reply, version 1" + nonce + seed)
    gallery_id, generation, root = origin[:3]
    assert origin[3:] == (nonce, commitment)
    r = open_envelope(folder / "pending.ct", "ADRQ", 3)
    binding(r, key_id, model_id, gamma)
    assert (r.raw(16), r.u64(), r.raw(32), r.u64()) == (gallery_id, generation, root, 0)
    head = r.raw(r.u64())
    assert head == (folder / "journal.head").read_bytes() and r.u64() == 0
    r.end()
    kind, file = signed_file(folder / "state.heft")
    assert kind == b"ADMS"
    r = envelope_in(file, "ADMS", 3)
    binding(r, key_id, model_id, gamma)
    assert (r.raw(16), r.u64(), r.raw(32)) == (gallery_id, generation, root)
    assert (r.u64(), r.u64()) == (0, 0), "no end of a journal, no enrolments"
    r.end()
    kind, file = signed_file(folder / "journal.head")
    assert kind == b"HEAD"
    r = envelope_in(file, "HEAD", 1)
    assert (r.raw(16), r.u64(), r.raw(32), r.u64()) == (key_id, 5, bytes([9]) + bytes(31), 1800000000)
    r.end()
    r = open_envelope(folder / "canaries.heft", "CNRY")
    assert r.raw(16) == key_id and r.raw(16) == model_id
    # One triple and a probe; random names have 16 letters.
    sealed = 8 + 16 + 3 * (8 + 16 + 8 * gamma) + 8 + (8 + 16 + 8)
    r.raw(24 + sealed + 16)
    r.end()
    assert {p.name for p in folder.iterdir()} == {
        "verification.ct", "audit.key", "verification.seed", "pending.ct",
        "state.heft", "canaries.heft", "journal.head"}
