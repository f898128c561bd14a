#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Known answers of the CKKS engine, from exact integer arithmetic.

    make_known_answers.py            writes known-n16.json and known-n64.json beside this script
    make_known_answers.py --check    exit code 1 unless the files are what would be written

Written from the definitions and from docs/formats.md, not from the engine: polynomials are lists of
Python's integers modulo the product of all primes, products are schoolbook negacyclic convolutions,
transforms are evaluations by Horner's rule, divisions round integers, encodings are sums in
60-digit decimals. No number here is a float, nothing is residue by residue but the output.
"""
import json
import math
import random
import sys
from decimal import Decimal, getcontext
from pathlib import Path

getcontext().prec = 60
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")


# ---- Primes and roots, by trial.

def is_prime(n):
    return n > 1 and all(n % d for d in range(2, math.isqrt(n) + 1))


def largest_primes(n, bits, taken):
    """The largest prime = 1 (mod 2n) of exactly `bits` bits that is not taken."""
    q = (1 << bits) - ((1 << bits) - 1) % (2 * n)
    while not is_prime(q) or q in taken:
        q -= 2 * n
    assert q.bit_length() == bits
    return q


def minimal_root(n, q):
    """The smallest primitive 2n-th root of unity: psi^n = -1, and so for its odd powers."""
    root = next(r for g in range(2, q) if pow(r := pow(g, (q - 1) // (2 * n), q), n, q) == q - 1)
    return min(pow(root, e, q) for e in range(1, 2 * n, 2))


# ---- Polynomials: lists of integers modulo m.

def add(a, b, m):
    return [(x + y) % m for x, y in zip(a, b)]


def negate(a, m):
    return [-x % m for x in a]


def scale(a, k, m):
    return [x * k % m for x in a]


def multiply(a, b, m):
    """Schoolbook, modulo X^n + 1."""
    n = len(a)
    out = [0] * n
    for i, x in enumerate(a):
        for j, y in enumerate(b):
            if i + j < n:
                out[i + j] += x * y
            else:
                out[i + j - n] -= x * y
    return [x % m for x in out]


def automorphism(a, element, m):
    """X -> X^element."""
    n = len(a)
    out = [0] * n
    for i, x in enumerate(a):
        e = i * element % (2 * n)
        out[e % n] += x if e < n else -x
    return [x % m for x in out]


def centred(x, m):
    x %= m
    return x - m if x > m // 2 else x


def divide(a, divisor, m):
    """Round to the nearest multiple of `divisor`, which divides m, and divide: modulo m/divisor."""
    return [(x - centred(x, divisor)) // divisor % (m // divisor) for x in a]


def lift_residue(x, q, modulus):
    """The integer that is x modulo q and 0 modulo the other primes of `modulus`."""
    rest = modulus // q
    return x * rest * pow(rest, -1, q)


# ---- What the engine stores: NTT form, limb after limb.

def reverse_bits(x, bits):
    return int(format(x, f"0{bits}b")[::-1], 2) if bits else 0


def ntt(a, q, psi):
    """Output j is the value at psi^(2 brv(j) + 1)."""
    n = len(a)
    bits = n.bit_length() - 1
    out = []
    for j in range(n):
        point = pow(psi, 2 * reverse_bits(j, bits) + 1, q)
        value = 0
        for x in reversed(a):
            value = (value * point + x) % q
        out.append(value)
    return out


# ---- Encoding in decimals.

def cos_sin(angle):
    """By Taylor's series, after the angle is brought into [0, 2 pi)."""
    angle %= 2 * PI
    def series(start, k):
        total = term = start
        while abs(term) > Decimal(10) ** -55:
            term *= -angle * angle / ((k + 1) * (k + 2))
            total += term
            k += 2
        return total
    return series(Decimal(1), 0), series(angle, 1)


def encode(slots, scale_factor, n):
    """Coefficient k is round(scale 2/n sum_j Re(v_j zeta^(-k 3^j))), zeta = exp(i pi / n), halves
    away from zero."""
    powers = [cos_sin(PI * e / n) for e in range(2 * n)]
    out = []
    for k in range(n):
        total = Decimal(0)
        for j, (re, im) in enumerate(slots):
            c, s = powers[k * pow(3, j, 2 * n) % (2 * n)]
            total += Decimal(re) * c + Decimal(im) * s
        exact = total * 2 * scale_factor / n
        out.append(int(exact.copy_abs() + Decimal("0.5")) * (1 if exact >= 0 else -1))
    return out


