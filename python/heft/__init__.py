# SPDX-License-Identifier: Apache-2.0
"""HEFT: fuses and matches biometric templates that stay encrypted.

Four roles share a model and exchange only bytes:

    Model.train   learns a model from vectors of people who agreed to it
    Client        encrypts feature vectors under the key owner's encryption key
    Matcher       fuses, enrols and matches encrypted data in a Gallery; it cannot decrypt
    KeyOwner      makes the keys, approves templates, opens replies and decides

    owner = heft.KeyOwner.generate(model)
    client = heft.Client(model, owner.encryption_key())
    matcher = heft.Matcher(model, owner.evaluation_keys(), owner.enrolment_keys())
    matcher.enrol("gallery", client.encrypt_each({"face": faces, "voice": voices}, labels))
    matcher.activate("gallery", owner.approve(matcher.pending("gallery")).signed_admission,
                  owner.public_key)
    reply = matcher.identify("gallery", client.encrypt_each(probe, use="identification"))
    print(owner.decide(reply, fpir=0.01))

Files are bytes or paths. Vectors are NumPy arrays of shape (rows, dimension); contiguous float32 is
not copied. Calls release the interpreter's lock and use all cores. Long calls take ``progress``;
Ctrl-C ends them and leaves nothing half done. Errors are heft.Error by kind (heft.errors).
heft.service is the client of the two daemons. docs/python.md is the guide.
"""

__version__ = "0.2.0"

from heft._audit import choose_for_audit, verify_audit_logs
from heft._client import Client
from heft._evaluation import (
    Report, check_drawing, compare_choices, evaluate, evaluate_folds, evaluate_gallery,
    evaluate_protection, evaluate_protocol, evaluate_samples, evaluate_searches, measure_scores,
)
from heft._fusion import Fusion
from heft._gallery import Gallery, set_writer_wait
from heft._inspection import (
    Condition, describe_file, describe_plan, describe_profile, fits, inspect, parse_expiry, profile_of,
    read_labels, read_vectors, run_benchmark, run_sweep,
)
from heft._key_owner import CanaryPerson, CanarySet, KeyOwner, default_limits
from heft._matcher import ExpandedKeys, Matcher
from heft._model import Approximation, Model, Polynomial
from heft._records import (
    AdmissionInquiry, Admissions, ActivateResult, AuditFinding, AuditHead, BudgetClient, BudgetLimits,
    BudgetRestart, BudgetUse, Candidate, CeremonyCheck, ChosenThreshold, Claim, CompactResult, Contested,
    CopiedGallery, DamagedBlock, Decision, DecisionTable, DecisionThreshold, EnrolManyResult, EnrolResult,
    ErasureReceipt, FileInfo, GalleryInfo, ImportedEvaluationKeys, ImpostorTail, InquiredEnrolment,
    InquiredPerson, JoinStep, KeySet, LearnEpoch, OpenedScores, PendingEnrolment, PersonInfo, ProfileInfo,
    RejectedGroup, RemoveResult, RenewResult, RenewedBlocks, RestoreResult, ScoreCalibration,
    SealEvaluationKeys, SealParameters, SealSamples, SearchCalibration, SharedKey, SharedKeySet, Template,
    Verdict, VerifyResult, WorkspaceAdded, WorkspaceRemoved,
)
from heft._runtime import (
    active_instruction_set, check_secure_memory, disable_core_dumps, give_way, instruction_sets,
    set_threads, threads,
)
from heft._scores import ScoreTable
from heft._seal import (
    SealReply, SealScores, export_seal_encryption_key, export_seal_parameters, export_seal_samples,
    export_seal_scores, import_seal_encryption_key, import_seal_evaluation_keys, import_seal_samples,
    import_seal_secret_key, new_key_id,
)
from heft._shared_keys import join_key_set, make_blank_share, make_shared_key_set
from heft._shards import ShardList, bucket_address, bucket_of
from heft._training import TrainingData, draw_learning_curve, fold_file
from heft._trust import (
    SignedFile, SigningKey, Trust, check_authorised, is_signed, open_signed, read_receipt, read_signed,
    request_digest, use_gallery_signer,
)
from heft._workspace import Workspace
from heft.errors import (
    AlreadyExists, BudgetSpent, Cancelled, DataLoss, DeadlineExceeded, Error, FailedPrecondition,
    Internal, InvalidArgument, NotFound, OutOfRange, PermissionDenied, ResourceExhausted, Unauthenticated,
    Unavailable, Warning,
)

__all__ = [
    "AdmissionInquiry", "Admissions", "ActivateResult", "AlreadyExists", "Approximation", "AuditFinding",
    "AuditHead", "BudgetClient", "BudgetLimits", "BudgetRestart", "BudgetSpent", "BudgetUse",
    "CanaryPerson", "CanarySet", "Cancelled", "Candidate", "CeremonyCheck", "ChosenThreshold", "Claim",
    "Client", "CompactResult", "Condition", "Contested", "CopiedGallery", "DamagedBlock", "DataLoss",
    "DeadlineExceeded", "Decision", "DecisionTable", "DecisionThreshold", "EnrolManyResult",
    "EnrolResult", "ErasureReceipt", "Error", "ExpandedKeys", "FailedPrecondition", "FileInfo", "Fusion",
    "Gallery", "GalleryInfo", "ImportedEvaluationKeys", "ImpostorTail", "InquiredEnrolment",
    "InquiredPerson", "Internal", "InvalidArgument", "JoinStep", "KeyOwner", "KeySet", "LearnEpoch",
    "Matcher", "Model", "NotFound", "OpenedScores", "OutOfRange", "PendingEnrolment", "PermissionDenied",
    "PersonInfo", "Polynomial", "ProfileInfo", "RejectedGroup", "RemoveResult", "RenewResult",
    "RenewedBlocks", "Report", "ResourceExhausted", "RestoreResult", "ScoreCalibration", "ScoreTable",
    "SealEvaluationKeys", "SealParameters", "SealReply", "SealSamples", "SealScores",
    "SearchCalibration", "ShardList", "SharedKey", "SharedKeySet", "SignedFile", "SigningKey",
    "Template", "TrainingData", "Trust", "Unauthenticated", "Unavailable", "Verdict", "VerifyResult",
    "Warning", "Workspace", "WorkspaceAdded", "WorkspaceRemoved", "active_instruction_set",
    "check_authorised", "check_drawing", "check_secure_memory", "bucket_address", "bucket_of",
    "choose_for_audit", "compare_choices", "default_limits", "describe_file", "describe_plan",
    "describe_profile", "disable_core_dumps", "draw_learning_curve", "evaluate", "evaluate_folds",
    "evaluate_gallery", "evaluate_protection", "evaluate_protocol", "evaluate_samples",
    "evaluate_searches", "export_seal_encryption_key", "export_seal_parameters", "export_seal_samples",
    "export_seal_scores", "fits", "fold_file", "give_way", "import_seal_encryption_key",
    "import_seal_evaluation_keys", "import_seal_samples", "import_seal_secret_key", "inspect",
    "instruction_sets", "is_signed", "join_key_set", "make_blank_share", "make_shared_key_set",
    "measure_scores", "new_key_id", "open_signed", "parse_expiry", "profile_of", "read_labels",
    "read_receipt", "read_signed", "read_vectors", "request_digest", "run_benchmark", "run_sweep",
    "set_threads", "set_writer_wait", "threads", "use_gallery_signer", "verify_audit_logs",
]
