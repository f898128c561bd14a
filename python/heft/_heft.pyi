# SPDX-License-Identifier: Apache-2.0
# Types of the C++ module; its docstrings say what everything does.
import builtins
import os
from types import TracebackType
from typing import Any, Callable, ClassVar, Iterable, Literal, Mapping, Optional, Sequence, Tuple, Type, Union, overload

import numpy as np
from numpy.typing import NDArray

from heft._records import (
    AdmissionInquiry as AdmissionInquiry,
    Admissions as Admissions,
    ActivateResult as ActivateResult,
    AuditFinding as AuditFinding,
    AuditHead as AuditHead,
    BudgetClient as BudgetClient,
    BudgetLimits as BudgetLimits,
    BudgetRestart as BudgetRestart,
    BudgetUse as BudgetUse,
    Candidate as Candidate,
    CeremonyCheck as CeremonyCheck,
    ChosenThreshold as ChosenThreshold,
    Claim as Claim,
    CompactResult as CompactResult,
    Contested as Contested,
    CopiedGallery as CopiedGallery,
    DamagedBlock as DamagedBlock,
    Decision as Decision,
    DecisionTable as DecisionTable,
    DecisionThreshold as DecisionThreshold,
    EnrolManyResult as EnrolManyResult,
    EnrolResult as EnrolResult,
    ErasureReceipt as ErasureReceipt,
    FileInfo as FileInfo,
    GalleryInfo as GalleryInfo,
    ImportedEvaluationKeys as ImportedEvaluationKeys,
    ImpostorTail as ImpostorTail,
    InquiredEnrolment as InquiredEnrolment,
    InquiredPerson as InquiredPerson,
    JoinStep as JoinStep,
    KeySet as KeySet,
    LearnEpoch as LearnEpoch,
    OpenedScores as OpenedScores,
    PendingEnrolment as PendingEnrolment,
    PersonInfo as PersonInfo,
    ProfileInfo as ProfileInfo,
    RejectedGroup as RejectedGroup,
    RemoveResult as RemoveResult,
    RenewResult as RenewResult,
    RenewedBlocks as RenewedBlocks,
    RestoreResult as RestoreResult,
    ScoreCalibration as ScoreCalibration,
    SealEvaluationKeys as SealEvaluationKeys,
    SealParameters as SealParameters,
    SealSamples as SealSamples,
    SearchCalibration as SearchCalibration,
    SharedKey as SharedKey,
    SharedKeySet as SharedKeySet,
    Template as Template,
    Verdict as Verdict,
    VerifyResult as VerifyResult,
    WorkspaceAdded as WorkspaceAdded,
    WorkspaceRemoved as WorkspaceRemoved,
)
from heft.errors import Error

_Path = Union[str, "os.PathLike[str]"]
_Buffer = Union[bytes, bytearray, memoryview]
_Source = Union[_Buffer, _Path]
_Samples = Union[_Source, Sequence[_Source], Mapping[str, _Source]]
_Vectors = Union[NDArray[np.float32], NDArray[np.float64], Sequence[float], Sequence[Sequence[float]]]
_Numbers = Union[NDArray[np.floating[Any]], NDArray[np.integer[Any]], Sequence[float]]
_ScoreForm = Literal["csv", "bob4", "bob5"]
_Labels = Union[str, Sequence[str], Sequence[int], NDArray[Any]]
_Names = Union[str, Sequence[str]]
_Table = Union[Mapping[str, _Vectors], Any]  # a DataFrame and its like
_Metadata = Mapping[str, _Names]
_Progress = Union[None, bool, Callable[[str, int, int, str], object]]
_Passphrase = Union[None, str, Callable[[], str]]
_Where = Union[str, "Condition", Sequence[Union[str, "Condition"]]]
_Use = Literal["enrolment", "identification"]
_Encoding = Literal["compact", "bulk", "partial"]
_Role = Literal["key-owner", "server", "client", "registrar", "trainer"]
_Gallery = Union["Gallery", _Path]
_Replies = Union[_Source, Iterable[_Source]]
_Compression = Literal["none", "zlib", "zstd"]
_Ring = Literal["matching", "enrolment"]
_Kind = Literal["identification", "verification"]

class Polynomial:
    @property
    def coefficients(self) -> list[float]: ...
    @property
    def centre(self) -> float: ...
    @property
    def half_width(self) -> float: ...
    @property
    def degree(self) -> int: ...
    def to_dict(self) -> dict[str, Any]: ...
    def __call__(self, s: float) -> float: ...
    def derivative(self, s: float) -> float: ...
    def in_powers_of_s(self) -> Polynomial: ...

class Approximation:
    @property
    def name(self) -> str: ...
    @property
    def stages(self) -> list[Polynomial]: ...
    @property
    def interval(self) -> Tuple[float, float]: ...
    @property
    def degree(self) -> int: ...
    def to_dict(self) -> dict[str, Any]: ...
    def __call__(self, s: float) -> float: ...
    def derivative(self, s: float) -> float: ...
    def max_relative_error(self) -> float: ...
    @staticmethod
    def fit(
        degree: int, interval: Tuple[float, float], kind: str = "minimax"
    ) -> Approximation: ...

