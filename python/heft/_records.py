# SPDX-License-Identifier: Apache-2.0
"""Records. Written by scripts/make-records from include/heft: do not edit."""

from __future__ import annotations

import builtins
from typing import Final, Literal, Optional, Tuple

from heft import _record_methods
from heft._record import Record, field, file, many, optional, pair, said


class DecisionThreshold(_record_methods.DecisionThreshold, Record):
    """A point of a model's curve for one comparison, 1:1, fitted to people who took no part in its
    training."""

    fmr: Final[float] = field("The false match rate that it was fitted for, in (0, 1).")
    score: Final[float] = field("Accept this cosine or above.")
    fnmr: Final[float] = field("False non-match rate that was measured at the score.")
    impostor_pairs: Final[int] = field("Number of comparisons behind it.")
    interval: Final[Tuple[float, float]] = field(
        "The false match rate at the score, with 95% confidence.", pair)


class ScoreCalibration(_record_methods.ScoreCalibration, Record):
    """Slope * score + intercept estimates the natural logarithm of the likelihood ratio P(score |
    genuine) / P(score | impostor). Logistic regression with equal weights of both kinds, as in N.
    Bruemmer and J. du Preez, Application-independent evaluation of speaker detection, 2006."""

    slope: Final[float] = field("Increase per unit of cosine.")
    intercept: Final[float] = field("Value at cosine 0.")


class ImpostorTail(_record_methods.ImpostorTail, Record):
    """How often a stranger's best score against one enrolled person reaches a threshold. In depths,
    -log(1 - score^2), scores beyond `start` follow a generalised Pareto distribution (J. Pickands,
    Statistical inference using extreme order statistics, Annals of Statistics 3, 1975). The rate of
    such scores differs between strangers, which is why FPIR is not 1 - (1 - FMR)^N. The strangers'
    rates are log-normal, and more uneven at higher thresholds."""

    start: Final[float] = field("The least score that is modelled.")
    rate: Final[float] = field("Share of comparisons that reach the start, in (0, 1].")
    scale: Final[float] = field("Scale of the distribution above the start, > 0.")
    shape: Final[float] = field(
        "Shape, below 1; 0: exponential; negative: scores have an upper end.")
    evenness: Final[float] = field(
        "Squared mean over variance of the strangers' rates at the start, > 0.")


class SearchCalibration(Record):
    """A tail, the tails of resampled people, and the size of the data."""

    templates: Final[int] = field("Templates for each person in the gallery.")
    people: Final[int] = field("People that it was fitted to.")
    comparisons: Final[int] = field("Comparisons of a stranger with a person.")
    tail: Final[ImpostorTail] = field("The fit.", ImpostorTail)
    replicates: Final[list[ImpostorTail]] = field(
        "The fits for resampled people.", many(ImpostorTail))


class DecisionTable(Record):
    """The meaning of scores of probes that have exactly these modalities, against templates that have
    all modalities. A probe with fewer modalities scores lower, so each set has its own table."""

    modalities: Final[int] = field("Bit i: the probe has Model.modalities[i].")
    thresholds: Final[list[DecisionThreshold]] = field(
        "Thresholds for one comparison, fmr falling.", many(DecisionThreshold))
    searches: Final[list[SearchCalibration]] = field(
        "Tails for a search, templates rising.", many(SearchCalibration))
    calibration: Final[Optional[ScoreCalibration]] = field(
        "Calibration of scores, if there is one.", optional(ScoreCalibration))


class ChosenThreshold(Record):
    """Accept at this score or above."""

    score: Final[float] = field("Accept this cosine or above.")
    of: Final[Literal["nothing", "comparisons", "searches"]] = field(
        "Whether the rate is a share of comparisons or of searches, or of nothing if the score "
        "was given.")
    rate: Final[float] = field("The requested rate; 0: none.")
    interval: Final[Tuple[float, float]] = field(
        "The rate on new people, with 95% confidence.", pair)
    warning: Final[str] = field(
        "Why the threshold should not be relied on; empty if it may be.", said)


