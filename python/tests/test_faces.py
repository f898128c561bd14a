# SPDX-License-Identifier: Apache-2.0
"""The same requests through Python, C, the command line, HTTP and SQL: one desk gives the same
records and errors. Each request is signed anew for each of them, since it is answered once."""

from __future__ import annotations

import base64
import dataclasses
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Literal, Optional, Union

import numpy as np
import pytest

import heft
from conftest import World
from heft._requests import HEFT_TYPE, form, quoted
from heft.service import Service

sys.path.insert(0, os.path.join(os.environ["HEFT_SOURCE_DIR"], "tests", "c"))
import heft_ctypes  # type: ignore[import]  # noqa: E402

Files = dict[str, bytes]
Answer = Union[bytes, dict[str, Any]]  # a signed reply, or the record of a change
PEOPLE = 4


@dataclass
class Request:
    """A request, and the kind and a part of its error; no kind: it is answered."""

    name: str
    samples: int = 1  # in each file
    enrolled: Optional[str] = None  # under this name
    removed: Optional[str] = None
    claimed: Optional[str] = None
    options: dict[str, Any] = field(default_factory=dict)
    change: Optional[Callable[[Files], Files]] = None  # after the signature
    signed: bool = True
    life: int = 600
    repeated: bool = False
    other_key: bool = False
    other_model: bool = False
    unlisted: bool = False  # signed by a key that the trust file does not list
    statement: dict[str, str] = field(default_factory=dict)  # what else the signature says
    use: Optional[Literal["enrolment", "identification"]] = None  # of the files, if it is wrong
    modalities: int = 2
    gallery: str = "people"
    kind: str = ""
    error: str = ""
    kind_in_sql: str = ""  # of a value that SQL's type refuses, before the function is called
    without: tuple[str, ...] = ()  # interfaces that cannot say it

    def of_samples(self) -> bool:
        return self.claimed is not None or self.enrolled is not None


def damaged(files: Files) -> Files:
    return {name: file[:-9] + bytes([file[-9] ^ 1]) + file[-8:] for name, file in files.items()}