class Model:
    @staticmethod
    def load(source: _Source, *, trust: Optional[Trust] = None) -> Model: ...
    @staticmethod
    def train(
        data: Union[TrainingData, _Path, Mapping[str, _Vectors]],
        labels: Optional[_Labels] = None,
        split: Optional[_Labels] = None,
        *,
        gamma: int = 0,
        method: Literal["", "learned", "pca", "none"] = "",
        recipe: Literal["generalising", "paper"] = "generalising",
        degree: int = 0,
        fit: str = "",
        profile: str = "standard",
        weight_of_pairs: float = 0.25,
        margin: float = 0.5,
        grid_search: bool = False,
        epochs: int = 0,
        patience: int = 0,
        learning_rate: float = 0.0,
        weight_decay: float = 0.0001,
        shrinkage: float = -1.0,
        drop_modality: float = 0.0,
        modality_weights: Sequence[float] = (),
        seed: int = 1,
        against_wolves: bool = False,
        with_exact: bool = False,
        checkpoint: Optional[_Path] = None,
        curve: Optional[list[LearnEpoch]] = None,
        progress: _Progress = None,
    ) -> Model: ...
    @staticmethod
    def train_folds(
        data: TrainingData,
        folds: int = 5,
        fold_seed: int = 1,
        *,
        gamma: int = 0,
        method: Literal["", "learned", "pca", "none"] = "",
        recipe: Literal["generalising", "paper"] = "generalising",
        degree: int = 0,
        fit: str = "",
        profile: str = "standard",
        weight_of_pairs: float = 0.25,
        margin: float = 0.5,
        grid_search: bool = False,
        epochs: int = 0,
        patience: int = 0,
        learning_rate: float = 0.0,
        weight_decay: float = 0.0001,
        shrinkage: float = -1.0,
        drop_modality: float = 0.0,
        modality_weights: Sequence[float] = (),
        seed: int = 1,
        against_wolves: bool = False,
        with_exact: bool = False,
        progress: _Progress = None,
    ) -> list[Model]: ...
    def calibrate(
        self,
        data: Union[TrainingData, _Path, Mapping[str, _Vectors]],
        labels: Optional[_Labels] = None,
        split: Optional[_Labels] = None,
        *,
        seed: int = 1,
        against_wolves: bool = False,
        progress: _Progress = None,
    ) -> Model: ...
    @property
    def warnings(self) -> list[str]: ...
    @staticmethod
    def load_folds(
        folder: _Path, data: TrainingData, folds: int = 5, fold_seed: int = 1
    ) -> list[Model]: ...
    @property
    def split_seed(self) -> int: ...
    def save(self, path: _Path) -> None: ...
    def to_bytes(self) -> bytes: ...
    @property
    def modalities(self) -> list[Tuple[str, int]]: ...
    @property
    def gamma(self) -> int: ...
    @property
    def projection(self) -> NDArray[np.float64]: ...
    @property
    def approximation(self) -> Approximation: ...
    @property
    def profile(self) -> str: ...
    @property
    def sample_agreement(self) -> Optional[float]: ...
    @property
    def tables(self) -> list[DecisionTable]: ...
    @property
    def exact_projection(self) -> NDArray[np.float64]: ...
    @property
    def training_summary(self) -> dict[str, Any]: ...
    @property
    def id(self) -> str: ...
    @property
    def decision_id(self) -> str: ...
    def threshold_for(
        self, fmr: float, modalities: Optional[Sequence[str]] = None
    ) -> ChosenThreshold: ...
    def threshold_for_search(
        self,
        fpir: float,
        people: int,
        templates: int = 1,
        modalities: Optional[Sequence[str]] = None,
    ) -> ChosenThreshold: ...
    def names_of(self, set: int) -> list[str]: ...
    def table_for(self, modalities: Optional[Sequence[str]] = None) -> DecisionTable: ...

class TrainingData:
    def __init__(
        self,
        vectors: Mapping[str, _Vectors],
        labels: _Labels,
        split: Optional[_Labels] = None,
        *,
        split_seed: int = 1,
    ) -> None: ...
    @staticmethod
    def load(folder: _Path, *, split_seed: int = 1) -> TrainingData: ...
    @staticmethod
    def synthesise(
        *,
        identities: int = 190,
        samples: int = 6,
        dimensions: Sequence[int] = (512, 128),
        jitter: Union[None, float, Sequence[float]] = None,
        within: Union[None, float, Sequence[float]] = None,
        noise: Union[None, float, Sequence[float]] = None,
        rank_identity: Optional[int] = None,
        rank_within: Optional[int] = None,
        all_pairs_of: Sequence[int] = (),
        seed: int = 1,
    ) -> TrainingData: ...
    @staticmethod
    def of_papers_size(*, seed: int = 1) -> TrainingData: ...
    def save(self, folder: _Path) -> None: ...
    def vectors(self, modality: str) -> NDArray[np.float32]: ...
    def __len__(self) -> int: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def modalities(self) -> list[str]: ...
    @property
    def dimensions(self) -> list[int]: ...
    @property
    def left_out(self) -> list[str]: ...

def fold_file(folder: _Path, fold: int) -> str: ...
def draw_learning_curve(curve: Sequence[LearnEpoch], best_epoch: int) -> str: ...