# ---- ChaCha20 (Bernstein 2008; 64-bit nonce and counter) and the expansion of a seed.

def chacha20_block(key, nonce, counter):
    words = lambda b: [int.from_bytes(b[i:i + 4], "little") for i in range(0, len(b), 4)]
    state = (words(b"expand 32-byte k") + words(key) + words(counter.to_bytes(8, "little")) +
             words(nonce.to_bytes(8, "little")))
    x = list(state)
    def rotate(v, k):
        return (v << k | v >> (32 - k)) & 0xFFFFFFFF
    def quarter(a, b, c, d):
        for p, q, r, k in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[p] = (x[p] + x[q]) & 0xFFFFFFFF
            x[r] = rotate(x[r] ^ x[p], k)
    for _ in range(10):
        for column in ((0, 4, 8, 12), (1, 5, 9, 13), (2, 6, 10, 14), (3, 7, 11, 15)):
            quarter(*column)
        for diagonal in ((0, 5, 10, 15), (1, 6, 11, 12), (2, 7, 8, 13), (3, 4, 9, 14)):
            quarter(*diagonal)
    return b"".join(((a + b) & 0xFFFFFFFF).to_bytes(4, "little") for a, b in zip(x, state))


def expand(seed, digit, prime_index, q, n):
    """docs/formats.md, "Expansion of a seed"."""
    out, counter = [], 0
    while len(out) < n:
        block = chacha20_block(seed, 256 * digit + prime_index, counter)
        counter += 1
        for i in range(0, 64, 4):
            value = int.from_bytes(block[i:i + 4], "little") & ((1 << q.bit_length()) - 1)
            if value < q and len(out) < n:
                out.append(value)
    return out


# ---- The file.

class Instance:
    def __init__(self, n, bits, special_bits, rng):
        self.n, self.rng = n, rng
        taken = []
        for size in [special_bits] + bits:
            taken.append(largest_primes(n, size, taken))
        self.special, self.data = taken[0], taken[1:]
        self.roots = {q: minimal_root(n, q) for q in taken}

    def modulus(self, limbs):
        return math.prod(self.data[:limbs])

    def uniform(self, m):
        return [self.rng.randrange(m) for _ in range(self.n)]

    def small(self, bound):
        return [self.rng.randint(-bound, bound) for _ in range(self.n)]

    def stored(self, a, limbs, extended=False):
        primes = self.data[:limbs] + ([self.special] if extended else [])
        return [ntt([x % q for x in a], q, self.roots[q]) for q in primes]

    def switching_key(self, target, secret, limbs):
        """Digit j: (b, a), b = -(a s + e) + P t in limb j, modulo Q P."""
        m = self.modulus(limbs) * self.special
        key = []
        for j in range(limbs):
            a, e = self.uniform(m), self.small(21)
            b = negate(add(multiply(a, secret, m), e, m), m)
            q = self.data[j]
            lifted = [lift_residue(self.special * t % q, q, m) for t in target]
            key.append((add(b, lifted, m), a))
        return key

    def switch(self, poly, key, limbs):
        """(p0, p1) with p0 + p1 s close to poly t: centred digits, one division by P."""
        q_all = self.modulus(limbs)
        m = q_all * self.special
        sums = [[0] * self.n, [0] * self.n]
        for j in range(limbs):
            digit = [centred(x, self.data[j]) for x in poly]
            for part in range(2):
                term = multiply(digit, [x % m for x in key[j][part]], m)
                sums[part] = add(sums[part], term, m)
        return [divide(s, self.special, m) for s in sums]

    def relinearise(self, c, key, limbs):
        q = self.modulus(limbs)
        p0, p1 = self.switch(c[2], key, limbs)
        return [add(c[0], p0, q), add(c[1], p1, q)]

    def galois(self, c, element, key, limbs):
        q = self.modulus(limbs)
        image = [automorphism(part, element, q) for part in c]
        p0, p1 = self.switch(image[1], key, limbs)
        return [add(image[0], p0, q), p1]

    def rescale(self, c, limbs):
        return [divide(part, self.data[limbs - 1], self.modulus(limbs)) for part in c]