class GalleryInfo(Record):
    """Facts about a gallery and its store."""

    name: Final[str] = field("Name in its store.")
    gallery_id: Final[str] = field("Id of the gallery.")
    model_id: Final[str] = field("Id of its model.")
    key_id: Final[str] = field("Id of its key.")
    gamma: Final[int] = field("Dimension of a template.")
    generation: Final[int] = field("Number of the gallery's state; each change increases it.")
    root: Final[str] = field("Hash of all data that determine replies of this generation.")
    templates: Final[int] = field("Templates that are matched, or have expired.")
    leaving: Final[int] = field("Templates that are no longer matched and wait for a renewal.")
    pending: Final[int] = field("Pending templates.")
    places: Final[int] = field("Positions that are or were filled.")
    freed: Final[int] = field("Positions that can be filled again.")
    blocks: Final[int] = field("Blocks that hold the templates.")
    started: Final[int] = field("Time at which the gallery was made, in Unix seconds.")
    key_since: Final[int] = field("Time since which it has this key, in Unix seconds.")
    verified: Final[int] = field(
        "Time at which Gallery.verify last checked everything, in Unix seconds.")
    intact: Final[Optional[bool]] = field("The result of that check.")
    retention_seconds: Final[int] = field("Seconds for which templates stay in the journal.")
    retention_bytes: Final[int] = field("Bytes of the journal, at most.")
    journal_entries: Final[int] = field("Templates in the journal, which can be removed exactly.")
    journal_bytes: Final[int] = field("Bytes of the journal.")
    unfolded: Final[int] = field("Templates that are in the journal alone.")
    revoked_keys: Final[list[str]] = field("Ids of its former keys, oldest first.")
    owner_journal_entry: Final[int] = field(
        "Newest signed entry of the key owner's journal that this server has seen; 0: none.")
    owner_journal_fork: Final[str] = field(
        "A sentence about a fork of that journal, which shows that it was put back or copied; "
        "empty: none was seen.")
    noise_margin: Final[Optional[float]] = field(
        "The least remaining share of a block's noise budget, 1 in a new gallery; at 0 a template"
        " should be enrolled again. Unknown without a model.")
    galleries: Final[list[str]] = field("Names of all galleries of the store.")
    store_bytes: Final[int] = field("Bytes of the store on disk.")
    store_live_bytes: Final[int] = field("Bytes of the store that are in use.")
    readers: Final[int] = field("Generations that are held open, in all processes.")


class Template(Record):
    """The template at a position of a gallery. A pending one has its identity and state alone."""

    position: Final[int] = field("Position in the gallery, from 0.")
    identity: Final[str] = field("The identity under which it was enrolled.")
    person: Final[str] = field("Its name in receipts of erasure, 32 hexadecimal digits.")
    generation: Final[int] = field("Generation in which it was added.")
    enrolled: Final[int] = field("Time of the enrolment, in Unix seconds.")
    expires: Final[int] = field("Time from which it is no longer matched, in Unix seconds.")
    metadata: Final[dict[str, list[str]]] = field("Lists of values by key.")
    state: Final[Literal["active", "expired", "pending"]] = field("Active, expired or pending.")


class PersonInfo(Record):
    """The templates of an identity."""

    templates: Final[list[Template]] = field(
        "Those that are matched or have expired, by position.", many(Template))
    pending: Final[int] = field("Number of pending templates.")


class PendingEnrolment(Record):
    """Templates that were enrolled together and are decided together."""

    entry: Final[str] = field("Id of the enrolment, for KeyOwner.approve.")
    client: Final[str] = field("Public key of the client that sent it; empty: not signed.")
    bytes: Final[int] = field("Size in bytes.")
    identities: Final[list[str]] = field("Identities, one per template.")


class CopiedGallery(Record):
    """A gallery of a copy."""

    name: Final[str] = field("Name in its store.")
    gallery_id: Final[str] = field("Id of the gallery.")
    generation: Final[int] = field("Generation of the copy.")


class DamagedBlock(Record):
    """A block with templates that are not matched."""

    block: Final[int] = field("Number of the block.")
    why: Final[str] = field("What is wrong with it, and the remedy.")


