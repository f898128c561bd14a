#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads every golden file to its last byte, from docs/formats.md alone.

    read_golden.py     exit code 0 if the page tells every byte of every file

The engine's readers and this one (tests/golden_reader) were written from the same page; where they
disagree, one of the three is wrong.
"""
import json
import struct
import sys
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).parent.parent / "golden_reader"))

from galleries import means, samples, scores  # noqa: E402
from keys import (JournalKeys, anchor, encryption_key, evaluation_keys,  # noqa: E402
                  journal, model, rekeying_key, secret_key)
from records import records  # noqa: E402
from signatures import audited, signed  # noqa: E402
from wire import hash_of, primes_of, ring  # noqa: E402

COMPACT = (8192, [30, 29, 20, 28, 28, 28, 20, 30])
THIN = (8192, [27, 26, 25, 28, 28, 28, 20, 30])


def main():
    here = Path(__file__).parent
    ring.use(COMPACT[0], primes_of(*COMPACT))
    model_id, gamma = model(here / "model.heft")
    model_2_id, _ = model(here / "model-2.heft")
    assert model_2_id != model_id
    key_id = encryption_key(here / "encryption.key")
    evaluation_keys(here / "evaluation.keys", key_id)
    assert encryption_key(here / "encryption-2.key", 2) == key_id
    evaluation_keys(here / "evaluation-2.keys", key_id, 2)
    secret_key(here / "secret.key", key_id, 0)
    secret_key(here / "sealed.key", key_id, 1)
    face = samples(here / "face.ct", "CTXT", key_id)
    samples(here / "finger-bulk.ct", "CTXS", key_id)
    scores(here / "identification.ct", key_id, model_id, 0)
    scores(here / "verification.ct", key_id, model_id, 1)
    read = {"model.heft", "model-2.heft", "encryption.key", "evaluation.keys", "secret.key", "sealed.key", "face.ct",
            "finger-bulk.ct", "identification.ct", "verification.ct",
            "checkpoint.json", "encryption-2.key", "evaluation-2.keys", "renewed",
            "standard", "signed", "journal", "audited", "means",
            "records"}
    audited(here / "audited", key_id, model_id, gamma)
    records(here / "records")
    voice = samples(here / "means/voice.ct", "CTXT", key_id)
    means(here / "means", key_id, model_2_id, gamma, [face, voice])
    keys = JournalKeys(here / "secret.key")
    link = journal(here / "journal/secret.key.journal", key_id, keys)
    (end,) = (here / "journal").glob("*.anchor")
    anchor(end, key_id, keys, link)
    assert len(list((here / "journal").iterdir())) == 2
    renewed = here / "renewed"
    new_key_id = secret_key(renewed / "secret.key", None, 0)
    rekeying_key(renewed / "rekeying.key", key_id, new_key_id)
    signed(here / "signed", (here / "identification.ct").read_bytes(), (here / "face.ct").read_bytes())
    assert {p.name for p in (here / "signed").iterdir()} == {
        "server.key", "server.pub", "identification.ct", "trust.heft"}
    assert {p.name for p in renewed.iterdir()} == {"secret.key", "rekeying.key"}
    checkpoint = json.loads((here / "checkpoint.json").read_text())
    assert checkpoint["kind"] == "heft training checkpoint 2"
    assert checkpoint["epoch"] == checkpoint["adam_step"] >= checkpoint["best_epoch"]
    for name in ("projection", "best", "adam_mean", "adam_square"):
        assert checkpoint[name]["rows"] * checkpoint[name]["columns"] == len(
            checkpoint[name]["values"])
    assert {"options", "best_auroc", "best_fnmr", "modality_weights"} < set(checkpoint)
    others = {p.name for p in here.iterdir()} - read - {"README.md", "read_golden.py", "__pycache__"}
    assert not others, f"files that nobody reads: {others}"
    # Two rings: the matching ring has half the degree and the first four primes.
    thin = here / "standard"
    thin_id, _ = model(thin / "model.heft", of="standard")
    large = primes_of(*THIN)
    ring.use(THIN[0], large)
    thin_key_id = secret_key(thin / "secret.key", None, 0, 2)
    ring.use(THIN[0] // 2, large[:4])
    scores(thin / "identification.ct", thin_key_id, thin_id, 0)
    _, restriction = scores(thin / "restricted.ct", thin_key_id, thin_id, 0)
    assert restriction == ([False, True, True], 1800000000, [
        ("site", ["berlin", "paris"]), ("age", 18, 30.5), ("height", None, 200)])
    assert {p.name for p in thin.iterdir()} == {"model.heft", "secret.key", "identification.ct",
                                                "restricted.ct"}
    return 0


if __name__ == "__main__":
    sys.exit(main())