def packed(instance, a, limbs):
    """docs/formats.md, "Polynomial": b bits a residue, the lowest first."""
    out = b""
    for q, residues in zip(instance.data, instance.stored(a, limbs)):
        bits = q.bit_length()
        value = sum(x << (bits * i) for i, x in enumerate(residues))
        out += value.to_bytes(len(residues) * bits // 8, "little")
    return out.hex()


def known_answers(n):
    rng = random.Random(f"HEFT known answers {n}")
    instance = Instance(n, [30, 28, 20], 29, rng)
    top = 3
    q = instance.modulus(top)
    secret = [rng.randint(-1, 1) for _ in range(n)]
    store = instance.stored
    parts = lambda c, limbs: [store(p, limbs) for p in c]
    out = {"n": n, "primes": instance.data + [instance.special],
           "roots": [instance.roots[p] for p in instance.data + [instance.special]],
           "secret": secret}

    poly = instance.uniform(q)
    out["ntt"] = {"coefficients": [[x % p for x in poly] for p in instance.data],
                  "values": store(poly, top)}
    a, b = instance.uniform(q), instance.uniform(q)
    out["product"] = {"a": store(a, top), "b": store(b, top),
                      "result": store(multiply(a, b, q), top)}
    out["packed"] = {"poly": store(poly, 2), "hex": packed(instance, poly, 2)}

    # Slots with few decimals, so that they are the same numbers in C++.
    slots = [(str(Decimal(rng.randint(-4096, 4096)) / 4096),
              str(Decimal(rng.randint(-4096, 4096)) / 4096)) for _ in range(n // 2)]
    plain = encode(slots, 2**26, n)
    out["encoding"] = {"scale_bits": 26, "slots": [[float(re), float(im)] for re, im in slots],
                       "coefficients": plain, "values": store(plain, 2)}

    seed = bytes(rng.randrange(256) for _ in range(32))
    out["expansion"] = {"seed": seed.hex(), "values": [
        {"digit": d, "prime": i, "residues": expand(seed, d, i, p, n)}
        for d in (0, 2) for i, p in enumerate(instance.data + [instance.special])]}

    # c0 + c1 s = m + e at the top.
    def encrypt(message):
        c1, e = instance.uniform(q), instance.small(21)
        c0 = add(negate(multiply(c1, secret, q), q), add(message, e, q), q)
        return [c0, c1], [centred(x, q) for x in add(message, e, q)]
    x, opened = encrypt(plain)
    y, _ = encrypt(encode(slots[::-1], 2**26, n))
    out["ciphertexts"] = {"x": parts(x, top), "y": parts(y, top), "x_opened": opened}

    tensor = [multiply(x[0], y[0], q),
              add(multiply(x[0], y[1], q), multiply(x[1], y[0], q), q), multiply(x[1], y[1], q)]
    out["multiply"] = parts(tensor, top)
    out["rescale"] = parts(instance.rescale(x, top), top - 1)

    square = multiply(secret, secret, q)
    element = 3
    keys = {1: instance.switching_key(square, secret, top),
            element: instance.switching_key(automorphism(secret, element, q), secret, top)}
    out["keys"] = [{"element": g, "digits": [[store(part, top, True) for part in digit]
                                            for digit in key]} for g, key in keys.items()]
    relinearised = instance.relinearise(tensor, keys[1], top)
    out["relinearise"] = parts(relinearised, top)
    out["relinearise_and_rescale"] = parts(instance.rescale(relinearised, top), top - 1)
    out["galois"] = {"element": element, "result": parts(instance.galois(x, element, keys[element],
                                                                        top), top)}
    # One limb fewer: the same key serves, cut to the digits and limbs that are left.
    low = top - 1
    q_low = instance.modulus(low)
    cut = [[[v % (q_low * instance.special) for v in part] for part in digit]
           for digit in keys[element][:low]]
    low_x = [[v % q_low for v in part] for part in x]
    out["galois_below"] = {"limbs": low,
                           "result": parts(instance.galois(low_x, element, cut, low), low)}
    return out


def text_of(answers):
    """One field a line, so that a difference can be read."""
    lines = [f"  {json.dumps(k)}: {json.dumps(v, separators=(',', ':'))}" for k, v in answers.items()]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def main():
    check = sys.argv[1:] == ["--check"]
    if sys.argv[1:] and not check:
        print(__doc__, file=sys.stderr)
        return 2
    for n in (16, 64):
        path = Path(__file__).parent / f"known-n{n}.json"
        text = text_of(known_answers(n))
        if not check:
            path.write_text(text)
        elif not path.exists() or path.read_text() != text:
            print(f"{path} is not what this script writes", file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