class VerifyResult(Record):
    """The result of a complete check."""

    intact: Final[bool] = field("Whether nothing is damaged.")
    generation: Final[int] = field("The generation that was checked.")
    blocks: Final[int] = field("Blocks that were read.")
    damaged: Final[list[int]] = field("Blocks that cannot be matched; all others can.")
    complaints: Final[list[str]] = field("What is wrong, one sentence each, at most 100.")
    recorded: Final[bool] = field("Whether the result is stored in the gallery.")


class EnrolResult(Record):
    """The result of an enrolment, and the gallery's size."""

    brought: Final[int] = field("Templates that were enrolled by this call.")
    pending: Final[int] = field("Pending templates of the gallery.")
    templates: Final[int] = field("Templates of the gallery.")
    blocks: Final[int] = field("Blocks of the gallery.")
    repeated: Final[bool] = field(
        "Whether it is the answer to an earlier request with the same key.")
    missing: Final[list[str]] = field(
        "Modalities that the templates lack; empty if it is repeated. Decision tables are fitted "
        "to templates with all modalities, so no table gives the meaning of scores with these.")


class EnrolManyResult(Record):
    """The result of all batches, and the gallery's size."""

    brought: Final[int] = field("Templates that were enrolled.")
    activated: Final[int] = field("Templates that were added to the gallery.")
    rejected: Final[int] = field("Templates that were rejected.")
    pending: Final[int] = field("Pending templates of the gallery.")
    templates: Final[int] = field("Templates of the gallery.")
    blocks: Final[int] = field("Blocks of the gallery.")


class ActivateResult(Record):
    """The result of an admission, and the gallery's size. Rejected templates are deleted. All of that
    is committed, also if a later step failed."""

    activated: Final[int] = field("Templates that were added to the gallery.")
    rejected: Final[int] = field("Pending templates that were deleted.")
    pending: Final[int] = field("Pending templates of the gallery.")
    templates: Final[int] = field("Templates of the gallery.")
    blocks: Final[int] = field("Blocks of the gallery.")
    damaged: Final[list[str]] = field(
        "Pending enrolments that are damaged, by their entries. They were not activated and stay "
        "pending until Gallery.reject_pending.")
    overwritten: Final[bool] = field(
        "Whether rejected and replaced templates are overwritten, as RemoveResult.overwritten.")
    kept: Final[bool] = field(
        "Whether the signed state was kept for audits; if not, a second call tries again.")


class RemoveResult(Record):
    """The result of a removal, and the state of the ciphertexts."""

    removed: Final[int] = field("Templates that are no longer matched.")
    erased: Final[int] = field("Templates whose data are gone from the blocks.")
    leaving: Final[int] = field(
        "Templates that remain in blocks until Gallery.ask_renewal and Gallery.renew.")
    rejected: Final[int] = field("Pending templates that were deleted.")
    generation: Final[int] = field("Generation of the gallery after the change.")
    persons: Final[list[str]] = field("Names of the removed people in receipts, 32 digits each.")
    receipts: Final[list[builtins.bytes]] = field(
        "Signed receipts (kind RCPT) for erased templates, including earlier ones from a block "
        "that is now empty.", many(file))
    overwritten: Final[bool] = field(
        "Whether the deleted data are overwritten. They are not if another process has read an "
        "older generation for longer than SetWriterWait: the next change overwrites them, and "
        "until then there is no receipt. A store in a database never overwrites "
        "(Gallery.erasure_remains).")


class RenewResult(Record):
    """The result of a renewal."""

    blocks: Final[int] = field("Blocks that were renewed.")
    freed: Final[int] = field("Blocks that are empty now.")
    moved: Final[int] = field("Templates in a new position.")
    erased: Final[int] = field("Templates that were erased.")
    leaving: Final[int] = field("Templates that still wait for a renewal.")
    generation: Final[int] = field("Generation of the gallery after the change.")
    receipts: Final[list[builtins.bytes]] = field("Signed receipts of the erasure.", many(file))
    overwritten: Final[bool] = field("As RemoveResult.overwritten.")


