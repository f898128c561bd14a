# SPDX-License-Identifier: Apache-2.0
"""All roles on one machine, in the folders of a workspace."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal, Mapping, Optional, Union, overload

from heft import errors
from heft._key_owner import asked_once, spending
from heft._library import Passphrase, Progress, call, given
from heft._model import Model
from heft._record import warned
from heft._records import Decision, WorkspaceAdded, WorkspaceRemoved
from heft._tables import split
from heft._values import (Closable, Labels, Names, Path, Source, Vectors, all_rows_of, labels_of,
                          number_of, path_of, row_labels)

if TYPE_CHECKING:
    from heft._training import TrainingData
    from heft._trust import Trust

Table = Union[Mapping[str, Vectors], Any]  # a DataFrame and its like


def _learned(data: Any, model: Any, method: Any, progress: Progress) -> Model:
    if (data is None) == (model is None):
        raise errors.InvalidArgument("give data for training, or a model")
    if model is not None:
        return model if isinstance(model, Model) else Model.load(model)
    return Model.train(data, method=method, progress=progress)


class Workspace(Closable):
    """All roles on one machine, each in its own folder, which can move to its own machine
    later: device/ encrypts, server/ matches, owner/ decides. Files, signatures, checks and
    journal are the same as on separate machines. With a service's address instead of a folder,
    Workspace("https://...", gallery, trust=...), the same calls go to the services, and the
    result is a heft.service.Workspace, whose arguments it takes."""

    _NAME = "this workspace"
    _NO_COPY = "a Workspace is not pickled or copied: open its folder again"

    def __new__(cls, folder: Any, *rest: Any, **options: Any) -> Any:
        """A Workspace, or a heft.service.Workspace."""
        if isinstance(folder, str) and folder.startswith(("https://", "http://")):
            from heft import service  # pylint: disable=import-outside-toplevel

            return service.Workspace(folder, *rest, **options)
        return object.__new__(cls)

    @overload
    def __init__(self, folder: Path, *, passphrase: Passphrase = None) -> None: ...

    @overload
    def __init__(self, address: str, /, gallery: str, *, trust: Union[Trust, Path], authorities: Path,
                 certificate: Optional[Path] = None, private_key: Optional[Path] = None,
                 api_key: Optional[str] = None, token: Optional[str] = None, timeout: float = 40,
                 patience: float = 30) -> None: ...

    def __init__(self, folder: Path, *, passphrase: Passphrase = None) -> None:  # type: ignore[misc]
        """Opens a workspace made by create or `heft init`. passphrase: of its secret key, if it is
        sealed: a str, or a function that returns one. NotFound, FailedPrecondition."""
        self._held = call("heft_workspace_open", path_of(folder), passphrase)
        self._model = Model._of(call("heft_workspace_model", self))  # pylint: disable=protected-access
        self._gallery: str = call("heft_workspace_describe", self)["gallery"]

    @staticmethod
    def create(folder: Path, data: Union[None, Path, TrainingData] = None, *,
               model: Union[None, Model, Source] = None, method: str = "", passphrase: Passphrase = None,
               progress: Progress = None) -> Workspace:
        """Makes a folder with the files of all roles, and opens it. data: a data folder or
        TrainingData to train a model, by method as for Model.train. model: a model or its file,
        instead. passphrase seals the secret key. Errors as check_free's and Model.train's."""
        Workspace.check_free(folder)
        learned = _learned(data, model, method, progress)
        with asked_once(passphrase) as asked:
            call("heft_workspace_create", path_of(folder), learned, asked, progress)
            return Workspace(folder, passphrase=asked)

    @staticmethod
    def check_free(folder: Path) -> None:
        """Checks that create can make this folder. AlreadyExists; NotFound if the folder above
        does not exist."""
        call("heft_workspace_check_free", path_of(folder))

    @staticmethod
    def export_role(folder: Path, role: Literal["device", "server", "owner"], out: Path) -> None:
        """Moves a role, "device", "server" or "owner", into a new folder, to be copied to
        its machine. NotFound, AlreadyExists, FailedPrecondition."""
        call("heft_workspace_export_role", path_of(folder), role, path_of(out))

    @property
    def model(self) -> Model:
        """The model of all roles."""
        self._handle  # pylint: disable=pointless-statement
        return self._model

    @property
    def gallery(self) -> str:
        """Name of the server's gallery, as for Gallery."""
        self._handle  # pylint: disable=pointless-statement
        return self._gallery

    def _rows(self, vectors: Any, labels: Any) -> tuple[list[Any], Optional[list[str]]]:
        """heft_rows of the modalities, and the labels if there are any."""
        if hasattr(vectors, "columns"):
            vectors, labels = split(vectors, self.model.modalities, labels)
        rows = all_rows_of(vectors)
        return rows, row_labels(labels, rows[0][0].rows if rows else 0)

    def add(self, vectors: Table, labels: Optional[Labels] = None, *,
            progress: Progress = None) -> WorkspaceAdded:
        """Adds people: encrypts, enrols and activates each row under its label.

        vectors: a mapping from modalities to arrays, or a DataFrame with a column of vectors
        per modality (face), or a column per number (face_0, face_1, ...). labels: one per row;
        for a DataFrame the name of a column, default "label". InvalidArgument; AlreadyExists
        for a person who is enrolled already, without any change."""
        rows, names = self._rows(vectors, labels)
        return WorkspaceAdded(call("heft_workspace_add", self, rows, len(rows), names, progress))

    def search(self, vectors: Table, *, fpir: Optional[float] = None, score: Optional[float] = None,
               progress: Progress = None) -> list[Decision]:
        """Searches for the person of each row; returns a Decision per row. fpir: false positive
        identification rate, 0.01 if neither fpir nor a score is given. An exception has the
        decisions of earlier rows as `decisions`. BudgetSpent, OutOfRange, InvalidArgument."""
        rows, _ = self._rows(vectors, None)
        return self._decide("heft_workspace_search", rows, {"fpir": fpir, "score": score}, progress)

    def verify(self, vectors: Table, identity: str, *, fmr: Optional[float] = None,
               score: Optional[float] = None, progress: Progress = None) -> list[Decision]:
        """Verifies that each row is of this person; returns a Decision per row. fmr: false match
        rate, 0.001 if neither fmr nor a score is given. The rest is as for search."""
        rows, _ = self._rows(vectors, None)
        return self._decide("heft_workspace_verify", rows, {"fmr": fmr, "score": score}, progress, identity)

    def _decide(self, name: str, rows: list[Any], rule: dict[str, Optional[float]], progress: Progress,
                *claim: str) -> list[Decision]:
        """Decisions; an exception has those before it as `decisions`."""
        decisions: list[Decision] = []
        options = {key: number_of(value, key) for key, value in given(**rule).items()}
        try:
            with spending():
                call(name, self, rows, len(rows), *claim, options,
                     lambda _, text: decisions.append(Decision(json.loads(text))), progress)
        except BaseException as error:
            error.decisions = decisions  # type: ignore[attr-defined]
            raise
        return warned(decisions)

    def remove(self, identities: Names, *, progress: Progress = None) -> WorkspaceRemoved:
        """Removes one or several people and erases their data. NotFound for a person who is not
        enrolled, without any change."""
        return WorkspaceRemoved(call("heft_workspace_remove", self, {"identities": labels_of(identities)},
                                     progress))

    def close(self) -> None:
        """Wipes the secret key after the calls that use it have returned."""
        super().close()

    def _shown(self) -> dict[str, Any]:
        # pylint: disable-next=protected-access
        return {"gallery": self._gallery, "model": self._model._shown()}

    def _words(self) -> str:
        return self._gallery