def truncated(files: Files) -> Files:
    return {name: file[:len(file) // 2] for name, file in files.items()}


def doubled(files: Files) -> Files:
    """The first file twice, in the place of the second modality."""
    return {name: next(iter(files.values())) for name in files}


CHANGES = "changes"  # a gallery of each interface's own
LATER = 4_000_000_000
REQUESTS = [
    Request("a search"),
    Request("a search of one row", samples=2, options={"row": 1}),
    Request("a search of some", options={"where": ["site=berlin"]}),
    Request("a search of none", options={"where": ["site=rome"]}),
    Request("a search for positions", options={"identities": False}),
    Request("a claim", claimed="person 1"),
    Request("a false claim", claimed="person 2"),
    Request("a claim of one row", samples=2, claimed="person 1", options={"row": 1}),
    Request("a claim of somebody unknown", claimed="nobody"),
    Request("a search by one modality", modalities=1),
    Request("a claim by one modality", modalities=1, claimed="person 1"),
    Request("an enrolment", enrolled="ann", gallery=CHANGES),
    Request("an enrolment with metadata", enrolled="bea", gallery=CHANGES,
            options={"metadata": {"site": "rome"}, "expires": LATER}),
    Request("an enrolment twice with a key", enrolled="cleo", gallery=CHANGES, repeated=True,
            options={"idempotency_key": "cleo's"}),
    Request("an enrolment by one modality", enrolled="dora", gallery=CHANGES, modalities=1),
    Request("a removal", removed="person 0", gallery=CHANGES),
    Request("a removal of somebody pending", removed="ann", gallery=CHANGES),
    Request("a row that is not there", samples=2, options={"row": 2}, kind="INVALID_ARGUMENT",
            error="sample 2 asked for, the file has 2"),
    Request("a claim's row that is not there", claimed="person 1", options={"row": 1},
            kind="INVALID_ARGUMENT", error="sample 1 asked for, the file has 1"),
    Request("no row of several", samples=2, kind="INVALID_ARGUMENT",
            error="holds 2 samples: give the row of the probe"),
    Request("a wrong condition", options={"where": ["site"]}, kind="INVALID_ARGUMENT",
            without=("http",)),
    Request("conditions of a claim", claimed="person 1", options={"where": ["site=berlin"]},
            kind="INVALID_ARGUMENT", error="a verification has none",
            without=("python", "in_c", "command_line", "sql")),
    Request("another key", other_key=True, kind="FAILED_PRECONDITION"),
    Request("a request twice", repeated=True, kind="FAILED_PRECONDITION",
            error="this request was taken before"),
    Request("a claim twice", claimed="person 1", repeated=True, kind="FAILED_PRECONDITION",
            error="this request was taken before"),
    Request("not signed", signed=False, kind="FAILED_PRECONDITION", error="not signed"),
    Request("an old request", life=1, kind="FAILED_PRECONDITION", error="expired"),
    Request("another's signature", unlisted=True, kind="FAILED_PRECONDITION",
            error="signed by an unknown client"),
    Request("a request to another server", statement={"audience": "ab" * 32},
            kind="FAILED_PRECONDITION"),
    Request("a request to another gallery", statement={"gallery": "ab" * 16},
            kind="FAILED_PRECONDITION", error="signed for another gallery"),
    Request("an enrolment in another gallery", statement={"gallery": "ab" * 16}, enrolled="eve",
            gallery=CHANGES, kind="FAILED_PRECONDITION", error="signed for another gallery"),
    Request("another model", other_model=True, kind="FAILED_PRECONDITION"),
    Request("a sample as a probe", use="enrolment", kind="FAILED_PRECONDITION",
            kind_in_sql="DATA_LOSS"),
    Request("a probe as a sample", use="identification", claimed="person 1",
            kind="FAILED_PRECONDITION", kind_in_sql="DATA_LOSS"),
    Request("one modality twice", change=doubled, kind="INVALID_ARGUMENT"),
    Request("half a file", change=truncated, kind="DATA_LOSS"),
    Request("a malformed claim", claimed="person\n1", kind="INVALID_ARGUMENT"),
    Request("a malformed name", enrolled="ann\t2", gallery=CHANGES, kind="INVALID_ARGUMENT"),
    Request("malformed metadata", enrolled="eve", gallery=CHANGES, kind="INVALID_ARGUMENT",
            options={"metadata": {"": "rome"}}),
    Request("an enrolment that has expired", enrolled="eve", gallery=CHANGES,
            options={"expires": 1_000_000_000}, kind="INVALID_ARGUMENT", error="has passed"),
    Request("an enrolment twice", enrolled="fay", gallery=CHANGES, repeated=True,
            kind="FAILED_PRECONDITION", error="this request was taken before"),
    Request("an enrolment under another key", enrolled="eve", gallery=CHANGES, other_key=True,
            kind="FAILED_PRECONDITION"),
    Request("a damaged enrolment", enrolled="eve", gallery=CHANGES, change=damaged,
            kind="DATA_LOSS"),
    Request("a removal of somebody unknown", removed="nobody", gallery=CHANGES, kind="NOT_FOUND"),
    Request("a removal of a malformed name", removed="person\n0", gallery=CHANGES,
            kind="INVALID_ARGUMENT"),
    Request("a changed file", change=damaged, kind="DATA_LOSS"),
    Request("an empty gallery", claimed="person 1", gallery="empty", kind="FAILED_PRECONDITION"),
    Request("no such gallery", gallery="nowhere", kind="NOT_FOUND"),
]


# The kinds of errors as states of SQL.
STATES = {"22023": "INVALID_ARGUMENT", "22P03": "DATA_LOSS", "55000": "FAILED_PRECONDITION",
          "P0002": "NOT_FOUND", "42704": "NOT_FOUND"}


# Fields that differ in a database: its gallery is another one, its records have no lists, and deleted
# data are not overwritten.
OF_ITS_OWN = ("signer", "gallery", "generation", "missing", "persons", "receipts", "overwritten")


class Refused(Exception):
    def __init__(self, kind: str, message: str):
        super().__init__(f"{kind}: {message}")
        self.kind, self.message = kind, message


def literal(path: pathlib.Path) -> str:
    return f"'\\x{path.read_bytes().hex()}'"


def literal_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def utc(seconds: int) -> str:
    """Unix seconds as RFC 3339."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def pairs(request: Request) -> list[str]:
    return [f"{key}={value}" for key, value in request.options.get("metadata", {}).items()]


def in_text(record: dict[str, Any], *times: str) -> dict[str, Any]:
    """The record as JSON of the command line and HTTP has it."""
    return {name: (utc(value) if value else None) if name in times else value
            for name, value in record.items()}


def without(record: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: value for name, value in record.items() if name not in names}


def array(files: Files) -> str:
    """The files as an array in SQL."""
    return "ARRAY[" + ", ".join(f"'\\x{file.hex()}'::bytea" for file in files.values()) + "]"


Face = Callable[[Request, Files], Answer]


class Desk:
    """A key set, a gallery, and the interfaces to them."""

    def __init__(self, world: World, place: pathlib.Path):
        self.world, self.place = world, place
        world.model.save(place / "model.heft")
        self.owner = heft.KeyOwner.generate(world.model, place / "keys")
        self.owner.set_budget(scores=10**6, decisions=10**6, client_bits=10**9, rejections=10**6)
        self.client = heft.Client(world.model, place / "keys/encryption.key")
        self.camera = heft.SigningKey.generate()
        self.trust = heft.Trust.load(place / "keys/trust.heft")
        self.trust.add("client", "camera", self.camera.public_key)
        self.trust.save(place / "keys/trust.heft")
        self.matcher = heft.Matcher(world.model, place / "keys/evaluation.keys",
                                    place / "keys/enrolment.keys", trust=self.trust)
        self.unlisted = heft.SigningKey.generate()
        other = heft.Model.train(heft.TrainingData.synthesise(identities=12, samples=3,
                                                              dimensions=(64, 48)), gamma=8, epochs=1)
        self.other_model = heft.Client(other, place / "keys/encryption.key")
        heft.Gallery.create(self.address("empty"), self.matcher)
        for name in ("people", *(f"{CHANGES}-{face.__name__}" for face in self.on_files())):
            files = self.client.encrypt_each(world.rows(range(PEOPLE)),
                                             [f"person {i}" for i in range(PEOPLE)])
            gallery = self.address(name)
            heft.Gallery.create(gallery, self.matcher)
            self.matcher.enrol(gallery, self.sign(files, 600), metadata={"site": "berlin"},
                               trust=self.trust)
            word = self.owner.approve(self.matcher.pending(gallery)).signed_admission
            self.matcher.activate(gallery, word, self.trust)
        self.c = heft_ctypes.Library()
        model = self.c.call("heft_model_load", str(place / "model.heft"))
        self.c_trust = self.c.call("heft_trust_load", str(place / "keys/trust.heft"))
        self.c_matcher = self.c.call("heft_matcher_open", model, str(place / "keys/evaluation.keys"),
                                     str(place / "keys/enrolment.keys"))

        self.helpers: list[subprocess.Popen[str]] = []
        self.service = self.start_service()
        self.postgres = self.start_postgres()

    def address(self, gallery: str) -> str:
        return f"{self.place}/store:{gallery}"

    def start(self, *arguments: object) -> Optional[str]:
        """Where an interface is; None if this machine does not have it."""
        script = pathlib.Path(__file__).with_name("faces_world.sh")
        helper = subprocess.Popen(["bash", str(script), *map(str, arguments)], text=True,
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.helpers.append(helper)
        assert helper.stdout is not None
        said = helper.stdout.readline().strip()
        return said if said.startswith(("/", "https:")) else None

    def start_service(self) -> Optional[Service]:
        if shutil.which("heft-matcher") is None:
            return None
        work = self.place / "service"
        work.mkdir(mode=0o700)
        url = self.start("http", work, self.place / "store", self.place / "keys",
                         self.place / "model.heft")
        assert url, (work / "log").read_text()
        self.url = url
        return self.connect("client")

    def connect(self, role: str) -> Service:
        pki = self.place / "service/pki"
        return Service(self.url, authorities=pki / "ca.pem", certificate=pki / f"{role}.pem",
                       private_key=pki / f"{role}.key")

    def start_postgres(self) -> Optional[str]:
        build = os.environ["HEFT_BINARY_DIR"]
        if not os.path.exists(f"{build}/sql/heft.so"):
            return None
        host = self.start("sql", build)
        if host is None:
            return None
        self.postgres = host
        keys = [literal(self.place / name) for name in
                ("model.heft", "keys/evaluation.keys", "keys/enrolment.keys")]
        trust = (self.place / "keys/trust.heft").read_text()
        for name in ("empty", "people", f"{CHANGES}-sql"):
            self.ask_sql(f"SELECT heft.heft_create_gallery('{name}', {keys[0]}, {keys[1]}, "
                         f"$trust${trust}$trust$, {keys[2]}, 'dba')")
            if name == "empty":
                continue
            files = self.sign(dict(self.client.encrypt_each(
                self.world.rows(range(PEOPLE)), [f"person {i}" for i in range(PEOPLE)])), 600)
            self.ask_sql(f"SELECT brought FROM heft.heft_enrol('{name}', {array(files)}, "
                         "metadata => ARRAY['site=berlin'])")
            request = base64.b64decode(
                self.ask_sql(f"SELECT encode(heft.heft_pending('{name}'), 'base64')"))
            word = self.owner.approve(request).signed_admission
            assert self.ask_sql(
                f"SELECT activated FROM heft.heft_activate('{name}', '\\x{word.hex()}')") == "4"
        return host

    def ask_sql(self, query: str) -> str:
        done = subprocess.run(
            ["psql", "--no-psqlrc", "--quiet", "--no-align", "--tuples-only", "--set", "ON_ERROR_STOP=1",
             "--set", "VERBOSITY=verbose"], input=query, capture_output=True, text=True,
            env={**os.environ, "PGHOST": str(self.postgres), "PGUSER": "dba", "PGDATABASE": "postgres"})
        if done.returncode != 0:
            state, message = done.stderr.split("ERROR:", 1)[1].split("\n")[0].strip().split(":", 1)
            raise Refused(STATES.get(state, state), message.strip())
        return done.stdout.strip()

    def end(self) -> None:
        for helper in self.helpers:
            assert helper.stdin is not None
            helper.stdin.close()
            helper.wait(60)

    def on_files(self) -> list[Face]:
        return [self.python, self.in_c, self.command_line, self.http]

    def faces(self) -> list[Face]:
        return [face for face in self.on_files() if self.service or face != self.http] + (
            [self.sql] if self.postgres else [])

    def http(self, request: Request, files: Files) -> Answer:
        assert self.service is not None
        try:
            if request.removed:
                with self.connect("registrar") as registrar:
                    done = registrar.remove(request.removed, request.gallery)
                return without(done["galleries"][0], "gallery")
            if request.enrolled:
                with self.connect("registrar") as registrar:
                    done = registrar.enrol(request.enrolled, request.gallery, files,
                                           **request.options)
                return without(done["others"]["galleries"][0], "gallery")
        except heft.Error as error:
            raise Refused(error.code, str(error)) from error
        more = {name: value for name, value in request.options.items() if name != "where"}
        if "where" in request.options:
            more["filter"] = dict(one.split("=") for one in request.options["where"])
        path = f"/v1/verify/{request.gallery}/{quoted(request.claimed)}" \
            if request.claimed else f"/v1/identify/{request.gallery}"
        body, kind = form(files, more or None)
        try:
            return self.service.ask("POST", path, body, kind, accept=HEFT_TYPE)[1]
        except heft.Error as error:
            raise Refused(error.code, str(error)) from error

    def sql(self, request: Request, files: Files) -> Answer:
        if request.removed or request.enrolled:
            said: dict[str, Any] = json.loads(self.ask_sql(
                f"SELECT row_to_json(r) FROM heft.{self.change_in_sql(request, files)} r"))
            return said
        where = request.options.get("where", [])
        conditions = f"ARRAY[{', '.join(map(repr, where))}]::text[]"
        identities = str(request.options.get("identities", True)).lower()
        call = f"heft.heft_verify('{request.gallery}', '{request.claimed}', {array(files)})" \
            if request.claimed else (
                f"heft.heft_identify('{request.gallery}', {array(files)}, {conditions}, {identities})")
        return base64.b64decode(self.ask_sql(f"SELECT encode({call}, 'base64')"))

    def change_in_sql(self, request: Request, files: Files) -> str:
        """The call of a removal or an enrolment."""
        if request.removed:
            return f"heft_remove('{request.gallery}', ARRAY['{request.removed}'])"
        metadata = ", ".join(f"'{key}={value}'" for key, value in
                             request.options.get("metadata", {}).items())
        call = (f"heft_enrol('{request.gallery}', {array(files)}, '{request.enrolled}', "
                f"metadata => ARRAY[{metadata}]::text[]")
        if "expires" in request.options:
            call += f", expires => to_timestamp({request.options['expires']})"
        if "idempotency_key" in request.options:
            call += f", idempotency_key => {literal_text(request.options['idempotency_key'])}"
        return call + ")"

    def sign(self, files: Files, life: int, key: Optional[heft.SigningKey] = None,
             **statement: str) -> Files:
        return {name: (key or self.camera).sign(file, "client", life=life, **statement)
                for name, file in files.items()}

    def files(self, request: Request) -> Files:
        """The files of a request under the paths where they are."""
        if request.removed:
            return {}
        both = self.world.rows(range(1, 3), 1)  # the probe is person 1's, the last
        rows = {name: np.ascontiguousarray(one[::-1][-request.samples:])
                for name, one in list(both.items())[:request.modalities]}
        client = self.world.client if request.other_key else (
            self.other_model if request.other_model else self.client)
        use: Literal["enrolment", "identification"] = request.use or (
            "enrolment" if request.of_samples() else "identification")
        files = dict(client.encrypt_each(rows, use=use))
        if request.signed:
            files = self.sign(files, request.life, self.unlisted if request.unlisted else None,
                              **request.statement)
        if request.life == 1:
            time.sleep(2.1)
        if request.change:
            files = request.change(files)
        out = {}
        for name, file in files.items():
            path = self.place / f"{name}.ct"
            path.write_bytes(file)
            out[str(path)] = file
        return out

    def python(self, request: Request, files: Files) -> Answer:
        options = dict(request.options)
        gallery = self.address(request.gallery)
        try:
            if request.removed:
                return heft.Gallery(gallery).remove(self.matcher, [request.removed],
                                                    trust=self.trust).to_dict()
            if request.enrolled:
                return self.matcher.enrol(gallery, files, identity=request.enrolled,
                                          trust=self.trust, **options).to_dict()
            if request.claimed:
                return self.matcher.verify(gallery, files, request.claimed, trust=self.trust, **options)
            return self.matcher.identify(gallery, files, trust=self.trust, **options)
        except heft.Error as error:
            raise Refused(error.code, str(error)) from error

    def in_c(self, request: Request, files: Files) -> Answer:
        gallery = self.address(request.gallery)
        try:
            if request.removed:
                return in_c(self, "heft_gallery_remove", self.c_matcher, gallery, [request.removed], 1,
                            None, self.c_trust)
            given = self.c.call("heft_files_new")
            for name, file in files.items():
                self.c.call("heft_files_add", given, file, name)
            if request.enrolled:
                options = dict(request.options)
                if "metadata" in options:
                    options["metadata"] = pairs(request)
                return in_c(self, "heft_matcher_enrol", self.c_matcher, gallery, given,
                            self.c.options(identity=request.enrolled, **options), self.c_trust, None,
                            None)
            opened = self.c.call("heft_gallery_open", gallery)
            options = self.c.options(audience=self.owner.public_key, **request.options)
            if request.claimed:
                return bytes(self.c.call("heft_matcher_verify", self.c_matcher, opened, given,
                                         request.claimed, options, self.c_trust))
            return bytes(self.c.call("heft_matcher_identify", self.c_matcher, opened, given, options,
                                     self.c_trust, None, None))
        except heft_ctypes.HeftError as error:
            raise Refused(error.status, error.message) from error

    def command_line(self, request: Request, files: Files) -> Answer:
        out = self.place / "reply.ct"
        verb = ["gallery", "remove"] if request.removed else [
            "enrol" if request.enrolled else "verify" if request.claimed else "identify"]
        command = [os.environ["HEFT_SERVER_PROGRAM"], *verb,
                   "--model", self.place / "model.heft", "--keys", self.place / "keys/evaluation.keys",
                   "--gallery", self.address(request.gallery), "--json"]
        if files:
            command += ["--in", *files]
        if request.removed or request.enrolled:
            command += ["--identity", request.removed or request.enrolled]
        else:
            command += ["--out", out]
        for pair in pairs(request):
            command += ["--metadata", pair]
        if "expires" in request.options:
            command += ["--expires", utc(request.options["expires"])]
        if "idempotency_key" in request.options:
            command += ["--idempotency-key", request.options["idempotency_key"]]
        if request.claimed:
            command += ["--identity", request.claimed]
        if "row" in request.options:
            command += ["--row", str(request.options["row"])]
        for condition in request.options.get("where", []):
            command += ["--where", condition]
        if request.options.get("identities") is False:
            command += ["--no-identities"]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
        if done.returncode != 0:
            raise Refused(str(done.returncode), done.stderr.strip().removeprefix("heft: "))
        said: dict[str, Any] = json.loads(done.stdout)
        if request.removed or request.enrolled:
            return said
        assert said["out"] == str(out)
        return out.read_bytes()


@pytest.fixture(scope="module")
def desk(world: World, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    made = Desk(world, tmp_path_factory.mktemp("desk"))
    try:
        yield made
    finally:
        made.end()


def plain(refused: Refused) -> str:
    """The message without times, the interface's own gallery, and what it calls its remedies."""
    remedy = r"(: encrypt |Trust\.add|heft trust add).*"
    return re.sub(rf" *\([^)]*\)|\d|{CHANGES}-\w+|{remedy}", "", refused.message)


def record(desk: Desk, reply: Answer) -> dict[str, Any]:
    """What a signed reply says: of whom, for whom, of what; and the key owner's decision. The record
    of a change, without what is another's in each gallery."""
    if isinstance(reply, dict):
        lists = {name: len(reply[name]) for name in ("persons", "receipts") if name in reply}
        return {**reply, **lists}
    said = heft.read_signed(reply)
    decision = desk.owner.decide(reply, score=0.5)
    assert said.audience == desk.owner.public_key
    return {"kind": said.kind, "role": said.role, "signer": said.signer, "subject": said.subject,
            "gallery": said.gallery, "generation": said.generation,
            "accepted": decision.accepted, "identity": decision.identity}


def in_c(desk: Desk, function: str, *arguments: object) -> dict[str, Any]:
    result = desk.c.call(function, *arguments)
    said: dict[str, Any] = json.loads(desk.c.call("heft_result_json", result))
    return said


def by_command(program: str, *arguments: object) -> dict[str, Any]:
    done = subprocess.run([os.environ[program], *map(str, arguments), "--json"], capture_output=True,
                          text=True, check=True)
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def test_a_gallery_is_the_same_record_everywhere(desk: Desk) -> None:
    address = desk.address("people")
    info = heft.Gallery(address).info().to_dict()
    others = {"c": in_c(desk, "heft_gallery_stats", address, None),
              "command line": by_command("HEFT_SERVER_PROGRAM", "gallery", "stats", "--gallery",
                                         address)}
    if desk.service:
        with desk.connect("operator") as operator:
            others["http"] = json.loads(operator.ask("GET", "/v1/galleries/people")[1])
    assert info["templates"] == PEOPLE and info["intact"] is None
    for face, other in others.items():
        assert list(other) == list(info), face
        mine = info if face == "c" else in_text(info, "started", "key_since", "verified")
        assert {**other, "readers": 0} == {**mine, "readers": 0}, face
    if desk.postgres:  # another gallery; lists are left out, and times are SQL's
        row = json.loads(desk.ask_sql("SELECT row_to_json(s) FROM heft.heft_stats('people') s"))
        lists = {"revoked_keys", "noise_margin", "galleries"}
        assert list(row) == [name for name in info if name not in lists]
        assert row["templates"] == PEOPLE and row["gamma"] == info["gamma"]


def test_a_decision_is_the_same_record_everywhere(desk: Desk) -> None:
    request = Request("a search")
    said: list[bytes] = []
    for _ in range(3):
        answer = desk.python(request, desk.files(request))
        assert isinstance(answer, bytes)
        said.append(answer)
    mine = desk.owner.decide(said[0], score=0.5).to_dict()
    model = desk.c.call("heft_model_load", str(desk.place / "model.heft"))
    owner = desk.c.call("heft_key_owner_load", model, str(desk.place / "keys/secret.key"), b"")
    rule = desk.c.options(score=0.5)
    reply = desk.place / "reply.ct"
    reply.write_bytes(said[2])
    others = {"c": in_c(desk, "heft_key_owner_decide", owner, said[1], "reply", rule),
              "command line": by_command(
                  "HEFT_PROGRAM", "decrypt", "--model", desk.place / "model.heft", "--secret-key",
                  desk.place / "keys/secret.key", "--in", reply, "--threshold", "0.5", "--unchecked")}
    assert mine["accepted"] and mine["identity"] == "person 1"
    for face, other in others.items():
        assert list(other) == list(mine) and other == mine, face


@pytest.mark.parametrize("request_", REQUESTS, ids=[request.name for request in REQUESTS])
def test_all_interfaces_agree(desk: Desk, request_: Request) -> None:
    said: dict[str, Any] = {}
    for face in desk.faces():
        name = face.__name__
        if name in request_.without or (name == "sql" and "row" in request_.options):
            continue
        asked = request_
        if request_.gallery == CHANGES:
            asked = dataclasses.replace(request_, gallery=f"{CHANGES}-{name}")
        files = desk.files(asked)
        try:
            if asked.repeated:
                face(asked, files)
            said[name] = record(desk, face(asked, files))
        except Refused as refused:
            said[name] = refused
    if not request_.kind:
        # A gallery in a database is another one.
        for key in said["python"]:
            for name, one in said.items():
                if name != "sql" or key not in OF_ITS_OWN:
                    assert one[key] == said["python"][key], (name, key)
        return
    assert all(isinstance(one, Refused) for one in said.values()), said
    for name, one in said.items():
        if name == "command_line":  # its exit code is that of several kinds
            assert one.kind == "3"
        else:
            kind = request_.kind_in_sql if name == "sql" else ""
            assert one.kind == (kind or request_.kind), (name, one)
        assert request_.error in one.message, (name, one)
    if "in_c" in said:
        assert plain(said["in_c"]) == plain(said["python"]) == plain(said["command_line"])