class CompactResult(Record):
    """The result of maintenance without the key owner."""

    mended: Final[int] = field("Damaged blocks that were rebuilt.")
    records: Final[int] = field("Damaged records that were written again or dropped.")
    damaged: Final[list[DamagedBlock]] = field("Blocks that are still damaged.", many(DamagedBlock))
    receipts: Final[list[builtins.bytes]] = field(
        "Signed receipts of erasure that were due.", many(file))
    overwritten: Final[bool] = field("As RemoveResult.overwritten.")
    blocks: Final[int] = field("Blocks of the gallery.")
    sparse: Final[int] = field("Blocks that a renewal would merge, or free of removed templates.")
    leaving: Final[int] = field("Removed templates that wait for a renewal.")


class RestoreResult(Record):
    """The result of a restore."""

    galleries: Final[list[CopiedGallery]] = field(
        "The galleries after the restore.", many(CopiedGallery))
    older: Final[bool] = field("Whether the copy was older than the replaced store.")
    erased: Final[int] = field("Templates that were removed again and erased.")
    leaving: Final[int] = field("Templates that were removed again and wait for a renewal.")
    rejected: Final[int] = field("Pending templates of an older copy, which were removed.")


class ErasureReceipt(Record):
    """The content of a signed receipt. OpenSigned checks its signature."""

    gallery_id: Final[str] = field("Id of the gallery.")
    generation: Final[int] = field("The first generation without them.")
    erased: Final[int] = field(
        "Time at which the store held nothing more of them, in Unix seconds.")
    persons: Final[list[str]] = field(
        "Names of the erased people, without those who have other templates in the gallery, "
        "matched or waiting for a renewal.")
    removed: Final[list[int]] = field(
        "Times at which each of them was no longer matched, in Unix seconds.")


class Candidate(Record):
    """An identity with its best score over its templates."""

    identity: Final[str] = field('The identity; "#" and the position if the reply has no names.')
    score: Final[float] = field("Cosine, rounded to 0.001 (kScoreStep).")
    templates: Final[int] = field("Number of templates of this identity.")
    log_likelihood_ratio: Final[Optional[float]] = field(
        "Natural logarithm of the likelihood ratio of the rounded score, to two digits. Unknown "
        "if the model is not calibrated.")
    scores_left: Final[int] = field(
        "Scores that the identity may still give to this client, ever, after this one.")


class Decision(Record):
    """The decision for a relying party, without a score."""

    kind: Final[Literal["identification", "verification"]] = field(
        "Identification or verification.")
    gallery_id: Final[str] = field(
        "Id of the gallery that answered; in buckets, of its shard list.")
    probe: Final[str] = field("Label of the probe, as the client gave it.")
    modalities: Final[list[str]] = field("Modalities of the probe, as its samples say.")
    accepted: Final[bool] = field("Whether the identity is accepted.")
    identity: Final[str] = field("The accepted identity; empty if there is none.")
    claimed: Final[str] = field("The claimed identity of a verification, accepted or not.")
    refusal: Final[str] = field(
        "Why the reply is refused, which is never accepted; empty: it is not.")
    threshold: Final[ChosenThreshold] = field("The threshold of the decision.", ChosenThreshold)
    where: Final[list[str]] = field(
        "Conditions to which the search was restricted, as the server says.")
    likelihood: Final[Literal["", "weak", "moderate", "strong"]] = field(
        "Weak, moderate or strong, if it was requested and the identity is accepted; otherwise "
        "empty.")
    key_warning: Final[str] = field(
        "A warning once half of what may be opened with the key has been opened (SECURITY.md); "
        "empty before.", said)