class ScoreTable:
    def __init__(
        self,
        score: _Numbers,
        genuine: Union[None, NDArray[np.bool_], Sequence[bool]] = None,
        *,
        enrolled: Optional[_Labels] = None,
        probe: Optional[_Labels] = None,
        enrolled_label: Optional[_Labels] = None,
        probe_label: Optional[_Labels] = None,
        split: Optional[_Labels] = None,
        plain: Optional[_Numbers] = None,
    ) -> None: ...
    @staticmethod
    def load(path: _Path) -> ScoreTable: ...
    @staticmethod
    def parse(text: str) -> ScoreTable: ...
    @staticmethod
    def load_lists(genuine: _Path, impostor: _Path, *, histogram: bool = False) -> ScoreTable: ...
    @staticmethod
    def parse_lists(genuine: str, impostor: str, *, histogram: bool = False) -> ScoreTable: ...
    @staticmethod
    def from_dataframe(frame: Any) -> ScoreTable: ...
    def to_text(self, form: _ScoreForm = "csv") -> str: ...
    def save(self, path: _Path, form: _ScoreForm = "csv") -> None: ...
    def to_lists(self) -> Tuple[str, str]: ...
    def to_dataframe(self) -> Any: ...
    def select_split(self, split: str) -> ScoreTable: ...
    def __len__(self) -> int: ...
    @property
    def score(self) -> NDArray[np.float64]: ...
    @property
    def plain(self) -> Optional[NDArray[np.float64]]: ...
    @property
    def genuine(self) -> NDArray[np.bool_]: ...
    @property
    def enrolled(self) -> NDArray[np.uint32]: ...
    @property
    def probe(self) -> NDArray[np.uint32]: ...
    @property
    def enrolled_label(self) -> NDArray[np.uint32]: ...
    @property
    def probe_label(self) -> NDArray[np.uint32]: ...
    @property
    def split(self) -> NDArray[np.uint32]: ...
    @property
    def subjects(self) -> list[str]: ...
    @property
    def labels(self) -> list[str]: ...
    @property
    def splits(self) -> list[str]: ...
    @property
    def named(self) -> bool: ...
    @property
    def failures(self) -> int: ...

class Report:
    @property
    def results(self) -> dict[str, Any]: ...
    @property
    def text(self) -> str: ...
    @property
    def page(self) -> str: ...
    @property
    def pictures(self) -> dict[str, str]: ...
    @property
    def warnings(self) -> list[str]: ...
    @property
    def scores(self) -> Optional[ScoreTable]: ...
    def to_dict(self) -> dict[str, Any]: ...

def evaluate(
    data: TrainingData,
    model: Model,
    *,
    split: Literal["train", "val", "test", "all"] = "test",
    replicates: int = 1000,
    seed: int = 1,
    page: bool = False,
    pictures: bool = False,
    scores: bool = False,
    command: str = "",
    progress: _Progress = None,
) -> Report: ...
def measure_scores(
    scores: Union[ScoreTable, Mapping[str, ScoreTable]],
    *,
    fmrs: Sequence[float] = (0.1, 0.01, 0.001, 0.0001),
    replicates: int = 1000,
    seed: int = 1,
    curve: bool = False,
    page: bool = False,
    pictures: bool = False,
    command: str = "",
    progress: _Progress = None,
) -> Report: ...
def check_drawing() -> None: ...
def evaluate_folds(
    data: TrainingData,
    models: Union[Sequence[Model], Mapping[str, Sequence[Model]]],
    *,
    folds: int = 5,
    fold_seed: int = 1,
    encrypted: bool = True,
    partial_probes: bool = False,
    replicates: int = 1000,
    seed: int = 1,
    page: bool = False,
    scores: bool = False,
    command: str = "",
    progress: _Progress = None,
) -> Report: ...
def compare_choices(
    data: TrainingData,
    *,
    folds: int = 5,
    fold_seed: int = 1,
    encrypted: bool = True,
    replicates: int = 1000,
    seed: int = 1,
    page: bool = False,
    command: str = "",
    progress: _Progress = None,
) -> Report: ...
def evaluate_samples(
    data: TrainingData,
    models: Union[Model, Sequence[Model]],
    *,
    folds: int = 5,
    fold_seed: int = 1,
    samples: Sequence[int] = (1, 2, 4),
    probes: Sequence[int] = (1, 2),
    draws: int = 5,
    seed: int = 1,
    encrypted: bool = True,
    replicates: int = 1000,
    bootstrap_seed: int = 1,
    page: bool = False,
    pictures: bool = False,
    command: str = "",
    progress: _Progress = None,
) -> Report: ...
def evaluate_protection(
    data: TrainingData,
    model: Model,
    *,
    split: Literal["train", "val", "test"] = "test",
    samples: int = 300,
    seed: int = 1,
    page: bool = False,
    pictures: bool = False,
    command: str = "",
    progress: _Progress = None,
) -> Report: ...
def evaluate_searches(
    data: TrainingData,
    models: Union[Model, Sequence[Model]],
    *,
    calibrate_on: Sequence[int] = (200, 1000),
    draws: int = 40,
    seed: int = 1,
    split: Literal["train", "val", "test"] = "test",
    page: bool = False,
    command: str = "",
    progress: _Progress = None,
) -> Report: ...
def evaluate_gallery(
    data: TrainingData,
    model: Model,
    distractors: TrainingData,
    strangers: Optional[TrainingData] = None,
    *,
    split: Literal["train", "val", "test", "all"] = "test",
    encrypted: bool = True,
    page: bool = False,
    command: str = "",
    progress: _Progress = None,
) -> Report: ...
def evaluate_protocol(
    data: TrainingData,
    model: Model,
    folder: _Path,
    names: _Path,
    *,
    encrypted: bool = True,
    replicates: int = 1000,
    seed: int = 1,
    page: bool = False,
    scores: bool = False,
    command: str = "",
    progress: _Progress = None,
) -> Report: ...

