# SPDX-License-Identifier: Apache-2.0
"""The client of heft-matcher and heft-decider (docs/operations.md; the contract is
service/openapi/heft.yaml), with Python's standard library.

    with heft.service.Service("https://matcher.example:8443", authorities="ca.pem",
                              certificate="client.pem", private_key="client.key") as service:
        client = service.client()                     # fetches model and encryption key
        probe = client.encrypt_each(vectors, use="identification")
        decision = service.identify("visitors", probe)
        if decision.accepted:
            print(decision.identity)

Connections are TLS 1.3 with certificates on both sides. Requests other than GET carry a nonce and
the time. A refusal by the service raises the heft.Error of its kind. A Service is not safe for
several threads: make one for each thread.
"""

from __future__ import annotations

import base64
import http.client
import os
import secrets
import ssl
import time
import urllib.parse
from dataclasses import asdict, dataclass, field
from types import TracebackType
from typing import Any, Callable, Iterator, Literal, Mapping, Optional, Sequence, Type, Union

import numpy as np

from heft import errors
from heft._client import Client
from heft._model import Model
from heft._record import Shown
from heft._requests import HEFT_TYPE, Files, Path, form, object_of, query_of, quoted, refusal, utc_text
from heft._tables import split
from heft._trust import Trust, open_signed

_MOST = 1 << 30  # bytes of an answer


@dataclass(frozen=True)
class Decision(Shown):
    """The decider's decision, without a score. ``jws`` is the same decision, signed: if it reaches
    you through another program, check it with DecisionKeys."""

    accepted: bool
    identity: str
    kind: str
    jws: str
    likelihood: str = ""
    claims: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """All fields, in a form for JSON."""
        return asdict(self)

    @staticmethod
    def of(claims: Mapping[str, Any], jws: str) -> Decision:
        """The decision in the claims of a JWS."""
        return Decision(claims.get("accepted") is True, str(claims.get("identity", "")),
                        str(claims.get("kind", "")), jws, str(claims.get("likelihood", "")), claims)