class OpenedScores(_record_methods.OpenedScores, Record):
    """An opened reply with its scores."""

    kind: Final[Literal["identification", "verification"]] = field(
        "Identification or verification.")
    gallery_id: Final[str] = field(
        "Id of the gallery that answered; in buckets, of its shard list.")
    probe: Final[str] = field("Label of the probe, as the client gave it.")
    modalities: Final[list[str]] = field("Modalities of the probe, as its samples say.")
    claimed: Final[str] = field("The claimed identity of a verification.")
    candidates: Final[list[Candidate]] = field(
        "Best first, at most as many as were asked for.", many(Candidate))
    withheld: Final[int] = field("Candidates that are not shown, because their scores are spent.")
    refusal: Final[str] = field(
        "Why the reply is refused: its probe's norm, or one of its scores, cannot be that of a "
        "sound probe (SECURITY.md). There are no candidates then. Empty if it is not refused.")
    where: Final[list[str]] = field(
        "Conditions to which the search was restricted, as the server says.")
    searched: Final[int] = field(
        "Templates that answered a search, without canaries; 0 if it is refused.")
    key_warning: Final[str] = field("As Decision.key_warning.", said)


class BudgetLimits(Record):
    """The limits on what may be published of a model's galleries. docs/security-proofs.md, "What a
    client learns from decisions", derives the numbers."""

    scores: Final[int] = field(
        "Scores of an identity, ever, by all clients; one client gets half of them.")
    decisions: Final[int] = field(
        "Decisions that accept an identity, at once and again within a day; one client gets half.")
    client_bits: Final[int] = field(
        "Bits that one client gets, at once and again within a day: a score costs 10, a decision "
        "1, one that says how likely 2. All unlisted clients together get a tenth, rounded up.")
    rejections: Final[int] = field(
        "Rejected claims of one identity by one client. An accepted claim gives one back, and a "
        "day a sixteenth of them; never more than this. Other clients are not affected.")


class BudgetClient(Record):
    """One client's part of the budget."""

    client: Final[str] = field("Public key of the client; empty: all unlisted ones.")
    openings: Final[int] = field("Replies that were opened for it.")
    slots: Final[int] = field("Scores that were published to it.")
    bits_left: Final[int] = field("Bits that it may get now.")
    full_at: Final[int] = field("Time from which it may get all its bits again, in Unix seconds.")
    rejections_left: Final[int] = field(
        "Rejections that it may have now: the fewest about any identity.")


class BudgetRestart(Record):
    """A new start of the journal by hand."""

    time: Final[int] = field("Time of the restart, in Unix seconds.")
    reason: Final[str] = field("The given reason.")


class BudgetUse(Record):
    """The use of the query budget, from the journal of a key's openings."""

    limits: Final[BudgetLimits] = field("The limits that apply.", BudgetLimits)
    scores: Final[int] = field("Scores of the identity with the most, by all clients.")
    decisions: Final[int] = field("Decisions that accepted the identity with the most.")
    identifications: Final[int] = field("Identifications that were opened.")
    verifications: Final[int] = field("Verifications that were opened.")
    openings: Final[int] = field("Openings with this key, for all models.")
    key_bits: Final[int] = field("What the openings reveal of this key, at most, in bits.")
    most_key_bits: Final[int] = field("The bits at which openings end, without flooding.")
    proofs: Final[int] = field("Proofs of enrolments' norms that were opened with this key.")
    most_proofs: Final[int] = field(
        "The proofs at which approvals end; 0: no end, without flooding.")
    identities: Final[int] = field("Identities with something published.")
    gallery_id: Final[str] = field(
        "Id of the key's gallery, the first that it saw; empty: none yet.")
    reconstruction_cosine: Final[float] = field(
        "Cosine with which `scores` of the limits reveal a template, at least; in [0, 1].")
    clients: Final[list[BudgetClient]] = field(
        "What was published to each client.", many(BudgetClient))
    restarts: Final[list[BudgetRestart]] = field(
        "New starts of the journal by hand.", many(BudgetRestart))
    restart_count: Final[int] = field(
        "New starts; more than the listed ones if a journal was lost.")
    entries: Final[int] = field("Entries of the journal, ever.")
    last_entry: Final[int] = field("Time of the last entry, in Unix seconds.")
    successor: Final[Optional[str]] = field(
        "Id of the key that has replaced this one, which is revoked then.")


class InquiredPerson(Record):
    """A person in a pending enrolment."""

    identity: Final[str] = field("The identity.")
    known: Final[bool] = field("Whether the gallery has this identity already.")
    others: Final[int] = field("Its templates in other pending enrolments.")