class SignedFile:
    @property
    def file(self) -> bytes: ...
    @property
    def kind(self) -> str: ...
    @property
    def role(self) -> _Role: ...
    @property
    def signer(self) -> str: ...
    @property
    def signer_name(self) -> str: ...
    @property
    def audience(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def gallery(self) -> str: ...
    @property
    def generation(self) -> int: ...
    @property
    def nonce(self) -> str: ...
    @property
    def request(self) -> str: ...
    @property
    def issued(self) -> int: ...
    @property
    def expires(self) -> int: ...
    def to_dict(self) -> dict[str, Any]: ...

class SigningKey:
    @staticmethod
    def generate() -> SigningKey: ...
    @staticmethod
    def load(path: _Path, passphrase: _Passphrase = None) -> SigningKey: ...
    @staticmethod
    def outside(public_key: str, sign: Callable[[bytes], _Buffer]) -> SigningKey: ...
    def save(self, path: _Path, passphrase: _Passphrase = None) -> None: ...
    @property
    def public_key(self) -> str: ...
    def sign(
        self, file: _Source, role: _Role, *, audience: str = "", gallery: str = "", life: int = 3600
    ) -> bytes: ...
    def authorise(
        self,
        gallery: str,
        identity: str,
        act: Literal["add", "replace", "remove"] = "add",
        *,
        life: int = 86400,
    ) -> bytes: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    def __enter__(self) -> SigningKey: ...
    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
        /,
    ) -> None: ...

class Trust:
    def __init__(self) -> None: ...
    @staticmethod
    def load(path: _Path) -> Trust: ...
    @staticmethod
    def load_guarded(path: _Path) -> Trust: ...
    @staticmethod
    def parse(text: str) -> Trust: ...
    def save(self, path: _Path) -> None: ...
    def add(self, role: _Role, name: str, key: str) -> None: ...
    def revoke(self, key: str) -> None: ...
    def pin(self, gallery: str, generation: int = 0) -> None: ...
    def keys(self, role: _Role) -> dict[str, str]: ...
    @property
    def galleries(self) -> dict[str, int]: ...
    @property
    def revoked(self) -> list[str]: ...

def open_signed(
    file: _Source,
    trust: Trust,
    *,
    roles: Sequence[_Role] = (),
    kind: str = "",
    audience: str = "",
    gallery: str = "",
) -> SignedFile: ...
def read_signed(file: _Source) -> SignedFile: ...
def is_signed(file: _Source) -> bool: ...

def inspect(file: _Source) -> FileInfo: ...

def describe_profile(name: str) -> ProfileInfo: ...
def profile_of(params_id: str) -> Optional[ProfileInfo]: ...

def describe_plan(model: Model) -> dict[str, Any]: ...
def describe_file(
    path: _Path, *, plan: bool = ..., trust: Trust | None = None
) -> tuple[dict[str, Any], str]: ...
def read_vectors(path: _Path) -> NDArray[np.float32]: ...
def read_labels(path: _Path) -> list[str]: ...
def run_benchmark(
    *,
    iterations: int = 20,
    templates: int = 1024,
    dimensions: Sequence[int] = (512, 512),
    gammas: Sequence[int] = (),
    degree: int = 3,
    profile: str = "standard",
    skip_large: bool = False,
    large_templates: int = 1000000,
    batch: int = 64,
    progress: _Progress = None,
) -> dict[str, Any]: ...
def run_sweep(
    *,
    iterations: int = 20,
    templates: int = 1024,
    dimensions: Sequence[int] = (512, 512),
    gammas: Sequence[int] = (),
    degree: int = 3,
    profile: str = "standard",
    skip_large: bool = False,
    large_templates: int = 1000000,
    batch: int = 64,
    progress: _Progress = None,
) -> Tuple[dict[str, Any], dict[str, str]]: ...

class Condition:
    def __init__(
        self,
        key: str,
        values: Optional[_Names] = None,
        *,
        at_least: Optional[float] = None,
        at_most: Optional[float] = None,
    ) -> None: ...
    @staticmethod
    def parse(text: str) -> Condition: ...
    @property
    def key(self) -> str: ...
    @property
    def values(self) -> list[str]: ...
    @property
    def at_least(self) -> Optional[float]: ...
    @property
    def at_most(self) -> Optional[float]: ...
    def to_dict(self) -> dict[str, Any]: ...

def fits(metadata: _Metadata, where: Optional[_Where]) -> bool: ...
def parse_expiry(text: str, *, now: Optional[int] = None) -> int: ...
def use_gallery_signer(
    folder: _Path, public_key: str, sign: Callable[[bytes], _Buffer]
) -> None: ...
def check_authorised(
    authorisation: _Source,
    trust: Trust,
    act: Literal["add", "replace", "remove"],
    gallery: str,
    identity: str,
) -> None: ...
def request_digest(samples: _Samples, row: int = 0) -> str: ...