class Service(Shown):
    """A connection to one of the two services.

    authorities: PEM file of the authority that signed the service's certificate. certificate,
    private_key: PEM files of this client. api_key: instead of them, a key for development that the
    service's configuration names; only a service on this machine accepts it. token: JWT of a person or relying party, sent in addition
    to the certificate. timeout: seconds to wait for an answer. patience: seconds for which safe
    requests are repeated if the service is overloaded (429, or 503 with Retry-After).
    """

    def __init__(self, url: str, *, authorities: Path, certificate: Optional[Path] = None,
                 private_key: Optional[Path] = None, api_key: Optional[str] = None,
                 token: Optional[str] = None, timeout: float = 40, patience: float = 30) -> None:
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "https" or not parts.hostname:
            raise errors.InvalidArgument(f"{url}: give https://HOST:PORT")
        if (certificate is None or private_key is None) == (api_key is None):
            raise errors.InvalidArgument("give certificate and private_key, or an api_key")
        # Not ssl.create_default_context, which writes session keys where SSLKEYLOGFILE says.
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(os.fspath(authorities))
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        if certificate is not None and private_key is not None:
            context.load_cert_chain(os.fspath(certificate), os.fspath(private_key), _no_password)
        self._connection = http.client.HTTPSConnection(
            parts.hostname, parts.port or 443, context=context, timeout=timeout)
        self._url = f"https://{self._connection.host}:{self._connection.port}"
        self._token = token
        self._api_key = api_key
        self._patience = patience

    def close(self) -> None:
        """Ends the connection."""
        self._connection.close()

    def __enter__(self) -> Service:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def to_dict(self) -> dict[str, Any]:
        """The address, in a form for JSON; no credential."""
        return {"url": self._url}

    def __repr__(self) -> str:
        return f"<heft.service.Service {self._url}>"

    def __reduce__(self) -> str:
        raise TypeError("a Service is not pickled: it holds a connection and credentials")

    # ---- State.

    def ready(self) -> bool:
        """Whether the service can answer."""
        try:
            self._get("/health/ready")
        except errors.Unavailable:
            return False
        return True

    def parameters(self) -> dict[str, Any]:
        """Fingerprints of model and keys."""
        return self._get("/v1/parameters")

    def model(self) -> Model:
        """The model that clients encrypt for."""
        return Model.load(self.ask("GET", "/v1/model", accept=HEFT_TYPE)[1])

    def encryption_key(self) -> bytes:
        """The public key with which clients encrypt."""
        return self.ask("GET", "/v1/encryption-key", accept=HEFT_TYPE)[1]

    def client(self, trust: Optional[Trust] = None) -> Client:
        """A client with the service's model and encryption key. With trust, a key owner that it
        lists must have signed the key. Without trust, the service's key is used unchecked."""
        return Client(self.model(), self.encryption_key(), trust=trust)

    def galleries(self) -> list[dict[str, Any]]:
        """A description of each gallery."""
        return list(self._get("/v1/galleries")["galleries"])

    def statistics(self, gallery: str) -> dict[str, Any]:
        """Sizes and counters of a gallery."""
        return self._get(f"/v1/galleries/{quoted(gallery)}/stats")

    def persons(self, gallery: str, *, where: str = "", search: str = "",
                page: int = 200) -> Iterator[dict[str, Any]]:
        """The templates of a gallery, one entry for each, fetched page by page."""
        return self._pages("/v1/persons", "persons", gallery=gallery, count=str(page), where=where,
                           search=search)

    def person(self, person: str, gallery: str = "") -> dict[str, Any]:
        """The galleries in which a person is enrolled or pending. NotFound if there are none."""
        return self._get(f"/v1/persons/{quoted(person)}" + query_of(gallery=gallery))

    def receipts(self, gallery: str, *, trust: Optional[Trust] = None) -> Iterator[dict[str, Any]]:
        """Signed receipts of erasure. With trust, a server that it lists must have signed each."""
        for receipt in self._pages("/v1/receipts", "receipts", gallery=gallery):
            if trust is not None:
                open_signed(base64.b64decode(receipt["receipt"]), trust, roles=["server"], kind="RCPT")
            yield receipt

    # ---- Enrolment.

    def enrol(self, person: str, galleries: Union[str, Sequence[str]], files: Files, *,
              metadata: Optional[Mapping[str, Any]] = None, expires: int = 0, average: bool = False,
              authorisation: Optional[bytes] = None, replace: bool = False, wait: int = 0,
              idempotency_key: Optional[str] = None) -> dict[str, Any]:
        """Enrols encrypted samples, one file per modality, as templates of a person. They are
        matched once the key owner has approved them; the call waits up to ``wait`` seconds for it.

        If the service is overloaded or the connection breaks, the request is repeated with the same
        idempotency key until ``patience`` ends, so it takes effect once. An exception then has that
        idempotency_key: pass it to repeat the request safely. authorisation: a registrar's
        permission, needed for a person who is enrolled already. replace: the new templates replace
        all earlier ones of the person."""
        request: dict[str, Any] = {
            "galleries": [galleries] if isinstance(galleries, str) else list(galleries)}
        if metadata is not None:
            request["metadata"] = dict(metadata)
        if expires:
            request["expires"] = utc_text(expires)
        if average:
            request["average"] = True
        body, kind = form(files, request, authorisation)
        path = f"/v1/persons/{quoted(person)}/encounters" + query_of(wait=str(wait) if wait else "")
        key = idempotency_key or secrets.token_hex(16)
        try:
            return object_of(self._asked_again("PUT" if replace else "POST", path, body, kind,
                                               {"Idempotency-Key": key}))
        except errors.Error as error:
            error.idempotency_key = key
            raise

    def remove(self, person: str, gallery: str = "", *,
               authorisation: Optional[bytes] = None) -> dict[str, Any]:
        """Removes a person for good, from one gallery or from all. If the answer has a "taskId",
        that task erases the rest of the templates."""
        path = f"/v1/persons/{quoted(person)}" + query_of(gallery=gallery)
        kind = HEFT_TYPE if authorisation is not None else None
        return object_of(self.ask("DELETE", path, authorisation, kind)[1])

    # ---- Questions.

    def identify(self, gallery: str, files: Files, *, where: Optional[Mapping[str, Any]] = None,
                 audience: str = "", challenge: str = "", deadline: float = 0) -> Decision:
        """Searches a gallery for a person (1:N) and returns the decider's decision.

        where: search only templates with this metadata, for example
        {"site": "berlin", "list": ["a", "b"], "age": {"at_least": 18}}. audience: the relying party
        that the decision is for. challenge: a value of that party, which the decision repeats.
        deadline: seconds after which the answer is no longer needed. BudgetSpent, NotFound,
        FailedPrecondition, Unavailable."""
        return self._decision(f"/v1/identify/{quoted(gallery)}", files, where, audience, challenge,
                              deadline)

    def verify(self, gallery: str, person: str, files: Files, *, audience: str = "",
               challenge: str = "", deadline: float = 0) -> Decision:
        """Verifies that the probe is of this person (1:1). The answer does not tell whether the
        person is enrolled."""
        return self._decision(f"/v1/verify/{quoted(gallery)}/{quoted(person)}", files, None,
                              audience, challenge, deadline)

    def scores(self, gallery: str, files: Files, *, person: str = "",
               where: Optional[Mapping[str, Any]] = None) -> bytes:
        """The matcher's signed and encrypted reply, for KeyOwner.open or KeyOwner.decide. The
        caller must take it to the key owner."""
        path = f"/v1/verify/{quoted(gallery)}/{quoted(person)}" if person else (
            f"/v1/identify/{quoted(gallery)}")
        body, kind = form(files, _probe(where))
        return self.ask("POST", path, body, kind, accept=HEFT_TYPE)[1]

    # ---- Tasks.

    def begin(self, gallery: str, operation: str) -> str:
        """Starts "compact", "verify", "snapshot" or "renew" of a gallery; returns the task's id."""
        path = f"/v1/galleries/{quoted(gallery)}/{quoted(operation)}"
        return str(object_of(self.ask("POST", path)[1])["taskId"])

    def task(self, task: str) -> dict[str, Any]:
        """The state of a task."""
        return self._get(f"/v1/tasks/{quoted(task)}")

    def cancel(self, task: str) -> None:
        """Asks a task to end."""
        self.ask("DELETE", f"/v1/tasks/{quoted(task)}")

    def wait_for(self, task: str, seconds: float = 60, every: float = 0.2) -> dict[str, Any]:
        """Waits until a task is done and returns its result. Raises its error, or DeadlineExceeded
        after so many seconds. every: seconds between two questions."""
        ends = time.monotonic() + seconds
        while True:
            state = self.task(task)
            if state["status"] == "done":
                return dict(state.get("result", {}))
            if state["status"] in ("failed", "cancelled"):
                error = state.get("error", {})
                raise errors.error_of(error.get("code", "CANCELLED"),
                                      error.get("message", "the task was cancelled"))
            if time.monotonic() > ends:
                raise errors.DeadlineExceeded(f"the task {task} is still {state['status']}")
            time.sleep(every)

    # ---- Below.

    def ask(self, method: str, path: str, body: Optional[bytes] = None,
            content_type: Optional[str] = None, headers: Optional[Mapping[str, str]] = None,
            accept: str = "application/json") -> tuple[int, bytes]:
        """Sends one request, with nonce and time; returns status and body of the answer. A refusal
        by the service raises its error."""
        sent = {"Accept": accept, **(headers or {})}
        if method != "GET":
            sent["X-Heft-Nonce"] = base64.urlsafe_b64encode(secrets.token_bytes(16)).decode().rstrip("=")
            sent["X-Heft-Time"] = str(int(time.time()))
        if self._api_key is not None:
            sent["X-Api-Key"] = self._api_key
        if self._token is not None:
            sent["Authorization"] = f"Bearer {self._token}"
        if content_type is not None:
            sent["Content-Type"] = content_type
        try:
            self._connection.request(method, path, body, sent)
            response = self._connection.getresponse()
            status, text = response.status, response.read(_MOST + 1)
            later = response.getheader("Retry-After")
        except TimeoutError as error:
            self._connection.close()
            raise errors.DeadlineExceeded(f"no answer in time: {error}") from error
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise errors.Unavailable(f"no answer: {error}") from error
        if len(text) > _MOST:
            self._connection.close()
            raise errors.DataLoss(f"the service's answer is longer than {_MOST} bytes")
        if status >= 400:
            raise refusal(status, text, later)
        return status, text

    def _get(self, path: str) -> dict[str, Any]:
        return object_of(self._asked_again("GET", path))

    def _asked_again(self, method: str, path: str, body: Optional[bytes] = None,
                     kind: Optional[str] = None,
                     headers: Optional[Mapping[str, str]] = None) -> bytes:
        ends = time.monotonic() + self._patience
        broken = 0.25  # seconds before a reconnection, doubled each time
        while True:
            try:
                return self.ask(method, path, body, kind, headers)[1]
            except errors.Error as error:
                pause = error.retry_after
                if pause is None and isinstance(error, errors.Unavailable) and headers:
                    pause, broken = broken, 2 * broken  # with an idempotency key
                if pause is None or time.monotonic() + pause > ends:
                    raise
                time.sleep(pause)

    def _pages(self, path: str, name: str, **query: str) -> Iterator[dict[str, Any]]:
        cursor = ""
        while True:
            page = self._get(path + query_of(cursor=cursor, **query))
            yield from page[name]
            cursor = page.get("next", "")
            if not cursor:
                return

    def _decision(self, path: str, files: Files, where: Optional[Mapping[str, Any]], audience: str,
                  challenge: str, deadline: float) -> Decision:
        body, kind = form(files, _probe(where))
        headers = {}
        if audience:
            headers["X-Heft-Audience"] = quoted(audience)
        if challenge:
            headers["X-Heft-Challenge"] = quoted(challenge)
        if deadline > 0:
            headers["X-Deadline-Ms"] = str(max(1, int(deadline * 1000)))
        claims = object_of(self.ask("POST", path, body, kind, headers)[1])
        return Decision.of({name: value for name, value in claims.items() if name != "jws"},
                           str(claims["jws"]))