class InquiredEnrolment(Record):
    """Templates that came together and are decided together. If one is chosen, all others that are not
    chosen too are rejected."""

    entry: Final[str] = field("Id of the enrolment, in this request and later ones.")
    people: Final[list[InquiredPerson]] = field(
        "The people of the templates.", many(InquiredPerson))
    authorised: Final[bool] = field(
        "Whether a registrar's authorisation came with it; Approve checks it.")
    client: Final[str] = field(
        "The client that sent it: its name in the trust file, or its key; empty if not signed.")


class AdmissionInquiry(Record):
    """A server's request for admission, before anything is decided."""

    gallery_id: Final[str] = field("Id of the gallery.")
    generation: Final[int] = field("Generation of the gallery.")
    enrolments: Final[list[InquiredEnrolment]] = field(
        "The pending enrolments.", many(InquiredEnrolment))
    more: Final[int] = field("Pending enrolments that are not in this request.")


class Verdict(Record):
    """The result for one pending template."""

    identity: Final[str] = field("The identity of the template.")
    approved: Final[bool] = field("Whether it is approved.")
    rejection: Final[Literal["", "REJECTED", "ENROLLED", "NOT_AUTHORISED", "MISPLACED", "UNSOUND"]] = field(
        "REJECTED, ENROLLED, NOT_AUTHORISED, MISPLACED or UNSOUND; empty if it is approved.")
    reason: Final[str] = field("Why it is rejected, with what was measured of this template.")


class RejectedGroup(Record):
    """All templates that are rejected for one cause."""

    rejection: Final[Literal["", "REJECTED", "ENROLLED", "NOT_AUTHORISED", "MISPLACED", "UNSOUND"]] = field(
        "As Verdict.rejection.")
    cause: Final[str] = field("The cause, with the range of the measured values.")
    remedy: Final[str] = field("How to solve the problem, in sentences; may be empty.", said)
    identities: Final[list[str]] = field("Identities, one per template.")


class Claim(Record):
    """A pending enrolment of a new identity."""

    entry: Final[str] = field("Id of the enrolment, for KeyOwner.approve.")
    client: Final[str] = field("The client that sent it, as InquiredEnrolment.client.")


class Contested(Record):
    """A new identity that several pending enrolments have. They wait, because only a choice
    (ApprovalPolicy.entries, reject_entries) tells which of them is the person's."""

    identity: Final[str] = field("The identity.")
    claims: Final[list[Claim]] = field("The enrolments in this request.", many(Claim))
    elsewhere: Final[int] = field(
        "Templates of the identity in pending enrolments beyond the request.")


class Admissions(Record):
    """The key owner's answer to a request. DescribeAdmissions (heft/openings.h) prints it."""

    verdicts: Final[list[Verdict]] = field(
        "The results, in the order of the request.", many(Verdict))
    contested: Final[list[Contested]] = field(
        "Contested identities, in alphabetical order.", many(Contested))
    groups: Final[list[RejectedGroup]] = field(
        "The rejections by cause, the largest group first.", many(RejectedGroup))
    signed_admission: Final[builtins.bytes] = field(
        "For Matcher.activate, valid for seven days (kAdmissionLife).", file)


class RenewedBlocks(Record):
    """The result of a renewal by the key owner."""

    blocks: Final[int] = field("Blocks that were encrypted again.")
    templates: Final[int] = field("Templates in the new blocks.")
    signed_renewal: Final[builtins.bytes] = field(
        "For the server that asked, valid for seven days.", file)


class FileInfo(Record):
    """Facts from a file's envelope (docs/formats.md); for a signed file, from the file in it."""

    kind: Final[str] = field('Kind, four letters: "CTXT".')
    name: Final[str] = field('The kind in words: "encrypted samples".')
    version: Final[int] = field("Version of the format.")
    bytes: Final[int] = field("Size in bytes.")
    params_id: Final[Optional[str]] = field(
        "Id of the encryption parameters (ProfileOf), if stated.")
    key_id: Final[Optional[str]] = field("Id of the secret key that it belongs to, if stated.")
    samples: Final[int] = field("Number of encrypted samples.")