class Client:
    def __init__(self, model: Model, encryption_key: _Source, *, trust: Optional[Trust] = None) -> None: ...
    @property
    def model(self) -> Model: ...
    def encrypt(
        self,
        modality: str,
        vectors: _Vectors,
        labels: Optional[_Labels] = None,
        *,
        use: _Use = "enrolment",
        encoding: _Encoding = "compact",
        average: bool = False,
    ) -> bytes: ...
    def encrypt_each(
        self,
        vectors: Mapping[str, _Vectors],
        labels: Optional[_Labels] = None,
        *,
        use: _Use = "enrolment",
        encoding: _Encoding = "compact",
        average: bool = False,
    ) -> dict[str, bytes]: ...
    def encrypt_fused(
        self,
        vectors: Mapping[str, _Vectors],
        labels: Optional[_Labels] = None,
        *,
        use: _Use = "enrolment",
        average: bool = False,
    ) -> bytes: ...

def read_receipt(receipt: _Source) -> ErasureReceipt: ...

class Gallery:
    def __init__(self, path: _Path) -> None: ...
    @staticmethod
    def create(
        path: _Path, matcher: Matcher, *, retention_seconds: int = 3600, retention_bytes: int = 1073741824
    ) -> Gallery: ...
    @staticmethod
    def names(folder: _Path) -> list[str]: ...
    @staticmethod
    def restore(
        snapshot: _Path,
        folder: _Path,
        *,
        matcher: Optional[Matcher] = None,
        accept_older: bool = False,
        trust: Optional[Trust] = None,
        receipts: list[_Source] = [],
        without_receipts: bool = False,
        progress: _Progress = None,
    ) -> RestoreResult: ...
    def __len__(self) -> int: ...
    @property
    def name(self) -> str: ...
    @property
    def gallery_id(self) -> str: ...
    @property
    def generation(self) -> int: ...
    @property
    def key_id(self) -> str: ...
    @property
    def params_id(self) -> str: ...
    @property
    def server_key(self) -> str: ...
    def receipts(self) -> list[bytes]: ...
    def erase_remains(self) -> list[bytes]: ...
    def erasure_remains(self) -> str: ...
    def damaged_blocks(self) -> list[DamagedBlock]: ...
    def damaged_records(self) -> list[str]: ...
    def remember_generation(self) -> None: ...
    @staticmethod
    def import_gallery(
        source: _Path,
        path: _Path,
        *,
        progress: _Progress = None,
    ) -> CopiedGallery: ...
    def identities(self) -> list[str]: ...
    def page(
        self, start: int = 0, count: int = 1000, where: Optional[_Where] = None
    ) -> Tuple[list[Template], Optional[int]]: ...
    def to_dataframe(self, where: Optional[_Where] = None) -> Any: ...
    def person(self, identity: str) -> PersonInfo: ...
    def pending(self) -> list[PendingEnrolment]: ...
    def info(self, model: Optional[Model] = None) -> GalleryInfo: ...
    def verify(self, model: Optional[Model] = None, *, progress: _Progress = None) -> VerifyResult: ...
    def remove(
        self,
        matcher: Matcher,
        identities: _Names,
        *,
        authorisation: Optional[_Source] = None,
        trust: Optional[Trust] = None,
    ) -> RemoveResult: ...
    def remove_expired(self, matcher: Matcher) -> RemoveResult: ...
    def reject_pending(self, matcher: Matcher, entries: _Names) -> RemoveResult: ...
    def roll_back(self, matcher: Matcher, generation: int) -> RemoveResult: ...
    def ask_renewal(
        self, matcher: Matcher, *, compact: bool = False, sign: bool = True, progress: _Progress = None
    ) -> bytes: ...
    def renew(self, matcher: Matcher, answer: _Source, trust: Trust) -> RenewResult: ...
    def make_audit_key(self) -> None: ...
    def reveal_seed(self, reply: _Source, *, server_key: str = "") -> bytes: ...
    @property
    def state_file(self) -> str: ...
    def compact(self, matcher: Matcher) -> CompactResult: ...
    def fold(self, matcher: Matcher) -> None: ...
    def snapshot(
        self, out: _Path, *, with_keys: bool = False, progress: _Progress = None
    ) -> list[CopiedGallery]: ...
    def export(self, out: _Path, *, progress: _Progress = None) -> CopiedGallery: ...
    def rekey(self, model: Model, key: _Source, *, progress: _Progress = None) -> Tuple[str, str]: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    def __enter__(self) -> Gallery: ...
    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
        /,
    ) -> None: ...

def set_writer_wait(seconds: int) -> None: ...

