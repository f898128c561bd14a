# SPDX-License-Identifier: Apache-2.0
"""The client of the services, without a service: what it sends, and what it makes of a bad one."""

import pathlib
import shutil
import subprocess
from typing import Any

import pytest

import heft
import heft.service
from heft._requests import form
from heft.service import Service


class Answer:
    """Of a service."""

    status = 200

    def read(self, most: int) -> bytes:
        return b'{"others": {"status": "pending"}}'

    def getheader(self, name: str) -> None:
        return None


class Line:
    """A connection that breaks so many times."""

    def __init__(self, breaks: int) -> None:
        self.breaks = breaks
        self.keys: list[str] = []

    def request(self, method: str, path: str, body: bytes, headers: dict[str, str]) -> None:
        self.keys.append(headers["Idempotency-Key"])
        if len(self.keys) <= self.breaks:
            raise ConnectionResetError("the line broke")

    def getresponse(self) -> Answer:
        return Answer()

    def close(self) -> None:
        pass


def service_on(line: Line, patience: float) -> Service:
    service: Any = Service.__new__(Service)
    service._connection, service._patience = line, patience
    service._token = service._api_key = None
    made: Service = service
    return made


def test_files_are_bytes_or_paths(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "face.ct"
    path.write_bytes(b"the samples")
    given: list[Any] = [b"the samples", bytearray(b"the samples"), memoryview(b"the samples"), path,
                        str(path), [b"the samples"], (path,), {"face": str(path)},
                        iter([b"the samples"])]
    for files in given:
        body, _ = form(files)
        assert body.count(b' name="template";') == 1 and body.count(b"the samples") == 1, files
    assert form([b"one", path])[0].count(b' name="template";') == 2
    wrong: list[Any] = [10, [10], {"face": 10}, [None]]
    for files in wrong:
        with pytest.raises(TypeError):
            form(files)
    with pytest.raises(heft.NotFound):
        form(tmp_path / "nowhere.ct")


def test_an_enrolment_is_asked_again_under_its_key() -> None:
    line = Line(breaks=2)
    assert service_on(line, 30).enrol("ann", "visitors", b"x")["others"]["status"] == "pending"
    assert len(line.keys) == 3 and len(set(line.keys)) == 1


def test_an_enrolment_that_fails_names_its_key() -> None:
    line = Line(breaks=100)
    with pytest.raises(heft.Unavailable) as caught:
        service_on(line, 0).enrol("ann", "visitors", b"x")
    assert caught.value.idempotency_key == line.keys[0]
    again = Line(breaks=0)
    service_on(again, 0).enrol("ann", "visitors", b"x",
                               idempotency_key=caught.value.idempotency_key)
    assert again.keys == line.keys


def test_a_sealed_private_key_is_refused_and_nobody_is_asked(tmp_path: pathlib.Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not there")
    key, certificate = tmp_path / "own.key", tmp_path / "own.pem"
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ed25519", "-passout", "pass:words", "-subj",
                    "/CN=x", "-keyout", key, "-out", certificate], check=True, capture_output=True)
    with pytest.raises(heft.FailedPrecondition, match="password"):
        Service("https://localhost:1", authorities=certificate, certificate=certificate,
                private_key=key)