class ProfileInfo(Record):
    """A set of encryption parameters and the known bounds of its security."""

    name: Final[str] = field("Name of the profile, standard or flooded.")
    parameters: Final[str] = field("The parameters in words.")
    security: Final[str] = field('The security in words: "128-bit classical (2024)".')
    ring_degree: Final[int] = field("Degree of the ring, or of the larger of two.")
    total_bits: Final[float] = field("Bits of the product of all primes.")
    bound_2024_classical: Final[int] = field(
        "Largest product of primes for 128 bits of security, in bits (ePrint 2024/463).")
    bound_2024_quantum: Final[int] = field(
        "Start of that source's search for a bound against quantum computers.")
    bound_2018_classical: Final[int] = field(
        "The same as the first by the HomomorphicEncryption.org standard of 2018.")


class AuditFinding(_record_methods.AuditFinding, Record):
    """The result of an audit."""

    right: Final[bool] = field("Whether everything is correct.")
    reason: Final[str] = field("What is wrong; empty if nothing is.")


class AuditHead(_record_methods.AuditHead, Record):
    """The number of lines of a log, and the hexadecimal SHA-256 of its last line. For no lines the
    hash is zeros or empty."""

    lines: Final[int] = field("Number of lines.")
    hash: Final[str] = field("Hash of the last line, hexadecimal.")


class LearnEpoch(Record):
    """AUROCs after an epoch; epoch 0 is the start."""

    epoch: Final[int] = field("Number of the epoch, from 0.")
    train_auroc: Final[float] = field("AUROC of the people for training.")
    val_auroc: Final[float] = field("AUROC of the people for validation.")


class SharedKey(Record):
    """Whose share of a key it is, and how many of its owners open."""

    owner: Final[int] = field("Number of the owner, from 1.")
    owners: Final[int] = field("Number of owners of the key.")
    threshold: Final[int] = field("Number of owners who open together.")
    renewal: Final[int] = field("How often the shares were renewed.")


class KeySet(Record):
    """The files that were written."""

    key_id: Final[str] = field("Id of the key.")
    parameters: Final[str] = field("The encryption parameters in words.")
    security: Final[str] = field("Their security in words.")
    secret_key: Final[str] = field(
        "Path of the secret key, FOLDER/secret.key, mode 0600; empty if it was not written.")
    encryption_key: Final[str] = field(
        "Path of the encryption key, FOLDER/encryption.key, for clients.")
    evaluation_keys: Final[str] = field(
        "Path of the evaluation keys, FOLDER/evaluation.keys, for the server.")
    enrolment_keys: Final[str] = field(
        "Path of the enrolment keys, FOLDER/enrolment.keys, for the server; empty if there is one"
        " ring.")
    enrolment_keys_bytes: Final[int] = field("Bytes of the enrolment keys.")
    encryption_key_bytes: Final[int] = field("Bytes of the encryption key.")
    evaluation_keys_bytes: Final[int] = field("Bytes of the evaluation keys.")
    rekeying_key: Final[str] = field(
        "Path of the re-keying key, FOLDER/rekeying.key, for the server, after KeyOwner.rekey; "
        "otherwise empty.")
    rekeying_key_bytes: Final[int] = field("Bytes of the re-keying key.")
    trust: Final[str] = field(
        "Path of the trust file, FOLDER/trust.heft: accepted signers of all roles.")


class SharedKeySet(Record):
    """The files of a dealer's ceremony."""

    keys: Final[KeySet] = field(
        "The public keys, and the trust file, which lists all owners.", KeySet)
    threshold: Final[int] = field("Number of owners who open together.")
    shares: Final[list[str]] = field("Paths of the shares, FOLDER/owner-1/share.key and so on.")
    share_bytes: Final[int] = field("Bytes of a share.")
    ceremony: Final[str] = field("Path of the dealer's signed record, FOLDER/ceremony.heft.")