class ShardList:
    def __init__(self, gallery: str, buckets: _Names) -> None: ...
    @staticmethod
    def create(
        matcher: Matcher,
        gallery: _Path,
        buckets: int,
        *,
        retention_seconds: int = 3600,
        retention_bytes: int = 1073741824,
    ) -> ShardList: ...
    @staticmethod
    def load(path: _Path) -> ShardList: ...
    @staticmethod
    def parse(text: str) -> ShardList: ...
    def save(self, path: _Path) -> None: ...
    @property
    def gallery(self) -> str: ...
    @property
    def gallery_id(self) -> str: ...
    @property
    def buckets(self) -> list[str]: ...
    def __len__(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    __hash__: ClassVar[None]  # type: ignore[assignment]
    def bucket_of(self, identity: str) -> int: ...
    def find(self, gallery: str) -> Optional[int]: ...
    def open_bucket(self, gallery: _Path, bucket: int) -> Gallery: ...
    def open(self, gallery: _Path) -> list[Gallery]: ...

def bucket_of(identity: str, buckets: int) -> int: ...
def bucket_address(gallery: str, bucket: int) -> str: ...

class ExpandedKeys:
    @staticmethod
    def make(model: Model, source: _Path, path: Optional[_Path] = None) -> ExpandedKeys: ...
    @staticmethod
    def open(source: _Path, path: Optional[_Path] = None) -> ExpandedKeys: ...
    def check_signed(self, trust: Trust, *, kind: str = "") -> SignedFile: ...
    @property
    def size(self) -> int: ...

def verify_audit_logs(
    files: Iterable[_Path], *, noted: Optional[str] = None, after: Optional[str] = None
) -> AuditHead: ...
def choose_for_audit(replies: int, one_in: int) -> list[int]: ...

class Matcher:
    def __init__(
        self,
        model: Model,
        evaluation_keys: Union[_Source, ExpandedKeys],
        enrolment_keys: Union[None, _Source, ExpandedKeys] = None,
        *,
        trust: Optional[Trust] = None,
    ) -> None: ...
    def enrol(
        self,
        gallery: _Gallery,
        samples: _Samples,
        *,
        identity: str = "",
        all_pairs: bool = False,
        average: bool = False,
        metadata: Optional[_Metadata] = None,
        expires: int = 0,
        authorisation: Optional[_Source] = None,
        trust: Optional[Trust] = None,
        idempotency_key: str = "",
        shards: Optional[ShardList] = None,
        progress: _Progress = None,
    ) -> EnrolResult: ...
    def enrol_many(
        self,
        gallery: _Gallery,
        vectors: Mapping[str, _Vectors],
        labels: _Labels,
        *,
        client: Client,
        owner: Union[None, KeyOwner, Callable[[bytes], _Buffer]] = None,
        metadata: Optional[_Metadata] = None,
        expires: int = 0,
        trust: Optional[Trust] = None,
        start: int = 0,
        progress: _Progress = None,
    ) -> EnrolManyResult: ...
    def pending(
        self, gallery: _Gallery, *, templates: int = 0, bytes: int = 67108864, sign: bool = True
    ) -> builtins.bytes: ...
    def activate(
        self,
        gallery: _Gallery,
        admission: _Source,
        key_owner: Union[str, Trust],
        *,
        progress: _Progress = None,
    ) -> ActivateResult: ...
    def identify(
        self,
        gallery: _Gallery,
        samples: _Samples,
        *,
        row: Optional[int] = None,
        average: bool = False,
        identities: bool = True,
        relinearise: bool = True,
        where: Optional[_Where] = None,
        sign: bool = True,
        audience: str = "",
        life: int = 3600,
        trust: Optional[Trust] = None,
        progress: _Progress = None,
    ) -> bytes: ...
    def identify_shards(
        self,
        gallery: _Path,
        shards: ShardList,
        samples: _Samples,
        *,
        row: Optional[int] = None,
        average: bool = False,
        identities: bool = True,
        relinearise: bool = True,
        where: Optional[_Where] = None,
        audience: str = "",
        life: int = 3600,
        trust: Optional[Trust] = None,
        progress: _Progress = None,
    ) -> list[bytes]: ...
    def identify_all(
        self,
        gallery: _Gallery,
        samples: _Samples,
        *,
        use: Optional[Callable[[int, bytes], object]] = None,
        identities: bool = True,
        relinearise: bool = True,
        where: Optional[_Where] = None,
        sign: bool = True,
        audience: str = "",
        life: int = 3600,
        trust: Optional[Trust] = None,
        progress: _Progress = None,
    ) -> list[bytes]: ...
    def identify_together(
        self,
        gallery: _Gallery,
        probes: Sequence[_Samples],
        *,
        sign: bool = True,
        audience: str = "",
        life: int = 3600,
        trust: Optional[Trust] = None,
    ) -> list[Union[bytes, Error]]: ...
    def verify(
        self,
        gallery: _Gallery,
        samples: _Samples,
        identity: str,
        *,
        row: Optional[int] = None,
        average: bool = False,
        sign: bool = True,
        audience: str = "",
        life: int = 3600,
        trust: Optional[Trust] = None,
    ) -> bytes: ...
    def verify_all(
        self,
        gallery: _Gallery,
        samples: _Samples,
        identity: str,
        *,
        use: Optional[Callable[[int, bytes], object]] = None,
        sign: bool = True,
        audience: str = "",
        life: int = 3600,
        trust: Optional[Trust] = None,
        progress: _Progress = None,
    ) -> list[bytes]: ...
    def audit_reply(
        self, copy: _Gallery, reply: _Source, seed: _Source, requests: Sequence[_Samples], trust: Trust
    ) -> AuditFinding: ...
    def audit_gallery(
        self, copy: _Gallery, trust: Trust, state: Optional[_Source] = None
    ) -> AuditFinding: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    def __enter__(self) -> Matcher: ...
    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
        /,
    ) -> None: ...

def default_limits(model: Model) -> BudgetLimits: ...

class CanaryPerson:
    @property
    def label(self) -> str: ...
    @property
    def vectors(self) -> dict[str, NDArray[np.float32]]: ...

class CanarySet:
    @property
    def people(self) -> list[CanaryPerson]: ...
    @property
    def probes(self) -> list[CanaryPerson]: ...
    @property
    def file(self) -> bytes: ...

