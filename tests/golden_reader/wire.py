# SPDX-License-Identifier: Apache-2.0
"""What all kinds of files are made of: envelopes, numbers, polynomials."""
import hashlib
import math
import struct


MAGIC = bytes.fromhex("484546540d0a1a0a")


def primes_of(n, sizes):
    """The largest primes = 1 (mod 2N) of each size, the special prime chosen first."""
    taken = []
    for bits in [sizes[-1]] + sizes[:-1]:
        q = (1 << bits) - ((1 << bits) - 1) % (2 * n)
        while q in taken or any(q % d == 0 for d in range(3, math.isqrt(q) + 1, 2)):
            q -= 2 * n
        taken.append(q)
    return taken[1:] + taken[:1]


class Ring:
    """N, and the primes in order, the special one last."""

    def use(self, n, primes):
        self.n, self.primes = n, primes
        self.parameters_id = hash_of(struct.pack(f"<{len(primes) + 1}I", n, *primes))[:16]


# The ring of all files until another is used.
ring = Ring()


def hash_of(data):
    return hashlib.sha256(data).digest()


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
    assert r.raw(32) == hashlib.sha256(r.data[:-32]).digest()
    r.end()
    return Reader(payload)


def polynomial(r, primes):
    for q in primes:
        bits = q.bit_length()
        value = int.from_bytes(r.raw(ring.n * bits // 8), "little")
        text = format(value, f"0{ring.n * bits}b")
        assert all(int(text[i:i + bits], 2) < q for i in range(0, ring.n * bits, bits))


def noise(r):
    scale, message, error = r.f64(), r.f64(), r.f64()
    assert scale > 0 and message >= 0 and error >= 0


def ciphertext(r):
    parts, limbs = r.u32(), r.u32()
    assert parts in (2, 3) and 1 <= limbs < len(ring.primes)
    noise(r)
    for _ in range(parts):
        polynomial(r, ring.primes[:limbs])
    return limbs


def short_ciphertext(r):
    bits, dropped, raised = r.u8(), r.u8(), r.u8()
    assert (bits, dropped, raised) == (23, 7, 3) and bits + raised < ring.primes[0].bit_length()
    noise(r)
    r.raw(ring.n * (bits - dropped) // 8 + ring.n * bits // 8)


def seeded_ciphertext(r):
    limbs = r.u32()
    assert 1 <= limbs < len(ring.primes)
    noise(r)
    r.raw(32)
    polynomial(r, ring.primes[:limbs])


def ids(r):
    assert r.raw(16) == ring.parameters_id
    return r.raw(16)