class JoinStep(Record):
    """What one call of JoinKeySet did."""

    round: Final[int] = field(
        "Round of the message that was written, 1 to 5; 6: the set is complete.")
    owner: Final[int] = field("Number of this owner, from round 2 on; before 0.")
    owners: Final[int] = field("Number of owners, all of whom open.")
    message: Final[str] = field("Path of the message for all owners, or empty.")
    message_bytes: Final[int] = field("Size of the message.")
    keys: Final[KeySet] = field("The public keys and the trust file of a complete set.", KeySet)
    share: Final[str] = field("Path of this owner's share of a complete set.")
    ceremony: Final[str] = field("Path of the record of a complete set.")


class CeremonyCheck(Record):
    """What an owner's share says of its ceremony."""

    shared: Final[SharedKey] = field("Whose share it is.", SharedKey)
    key_id: Final[str] = field("Id of the key.")
    time: Final[int] = field("Unix seconds of the dealer's signature.")
    dealer: Final[str] = field("Public key of the dealer.")
    digest: Final[str] = field("Digest of the record: the same for all owners.")
    owners: Final[list[str]] = field("Public signing key of each owner.")
    joint: Final[bool] = field("Made without a dealer: the first owner signed the public keys.")


class WorkspaceAdded(Record):
    """Results for the added rows."""

    added: Final[int] = field("Templates that can now be found.")
    templates: Final[int] = field("Templates of the gallery.")
    rejected: Final[list[RejectedGroup]] = field(
        "Rejections by cause, as Admissions.groups.", many(RejectedGroup))


class WorkspaceRemoved(Record):
    """Templates that were removed and erased."""

    removed: Final[int] = field("Templates that were removed and erased.")
    templates: Final[int] = field("Templates left in the gallery.")
    overwritten: Final[bool] = field(
        "Whether deleted data are overwritten; the next change tries again.")


class SealParameters(Record):
    """SEAL's encryption parameters for a model, and how to use them. Encrypt at `scale` and the first
    level. Create a relinearisation key, and Galois keys for the conjugation (step 0) and for these
    rotations to the left, unless the list is empty, as for the enrolment ring: SEAL cannot create
    its evaluation keys, because they lead to the other ring."""

    parameters: Final[builtins.bytes] = field("SEAL's EncryptionParameters.", file)
    ring: Final[str] = field('"matching" or "enrolment".')
    description: Final[str] = field("A description in words.")
    degree: Final[int] = field("Degree of the ring.")
    primes: Final[list[int]] = field("The primes, the special one last.")
    scale: Final[float] = field("Scale at which to encrypt, at the first level.")
    runs: Final[list[int]] = field('Runs of each modality (docs/seal.md, "Samples").')
    rotation_steps: Final[list[int]] = field(
        "Steps for which to make Galois keys, beside the conjugation's; none for the enrolment "
        "ring.")


class SealSamples(Record):
    """SEAL's Ciphertexts, one for each sample, or one for each coordinate of bulk samples, in the ring
    of the samples."""

    ciphertexts: Final[list[builtins.bytes]] = field(
        "One per sample, or per coordinate if bulk.", many(file))
    labels: Final[list[str]] = field("Labels, one per sample.")
    bulk: Final[bool] = field("Whether each ciphertext is a coordinate.")


class ImportedEvaluationKeys(Record):
    """A HEFT file of SEAL's GaloisKeys and RelinKeys of the matching ring. With two rings they are
    only for identification: KeyOwner.enrolment_keys creates the enrolment keys from the imported
    secret keys (heft/seal_key_owner.h)."""

    bytes: Final[builtins.bytes] = field("The bytes of HEFT's file.", file)
    galois_keys: Final[int] = field("Number of Galois keys that were used.")


class SealEvaluationKeys(Record):
    """New keys for SEAL, all that the model needs in the matching ring. (SEAL has no ring switch, so
    HEFT must do the enrolment.)."""

    relinearisation: Final[builtins.bytes] = field("SEAL's RelinKeys.", file)
    galois: Final[builtins.bytes] = field("SEAL's GaloisKeys.", file)
    galois_keys: Final[int] = field("Number of Galois keys.")