@dataclass(frozen=True)
class Added(Shown):
    """What became of the people who were added: how many can be found now, are pending, and were
    rejected."""

    added: int = 0
    pending: int = 0
    rejected: int = 0

    def to_dict(self) -> dict[str, Any]:
        """All fields, in a form for JSON."""
        return asdict(self)


class Workspace(Shown):
    """The calls of heft.Workspace, over HTTPS: vectors are encrypted in this process, the services
    match and decide.

        with heft.Workspace("https://matcher.example:8443", "visitors", trust="trust.heft",
                            authorities="ca.pem", certificate="client.pem",
                            private_key="client.key") as people:
            people.add({"face": faces}, ["ann", "bob"])
            print(people.search({"face": probes})[0].identity)

    gallery: its name at the matcher. trust: a Trust, or its file; it must list the key owner that has
    signed the encryption key. The services set the rates of errors and the limits, and the
    certificate decides what it may ask: PermissionDenied. The rest is as of Service. One object is
    for one thread.
    """

    def __init__(self, address: str, gallery: str, *, trust: Union[Trust, Path], authorities: Path,
                 certificate: Optional[Path] = None, private_key: Optional[Path] = None,
                 api_key: Optional[str] = None, token: Optional[str] = None,
                 timeout: float = 40, patience: float = 30) -> None:
        believed = trust if isinstance(trust, Trust) else Trust.load(os.fspath(trust))
        self._gallery = gallery
        self._service = Service(address, authorities=authorities, certificate=certificate,
                                private_key=private_key, api_key=api_key, token=token,
                                timeout=timeout, patience=patience)
        try:
            self._client = self._service.client(believed)
        except BaseException:
            self._service.close()
            raise

    @property
    def model(self) -> Model:
        """The services' model."""
        return self._client.model

    @property
    def service(self) -> Service:
        """The connection, for what this class does not have."""
        return self._service

    def add(self, vectors: Any, labels: Any = None, *, wait: int = 20) -> Added:
        """Adds people: encrypts each row and sends it for enrolment under its label, then waits up to
        so many seconds a person for the key owner. vectors and labels are as of
        heft.Workspace.add, and each label is of one row. AlreadyExists, InvalidArgument; an error
        has the Added of the rows before it as `added`."""
        rows, names = self._rows(vectors, labels)
        if names is None:
            raise errors.InvalidArgument("labels: give one for each row")
        if len(set(names)) < len(names):
            again = next(name for i, name in enumerate(names) if name in names[:i])
            raise errors.InvalidArgument(f"labels: \"{again}\" is on two rows; give one row a person")
        counts = {"active": 0, "pending": 0, "rejected": 0}
        for row, name in zip(rows, names):
            try:
                said = self._service.enrol(name, self._gallery,
                                           self._client.encrypt_each(row, [name]), wait=wait)
            except errors.Error as error:
                error.added = _added(counts)  # type: ignore[attr-defined]
                raise
            status = str(said["others"]["status"])
            counts[status] = counts.get(status, 0) + 1
        return _added(counts)

    def search(self, vectors: Any) -> list[Decision]:
        """Who the rows are: a Decision each. An error has the decisions before it as
        `decisions`. BudgetSpent, InvalidArgument."""
        return self._decisions(vectors, "identification",
                               lambda files: self._service.identify(self._gallery, files))

    def verify(self, vectors: Any, identity: str) -> list[Decision]:
        """Whether the rows are this person's: a Decision each. The rest is as of search."""
        return self._decisions(vectors, "enrolment",
                               lambda files: self._service.verify(self._gallery, identity, files))

    def remove(self, identities: Union[str, Sequence[str]]) -> None:
        """Removes people, one or several, from the gallery. NotFound for the first who is not there;
        those before are gone."""
        for name in [identities] if isinstance(identities, str) else identities:
            self._service.remove(name, self._gallery)

    def close(self) -> None:
        """Ends the connection."""
        self._service.close()

    def __enter__(self) -> Workspace:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 trace: Optional[TracebackType]) -> None:
        self.close()

    def to_dict(self) -> dict[str, Any]:
        """Address, gallery and model, in a form for JSON; no credential."""
        return {**self._service.to_dict(), "gallery": self._gallery, "model": self.model.to_dict()}

    def __repr__(self) -> str:
        return f"<heft.service.Workspace {self._gallery}>"

    def __reduce__(self) -> str:
        raise TypeError("a Workspace is not pickled: it holds a connection and credentials")

    # ---- Below.

    def _decisions(self, vectors: Any, use: Literal["enrolment", "identification"],
                   ask: Callable[[Files], Decision]) -> list[Decision]:
        rows, _ = self._rows(vectors, None)
        decisions: list[Decision] = []
        for row in rows:
            try:
                decisions.append(ask(self._client.encrypt_each(row, use=use)))
            except errors.Error as error:
                error.decisions = decisions  # type: ignore[attr-defined]
                raise
        return decisions

    def _rows(self, vectors: Any, labels: Any) -> tuple[list[dict[str, Any]], Optional[list[str]]]:
        if hasattr(vectors, "columns"):
            vectors, labels = split(vectors, self.model.modalities, labels)
        if not isinstance(vectors, Mapping) or not vectors:
            raise errors.InvalidArgument("vectors: a mapping from modalities to arrays, or a DataFrame")
        arrays = {str(name): np.atleast_2d(np.asarray(rows)) for name, rows in vectors.items()}
        counts = {name: len(rows) for name, rows in arrays.items()}
        if len(set(counts.values())) > 1:
            raise errors.InvalidArgument("vectors: " + ", ".join(
                f"{name} has {count} rows" for name, count in counts.items()))
        count = next(iter(counts.values()))
        names = [labels] if isinstance(labels, str) else labels
        if names is not None:
            names = [str(name) for name in names]
            if len(names) != count:
                raise errors.InvalidArgument(f"labels: {len(names)} for {count} rows")
        return [{name: rows[i] for name, rows in arrays.items()} for i in range(count)], names


def _added(counts: Mapping[str, int]) -> Added:
    return Added(counts["active"], counts["pending"], counts["rejected"])


def _probe(where: Optional[Mapping[str, Any]]) -> Optional[dict[str, Any]]:
    return None if where is None else {"filter": dict(where)}


def _no_password() -> str:
    raise errors.FailedPrecondition("private_key is protected by a password: give a file without "
                                    "one that only this program can read")
