# SPDX-License-Identifier: Apache-2.0
"""The golden files of tests/golden: what they hold is what NumPy computes of the same vectors."""

import os
import pathlib
import shutil

import numpy as np
import pytest
from numpy.typing import NDArray

import heft

GOLDEN = pathlib.Path(os.environ["HEFT_SOURCE_DIR"]) / "tests" / "golden"
IDENTITIES = ["ann", "bob", "ann"]
# As in tests/golden.h; person 0 is the probe too.
FACE = [[3, 1, -2, 0.5], [-1, 2, 2, 1], [2, 1, -1, 1]]
VOICE = [[1, -2, 2], [0.5, 1, 3], [1, -1, 2]]
TOLERANCE = 2e-3 + 5e-4


def fused(model: heft.Model, person: int) -> NDArray[np.float64]:
    parts = [np.array(rows[person], np.float64) for rows in (FACE, VOICE)]
    joined = np.concatenate([part / np.linalg.norm(part) for part in parts])
    z: NDArray[np.float64] = model.projection @ joined
    result: NDArray[np.float64] = z * model.approximation(float(z @ z))
    return result


@pytest.fixture
def owner(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> heft.KeyOwner:
    shutil.copy(GOLDEN / "secret.key", tmp_path)
    (tmp_path / "secret.key").chmod(0o600)
    for file in (GOLDEN / "journal").iterdir():
        shutil.copy(file, tmp_path)
    monkeypatch.setenv("HEFT_STATE_DIR", str(tmp_path))
    return heft.KeyOwner.load(heft.Model.load(GOLDEN / "model.heft"), tmp_path)


def test_a_model() -> None:
    model = heft.Model.load(GOLDEN / "model-2.heft")
    assert model.modalities == [("face", 4), ("voice", 3)] and model.gamma == 2
    expected = [[0.5, -0.25, 0.75, 0.125, 0.5, -0.5, 0.25],
                [0.0, 0.625, 0.25, -0.5, 0.375, 0.5, -0.125]]
    assert np.array_equal(model.projection, np.array(expected))
    assert model.training_summary == {"golden": True} and model.sample_agreement == 0.625
    assert [model.names_of(t.modalities) for t in model.tables] == [["face", "voice"], ["face"]]
    table = model.table_for()
    assert [(t.fmr, t.score) for t in table.thresholds] == [(0.1, 0.25), (0.01, 0.5)]
    assert table.searches[0].tail.shape == -0.25 and table.searches[0].people == 44
    calibration = table.calibration
    assert calibration is not None and calibration.log_likelihood_ratio(0.5) == 1.5
    assert model.approximation.interval == (0.2, 2.2)
    assert model.threshold_for(0.1).score == 0.25
    assert model.threshold_for(0.1, ["face"]).score == 0.125
    with pytest.raises(heft.FailedPrecondition, match="probes with voice"):
        model.threshold_for(0.1, ["voice"])


def test_signed_files() -> None:
    trust = heft.Trust.load(GOLDEN / "signed" / "trust.heft")
    server = (GOLDEN / "signed" / "server.pub").read_text().split()[0]
    assert list(trust.keys("server").values()) == [server]
    read = heft.read_signed(GOLDEN / "signed" / "identification.ct")
    assert read.signer == server and read.kind == "SCOR" and list(trust.galleries) == [read.gallery]
    assert read.file == (GOLDEN / "identification.ct").read_bytes()
    assert heft.inspect(GOLDEN / "face.ct").to_dict()["kind"] == "CTXT"