def join_key_set(
    model: Model,
    folder: _Path,
    messages: Sequence[_Path] = ...,
    *,
    owners: int = 0,
    passphrase: _Passphrase = None,
    progress: _Progress = None,
) -> JoinStep: ...
def make_shared_key_set(
    model: Model,
    folder: _Path,
    owners: int,
    threshold: int,
    *,
    passphrases: Optional[Sequence[_Passphrase]] = None,
    progress: _Progress = None,
) -> SharedKeySet: ...
def make_blank_share(
    model: Model, record: _Source, owner: int, path: _Path, *, passphrase: _Passphrase = None
) -> str: ...

class SealReply:
    @property
    def ciphertext(self) -> bytes: ...
    @property
    def answers(self) -> list[Tuple[int, int]]: ...
    @property
    def block(self) -> int: ...
    def to_dict(self) -> dict[str, Any]: ...

class SealScores:
    @property
    def kind(self) -> _Kind: ...
    @property
    def probe(self) -> str: ...
    @property
    def claimed(self) -> str: ...
    @property
    def templates(self) -> int: ...
    @property
    def identities(self) -> list[str]: ...
    @property
    def replies(self) -> list[SealReply]: ...
    @property
    def squared_norm(self) -> bytes: ...
    @property
    def squared_norm_turned(self) -> bytes: ...
    @property
    def factors(self) -> NDArray[np.float64]: ...
    def to_dict(self) -> dict[str, Any]: ...

def export_seal_parameters(
    model: Model, *, compression: _Compression = "zstd", ring: _Ring = "matching"
) -> SealParameters: ...
def export_seal_encryption_key(
    model: Model, key: _Source, *, compression: _Compression = "zstd", ring: _Ring = "matching"
) -> bytes: ...
def export_seal_samples(
    model: Model, samples: _Source, *, compression: _Compression = "zstd", progress: _Progress = None
) -> SealSamples: ...
def export_seal_scores(
    model: Model, reply: _Source, *, compression: _Compression = "zstd"
) -> SealScores: ...
def new_key_id() -> str: ...
def import_seal_encryption_key(
    model: Model, key_id: str, key: _Source, enrolment: Optional[_Source] = None
) -> bytes: ...
def import_seal_evaluation_keys(
    model: Model,
    key_id: str,
    galois: _Source,
    relinearisation: _Source,
    *,
    progress: _Progress = None,
) -> ImportedEvaluationKeys: ...
def import_seal_samples(
    model: Model,
    modality: str,
    key_id: str,
    ciphertexts: _Samples,
    labels: Optional[_Labels] = None,
    *,
    progress: _Progress = None,
) -> bytes: ...
def import_seal_secret_key(
    model: Model,
    key_id: str,
    source: _Path,
    out: _Path,
    enrolment_source: Optional[_Path] = None,
    *,
    passphrase: _Passphrase = None,
    progress: _Progress = None,
) -> None: ...

