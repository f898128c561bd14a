# SPDX-License-Identifier: Apache-2.0
"""The values of a gallery's store."""
from wire import Reader, hash_of


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
    assert fused == bytes((1, 2, 3, 4, 5)) and digest == hash_of(fused)
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
    r = Reader((folder / "waiting").read_bytes())
    assert r.raw(5) == b"HGWT\3" and len(r.data) == 4096
    assert r.raw(32) == bytes((9,)) + bytes(31) and r.u64() == 5000
    assert [r.string() for _ in range(r.u64())] == ["ann", "bob"]
    assert [r.raw(16) for _ in range(r.u64())] == [lead(1), lead(2), lead(3)]
    rest_is_zero(r)


def records(folder):
    """The values of a gallery's store."""
    r = record(folder / "head", version=2)
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
    r = record(folder / "kept-head")
    assert r.raw(r.u64()) == bytes((1, 2, 3)) and r.raw(r.u64()) == bytes((4, 5))
    r.end()
    r = Reader((folder / "block").read_bytes())
    assert (r.raw(4), r.u32(), r.u64(), r.u64(), r.u32(), r.u32()) == (b"HGBK", 1, 3, 5, 16, 0)
    assert r.u64() == 0x0102030405060708
    digest, padding = r.raw(32), r.raw(40)
    assert r.at == 112 and not any(padding) and digest == hash_of(r.data[112:])
    assert [r.u32() for _ in range(4)] == [0, 1, 0xFFFFFFFE, 7]
    r.end()
    assert {p.name for p in folder.iterdir()} == {
        "head", "info", "run", "entry", "fold", "exchange", "receipt", "named", "block",
        "run-left", "receipt-times", "waiting", "kept-head"}