class KeyOwner:
    @staticmethod
    def generate(
        model: Model,
        folder: Optional[_Path] = None,
        *,
        passphrase: _Passphrase = None,
        progress: _Progress = None,
    ) -> KeyOwner: ...
    @staticmethod
    def load(model: Model, path: _Path, *, passphrase: _Passphrase = None) -> KeyOwner: ...
    @property
    def key_id(self) -> str: ...
    @property
    def public_key(self) -> str: ...
    @property
    def journal_file(self) -> str: ...
    def signer(self) -> SigningKey: ...
    def encryption_key(self) -> bytes: ...
    def evaluation_keys(self, progress: _Progress = None) -> bytes: ...
    def enrolment_keys(self, progress: _Progress = None) -> bytes: ...
    def write_public_keys(self, folder: _Path, *, progress: _Progress = None) -> KeySet: ...
    def encrypt(
        self,
        modality: str,
        vectors: _Vectors,
        labels: Optional[_Labels] = None,
        *,
        use: _Use = "enrolment",
        encoding: _Encoding = "compact",
        average: bool = False,
    ) -> bytes: ...
    def encrypt_fused(
        self,
        vectors: Mapping[str, _Vectors],
        labels: Optional[_Labels] = None,
        *,
        use: _Use = "enrolment",
        average: bool = False,
    ) -> bytes: ...
    def export_seal_secret_key(
        self, out: _Path, *, ring: _Ring = "matching", progress: _Progress = None
    ) -> None: ...
    def export_seal_evaluation_keys(
        self, *, compression: _Compression = "zstd", progress: _Progress = None
    ) -> SealEvaluationKeys: ...
    def rekey(
        self, folder: _Path, *, passphrase: _Passphrase = None, progress: _Progress = None
    ) -> str: ...
    def require_signed(self, trust: Trust) -> None: ...
    def require_signed_gallery(self) -> None: ...
    def make_canaries(self, triples: int = 3, names: Optional[_Names] = None) -> CanarySet: ...
    def require_canaries(self, file: _Source) -> None: ...
    def register_canaries(self, file: _Source) -> None: ...
    def open(
        self,
        reply: _Replies,
        *,
        publish: int = 10,
        security_bits: int = 0,
        openings: int = 100000,
        shards: Optional[ShardList] = None,
        parts: Optional[_Replies] = None,
    ) -> OpenedScores: ...
    def decide(
        self,
        reply: _Replies,
        *,
        score: Optional[float] = None,
        fmr: Optional[float] = None,
        fpir: Optional[float] = None,
        likelihood: bool = False,
        others: bool = False,
        security_bits: int = 0,
        openings: int = 100000,
        shards: Optional[ShardList] = None,
        parts: Optional[_Replies] = None,
    ) -> Decision: ...
    def threshold_for(
        self,
        reply: _Replies,
        *,
        score: Optional[float] = None,
        fmr: Optional[float] = None,
        fpir: Optional[float] = None,
        others: bool = False,
        shards: Optional[ShardList] = None,
    ) -> ChosenThreshold: ...
    def approve(
        self,
        request: _Source,
        *,
        only: Optional[_Names] = None,
        reject: Optional[_Names] = None,
        new_identities_only: bool = False,
        put_back: bool = False,
        entries: Optional[_Names] = None,
        reject_entries: Optional[_Names] = None,
        hold: Optional[_Names] = None,
        shards: Optional[ShardList] = None,
        parts: Optional[_Replies] = None,
    ) -> Admissions: ...
    @property
    def shared(self) -> Optional[SharedKey]: ...
    def check_ceremony(self, folder: _Path) -> CeremonyCheck: ...
    def decide_part(
        self,
        reply: _Replies,
        owners: Sequence[int],
        *,
        score: Optional[float] = None,
        fmr: Optional[float] = None,
        fpir: Optional[float] = None,
        likelihood: bool = False,
        others: bool = False,
        security_bits: int = 0,
        openings: int = 100000,
        shards: Optional[ShardList] = None,
    ) -> bytes: ...
    def open_part(
        self,
        reply: _Replies,
        owners: Sequence[int],
        *,
        publish: int = 10,
        security_bits: int = 0,
        openings: int = 100000,
        shards: Optional[ShardList] = None,
    ) -> bytes: ...
    def approve_part(
        self,
        request: _Source,
        owners: Sequence[int],
        *,
        only: Optional[_Names] = None,
        reject: Optional[_Names] = None,
        new_identities_only: bool = False,
        put_back: bool = False,
        entries: Optional[_Names] = None,
        reject_entries: Optional[_Names] = None,
        hold: Optional[_Names] = None,
        shards: Optional[ShardList] = None,
    ) -> bytes: ...
    def renew_part(self, request: _Source, owners: Sequence[int]) -> bytes: ...
    def give_rekeying_part(self, next: KeyOwner, owners: Sequence[int], path: _Path) -> None: ...
    def combine_rekeying_key(self, next: KeyOwner, parts: _Replies, path: _Path) -> None: ...
    def give_new_shares(
        self,
        owners: Sequence[int],
        *,
        replace: Optional[int] = None,
        newcomer: Optional[str] = None,
    ) -> bytes: ...
    def take_new_share(
        self, messages: _Replies, path: _Path, *, passphrase: _Passphrase = None
    ) -> None: ...
    def inquiry(self, request: _Source) -> AdmissionInquiry: ...
    def renew(self, request: _Source, *, parts: Optional[_Replies] = None) -> RenewedBlocks: ...
    def budget(self) -> BudgetUse: ...
    def set_budget(
        self,
        *,
        scores: Optional[int] = None,
        decisions: Optional[int] = None,
        client_bits: Optional[int] = None,
        rejections: Optional[int] = None,
    ) -> None: ...
    def restart_journal(self, reason: str) -> None: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    def __enter__(self) -> KeyOwner: ...
    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
        /,
    ) -> None: ...

def set_threads(threads: int) -> None: ...
def threads() -> int: ...
def instruction_sets() -> list[str]: ...
def active_instruction_set() -> str: ...
def disable_core_dumps() -> None: ...
def give_way() -> None: ...
def check_secure_memory() -> None: ...

class Workspace:
    @overload
    def __init__(self, folder: _Path, *, passphrase: _Passphrase = None) -> None: ...
    # With a service's address it makes a heft.service.Workspace.
    @overload
    def __init__(
        self,
        address: str,
        /,
        gallery: str,
        *,
        trust: Union[Trust, _Path],
        authorities: _Path,
        certificate: Optional[_Path] = None,
        private_key: Optional[_Path] = None,
        api_key: Optional[str] = None,
        token: Optional[str] = None,
        timeout: float = 40,
        patience: float = 30,
    ) -> None: ...
    @staticmethod
    def create(
        folder: _Path,
        data: Union[None, _Path, TrainingData] = None,
        *,
        model: Union[None, Model, _Source] = None,
        method: str = "",
        passphrase: _Passphrase = None,
        progress: _Progress = None,
    ) -> Workspace: ...
    @staticmethod
    def check_free(folder: _Path) -> None: ...
    @staticmethod
    def export_role(folder: _Path, role: Literal["device", "server", "owner"], out: _Path) -> None: ...
    @property
    def model(self) -> Model: ...
    @property
    def gallery(self) -> str: ...
    def add(
        self,
        vectors: _Table,
        labels: Optional[_Labels] = None,
        *,
        progress: _Progress = None,
    ) -> WorkspaceAdded: ...
    def search(
        self,
        vectors: _Table,
        *,
        fpir: Optional[float] = None,
        score: Optional[float] = None,
        progress: _Progress = None,
    ) -> list[Decision]: ...
    def verify(
        self,
        vectors: _Table,
        identity: str,
        *,
        fmr: Optional[float] = None,
        score: Optional[float] = None,
        progress: _Progress = None,
    ) -> list[Decision]: ...
    def remove(self, identities: _Names, *, progress: _Progress = None) -> WorkspaceRemoved: ...
    def close(self) -> None: ...
    @property
    def closed(self) -> bool: ...
    def __enter__(self) -> Workspace: ...
    def __exit__(
        self,
        kind: Optional[Type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
        /,
    ) -> None: ...
