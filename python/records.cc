// SPDX-License-Identifier: Apache-2.0
// Classes of records. Written by scripts/make-records from include/heft: do not edit.
#include "heft/audit.h"
#include "heft/decisions.h"
#include "heft/inspect.h"
#include "heft/key_owner.h"
#include "heft/key_set.h"
#include "heft/results.h"
#include "heft/seal.h"
#include "heft/seal_key_owner.h"
#include "heft/train.h"
#include "heft/workspace.h"
#include "python/shown.h"
#include "python/values.h"

namespace heft::python {
void DefineRecords(py::module_& m) {
  Record<DecisionThreshold>(m, "DecisionThreshold",
                            "A point of a model's curve for one comparison, 1:1, fitted to people "
                            "who took no part in its training.")
      .Field("fmr", Shown(&DecisionThreshold::fmr),
             "The false match rate that it was fitted for, in (0, 1).")
      .Field("score", Shown(&DecisionThreshold::score), "Accept this cosine or above.")
      .Field("fnmr", Shown(&DecisionThreshold::fnmr),
             "False non-match rate that was measured at the score.")
      .Field("impostor_pairs", Shown(&DecisionThreshold::impostor_pairs),
             "Number of comparisons behind it.")
      .Field("interval", Shown(&DecisionThreshold::interval),
             "The false match rate at the score, with 95% confidence.");
  Record<ScoreCalibration>(
      m, "ScoreCalibration",
      "Slope * score + intercept estimates the natural logarithm of the likelihood ratio P(score | "
      "genuine) / P(score | impostor). Logistic regression with equal weights of both kinds, as in "
      "N. Bruemmer and J. du Preez, Application-independent evaluation of speaker detection, 2006.")
      .Field("slope", Shown(&ScoreCalibration::slope), "Increase per unit of cosine.")
      .Field("intercept", Shown(&ScoreCalibration::intercept), "Value at cosine 0.");
  Record<ImpostorTail>(
      m, "ImpostorTail",
      "How often a stranger's best score against one enrolled person reaches a threshold. In "
      "depths, -log(1 - score^2), scores beyond `start` follow a generalised Pareto distribution "
      "(J. Pickands, Statistical inference using extreme order statistics, Annals of Statistics 3, "
      "1975). The rate of such scores differs between strangers, which is why FPIR is not 1 - (1 - "
      "FMR)^N. The strangers' rates are log-normal, and more uneven at higher thresholds.")
      .Field("start", Shown(&ImpostorTail::start), "The least score that is modelled.")
      .Field("rate", Shown(&ImpostorTail::rate),
             "Share of comparisons that reach the start, in (0, 1].")
      .Field("scale", Shown(&ImpostorTail::scale),
             "Scale of the distribution above the start, > 0.")
      .Field("shape", Shown(&ImpostorTail::shape),
             "Shape, below 1; 0: exponential; negative: scores have an upper end.")
      .Field("evenness", Shown(&ImpostorTail::evenness),
             "Squared mean over variance of the strangers' rates at the start, > 0.");
  Record<SearchCalibration>(m, "SearchCalibration",
                            "A tail, the tails of resampled people, and the size of the data.")
      .Field("templates", Shown(&SearchCalibration::templates),
             "Templates for each person in the gallery.")
      .Field("people", Shown(&SearchCalibration::people), "People that it was fitted to.")
      .Field("comparisons", Shown(&SearchCalibration::comparisons),
             "Comparisons of a stranger with a person.")
      .Field("tail", Shown(&SearchCalibration::tail), "The fit.")
      .Field("replicates", Shown(&SearchCalibration::replicates), "The fits for resampled people.");
  Record<DecisionTable>(m, "DecisionTable",
                        "The meaning of scores of probes that have exactly these modalities, "
                        "against templates that have all modalities. A probe with fewer modalities "
                        "scores lower, so each set has its own table.")
      .Field("modalities", Shown(&DecisionTable::modalities),
             "Bit i: the probe has Model.modalities[i].")
      .Field("thresholds", Shown(&DecisionTable::thresholds),
             "Thresholds for one comparison, fmr falling.")
      .Field("searches", Shown(&DecisionTable::searches), "Tails for a search, templates rising.")
      .Field("calibration", Shown(&DecisionTable::calibration),
             "Calibration of scores, if there is one.");
  Record<ChosenThreshold>(m, "ChosenThreshold", "Accept at this score or above.")
      .Field("score", Shown(&ChosenThreshold::score), "Accept this cosine or above.")
      .Field("of", Shown(&ChosenThreshold::of),
             "Whether the rate is a share of comparisons or of searches, or of nothing if the "
             "score was given.")
      .Field("rate", Shown(&ChosenThreshold::rate), "The requested rate; 0: none.")
      .Field("interval", Shown(&ChosenThreshold::interval),
             "The rate on new people, with 95% confidence.")
      .Field("warning", Said(&ChosenThreshold::warning),
             "Why the threshold should not be relied on; empty if it may be.");
  Record<GalleryInfo>(m, "GalleryInfo", "Facts about a gallery and its store.")
      .Field("name", Shown(&GalleryInfo::name), "Name in its store.")
      .Field("gallery_id", Shown(&GalleryInfo::gallery_id), "Id of the gallery.")
      .Field("model_id", Shown(&GalleryInfo::model_id), "Id of its model.")
      .Field("key_id", Shown(&GalleryInfo::key_id), "Id of its key.")
      .Field("gamma", Shown(&GalleryInfo::gamma), "Dimension of a template.")
      .Field("generation", Shown(&GalleryInfo::generation),
             "Number of the gallery's state; each change increases it.")
      .Field("root", Shown(&GalleryInfo::root),
             "Hash of all data that determine replies of this generation.")
      .Field("templates", Shown(&GalleryInfo::templates),
             "Templates that are matched, or have expired.")
      .Field("leaving", Shown(&GalleryInfo::leaving),
             "Templates that are no longer matched and wait for a renewal.")
      .Field("pending", Shown(&GalleryInfo::pending), "Pending templates.")
      .Field("places", Shown(&GalleryInfo::places), "Positions that are or were filled.")
      .Field("freed", Shown(&GalleryInfo::freed), "Positions that can be filled again.")
      .Field("blocks", Shown(&GalleryInfo::blocks), "Blocks that hold the templates.")
      .Field("started", Shown(&GalleryInfo::started),
             "Time at which the gallery was made, in Unix seconds.")
      .Field("key_since", Shown(&GalleryInfo::key_since),
             "Time since which it has this key, in Unix seconds.")
      .Field("verified", Shown(&GalleryInfo::verified),
             "Time at which Gallery.verify last checked everything, in Unix seconds.")
      .Field("intact", Shown(&GalleryInfo::intact), "The result of that check.")
      .Field("retention_seconds", Shown(&GalleryInfo::retention_seconds),
             "Seconds for which templates stay in the journal.")
      .Field("retention_bytes", Shown(&GalleryInfo::retention_bytes),
             "Bytes of the journal, at most.")
      .Field("journal_entries", Shown(&GalleryInfo::journal_entries),
             "Templates in the journal, which can be removed exactly.")
      .Field("journal_bytes", Shown(&GalleryInfo::journal_bytes), "Bytes of the journal.")
      .Field("unfolded", Shown(&GalleryInfo::unfolded), "Templates that are in the journal alone.")
      .Field("revoked_keys", Shown(&GalleryInfo::revoked_keys),
             "Ids of its former keys, oldest first.")
      .Field("owner_journal_entry", Shown(&GalleryInfo::owner_journal_entry),
             "Newest signed entry of the key owner's journal that this server has seen; 0: none.")
      .Field("owner_journal_fork", Shown(&GalleryInfo::owner_journal_fork),
             "A sentence about a fork of that journal, which shows that it was put back or copied; "
             "empty: none was seen.")
      .Field("noise_margin", Shown(&GalleryInfo::noise_margin),
             "The least remaining share of a block's noise budget, 1 in a new gallery; at 0 a "
             "template should be enrolled again. Unknown without a model.")
      .Field("galleries", Shown(&GalleryInfo::galleries), "Names of all galleries of the store.")
      .Field("store_bytes", Shown(&GalleryInfo::store_bytes), "Bytes of the store on disk.")
      .Field("store_live_bytes", Shown(&GalleryInfo::store_live_bytes),
             "Bytes of the store that are in use.")
      .Field("readers", Shown(&GalleryInfo::readers),
             "Generations that are held open, in all processes.");
  Record<ListedTemplate>(
      m, "Template",
      "The template at a position of a gallery. A pending one has its identity and state alone.")
      .Field("position", Shown(&ListedTemplate::position), "Position in the gallery, from 0.")
      .Field("identity", Shown(&ListedTemplate::identity),
             "The identity under which it was enrolled.")
      .Field("person", Shown(&ListedTemplate::person),
             "Its name in receipts of erasure, 32 hexadecimal digits.")
      .Field("generation", Shown(&ListedTemplate::generation), "Generation in which it was added.")
      .Field("enrolled", Shown(&ListedTemplate::enrolled),
             "Time of the enrolment, in Unix seconds.")
      .Field("expires", Shown(&ListedTemplate::expires),
             "Time from which it is no longer matched, in Unix seconds.")
      .Field("metadata", Shown(&ListedTemplate::metadata), "Lists of values by key.")
      .Field("state", Shown(&ListedTemplate::state), "Active, expired or pending.");
  Record<PersonInfo>(m, "PersonInfo", "The templates of an identity.")
      .Field("templates", Shown(&PersonInfo::templates),
             "Those that are matched or have expired, by position.")
      .Field("pending", Shown(&PersonInfo::pending), "Number of pending templates.");
  Record<PendingEnrolment>(m, "PendingEnrolment",
                           "Templates that were enrolled together and are decided together.")
      .Field("entry", Shown(&PendingEnrolment::entry), "Id of the enrolment, for KeyOwner.approve.")
      .Field("client", Shown(&PendingEnrolment::client),
             "Public key of the client that sent it; empty: not signed.")
      .Field("bytes", Shown(&PendingEnrolment::bytes), "Size in bytes.")
      .Field("identities", Shown(&PendingEnrolment::identities), "Identities, one per template.");
  Record<CopiedGallery>(m, "CopiedGallery", "A gallery of a copy.")
      .Field("name", Shown(&CopiedGallery::name), "Name in its store.")
      .Field("gallery_id", Shown(&CopiedGallery::gallery_id), "Id of the gallery.")
      .Field("generation", Shown(&CopiedGallery::generation), "Generation of the copy.");
  Record<DamagedBlock>(m, "DamagedBlock", "A block with templates that are not matched.")
      .Field("block", Shown(&DamagedBlock::block), "Number of the block.")
      .Field("why", Shown(&DamagedBlock::why), "What is wrong with it, and the remedy.");
  Record<VerifyResult>(m, "VerifyResult", "The result of a complete check.")
      .Field("intact", Shown(&VerifyResult::intact), "Whether nothing is damaged.")
      .Field("generation", Shown(&VerifyResult::generation), "The generation that was checked.")
      .Field("blocks", Shown(&VerifyResult::blocks), "Blocks that were read.")
      .Field("damaged", Shown(&VerifyResult::damaged),
             "Blocks that cannot be matched; all others can.")
      .Field("complaints", Shown(&VerifyResult::complaints),
             "What is wrong, one sentence each, at most 100.")
      .Field("recorded", Shown(&VerifyResult::recorded),
             "Whether the result is stored in the gallery.");
  Record<EnrolResult>(m, "EnrolResult", "The result of an enrolment, and the gallery's size.")
      .Field("brought", Shown(&EnrolResult::brought), "Templates that were enrolled by this call.")
      .Field("pending", Shown(&EnrolResult::pending), "Pending templates of the gallery.")
      .Field("templates", Shown(&EnrolResult::templates), "Templates of the gallery.")
      .Field("blocks", Shown(&EnrolResult::blocks), "Blocks of the gallery.")
      .Field("repeated", Shown(&EnrolResult::repeated),
             "Whether it is the answer to an earlier request with the same key.")
      .Field(
          "missing", Shown(&EnrolResult::missing),
          "Modalities that the templates lack; empty if it is repeated. Decision tables are fitted "
          "to templates with all modalities, so no table gives the meaning of scores with these.");
  Record<EnrolManyResult>(m, "EnrolManyResult",
                          "The result of all batches, and the gallery's size.")
      .Field("brought", Shown(&EnrolManyResult::brought), "Templates that were enrolled.")
      .Field("activated", Shown(&EnrolManyResult::activated),
             "Templates that were added to the gallery.")
      .Field("rejected", Shown(&EnrolManyResult::rejected), "Templates that were rejected.")
      .Field("pending", Shown(&EnrolManyResult::pending), "Pending templates of the gallery.")
      .Field("templates", Shown(&EnrolManyResult::templates), "Templates of the gallery.")
      .Field("blocks", Shown(&EnrolManyResult::blocks), "Blocks of the gallery.");
  Record<ActivateResult>(m, "ActivateResult",
                         "The result of an admission, and the gallery's size. Rejected templates "
                         "are deleted. All of that is committed, also if a later step failed.")
      .Field("activated", Shown(&ActivateResult::activated),
             "Templates that were added to the gallery.")
      .Field("rejected", Shown(&ActivateResult::rejected), "Pending templates that were deleted.")
      .Field("pending", Shown(&ActivateResult::pending), "Pending templates of the gallery.")
      .Field("templates", Shown(&ActivateResult::templates), "Templates of the gallery.")
      .Field("blocks", Shown(&ActivateResult::blocks), "Blocks of the gallery.")
      .Field("damaged", Shown(&ActivateResult::damaged),
             "Pending enrolments that are damaged, by their entries. They were not activated and "
             "stay pending until Gallery.reject_pending.")
      .Field(
          "overwritten", Shown(&ActivateResult::overwritten),
          "Whether rejected and replaced templates are overwritten, as RemoveResult.overwritten.")
      .Field("kept", Shown(&ActivateResult::kept),
             "Whether the signed state was kept for audits; if not, a second call tries again.");
  Record<RemoveResult>(m, "RemoveResult",
                       "The result of a removal, and the state of the ciphertexts.")
      .Field("removed", Shown(&RemoveResult::removed), "Templates that are no longer matched.")
      .Field("erased", Shown(&RemoveResult::erased),
             "Templates whose data are gone from the blocks.")
      .Field("leaving", Shown(&RemoveResult::leaving),
             "Templates that remain in blocks until Gallery.ask_renewal and Gallery.renew.")
      .Field("rejected", Shown(&RemoveResult::rejected), "Pending templates that were deleted.")
      .Field("generation", Shown(&RemoveResult::generation),
             "Generation of the gallery after the change.")
      .Field("persons", Shown(&RemoveResult::persons),
             "Names of the removed people in receipts, 32 digits each.")
      .Field("receipts", Shown(&RemoveResult::receipts),
             "Signed receipts (kind RCPT) for erased templates, including earlier ones from a "
             "block that is now empty.")
      .Field("overwritten", Shown(&RemoveResult::overwritten),
             "Whether the deleted data are overwritten. They are not if another process has read "
             "an older generation for longer than SetWriterWait: the next change overwrites them, "
             "and until then there is no receipt. A store in a database never overwrites "
             "(Gallery.erasure_remains).");
  Record<RenewResult>(m, "RenewResult", "The result of a renewal.")
      .Field("blocks", Shown(&RenewResult::blocks), "Blocks that were renewed.")
      .Field("freed", Shown(&RenewResult::freed), "Blocks that are empty now.")
      .Field("moved", Shown(&RenewResult::moved), "Templates in a new position.")
      .Field("erased", Shown(&RenewResult::erased), "Templates that were erased.")
      .Field("leaving", Shown(&RenewResult::leaving), "Templates that still wait for a renewal.")
      .Field("generation", Shown(&RenewResult::generation),
             "Generation of the gallery after the change.")
      .Field("receipts", Shown(&RenewResult::receipts), "Signed receipts of the erasure.")
      .Field("overwritten", Shown(&RenewResult::overwritten), "As RemoveResult.overwritten.");
  Record<CompactResult>(m, "CompactResult", "The result of maintenance without the key owner.")
      .Field("mended", Shown(&CompactResult::mended), "Damaged blocks that were rebuilt.")
      .Field("records", Shown(&CompactResult::records),
             "Damaged records that were written again or dropped.")
      .Field("damaged", Shown(&CompactResult::damaged), "Blocks that are still damaged.")
      .Field("receipts", Shown(&CompactResult::receipts),
             "Signed receipts of erasure that were due.")
      .Field("overwritten", Shown(&CompactResult::overwritten), "As RemoveResult.overwritten.")
      .Field("blocks", Shown(&CompactResult::blocks), "Blocks of the gallery.")
      .Field("sparse", Shown(&CompactResult::sparse),
             "Blocks that a renewal would merge, or free of removed templates.")
      .Field("leaving", Shown(&CompactResult::leaving),
             "Removed templates that wait for a renewal.");
  Record<RestoreResult>(m, "RestoreResult", "The result of a restore.")
      .Field("galleries", Shown(&RestoreResult::galleries), "The galleries after the restore.")
      .Field("older", Shown(&RestoreResult::older),
             "Whether the copy was older than the replaced store.")
      .Field("erased", Shown(&RestoreResult::erased),
             "Templates that were removed again and erased.")
      .Field("leaving", Shown(&RestoreResult::leaving),
             "Templates that were removed again and wait for a renewal.")
      .Field("rejected", Shown(&RestoreResult::rejected),
             "Pending templates of an older copy, which were removed.");
  Record<ErasureReceipt>(m, "ErasureReceipt",
                         "The content of a signed receipt. OpenSigned checks its signature.")
      .Field("gallery_id", Shown(&ErasureReceipt::gallery_id), "Id of the gallery.")
      .Field("generation", Shown(&ErasureReceipt::generation), "The first generation without them.")
      .Field("erased", Shown(&ErasureReceipt::erased),
             "Time at which the store held nothing more of them, in Unix seconds.")
      .Field("persons", Shown(&ErasureReceipt::persons),
             "Names of the erased people, without those who have other templates in the gallery, "
             "matched or waiting for a renewal.")
      .Field("removed", Shown(&ErasureReceipt::removed),
             "Times at which each of them was no longer matched, in Unix seconds.");
  Record<Candidate>(m, "Candidate", "An identity with its best score over its templates.")
      .Field("identity", Shown(&Candidate::identity),
             "The identity; \"#\" and the position if the reply has no names.")
      .Field("score", Shown(&Candidate::score), "Cosine, rounded to 0.001 (kScoreStep).")
      .Field("templates", Shown(&Candidate::templates), "Number of templates of this identity.")
      .Field("log_likelihood_ratio", Shown(&Candidate::log_likelihood_ratio),
             "Natural logarithm of the likelihood ratio of the rounded score, to two digits. "
             "Unknown if the model is not calibrated.")
      .Field("scores_left", Shown(&Candidate::scores_left),
             "Scores that the identity may still give to this client, ever, after this one.");
  Record<Decision>(m, "Decision", "The decision for a relying party, without a score.")
      .Field("kind", Shown(&Decision::kind), "Identification or verification.")
      .Field("gallery_id", Shown(&Decision::gallery_id),
             "Id of the gallery that answered; in buckets, of its shard list.")
      .Field("probe", Shown(&Decision::probe), "Label of the probe, as the client gave it.")
      .Field("modalities", Shown(&Decision::modalities),
             "Modalities of the probe, as its samples say.")
      .Field("accepted", Shown(&Decision::accepted), "Whether the identity is accepted.")
      .Field("identity", Shown(&Decision::identity),
             "The accepted identity; empty if there is none.")
      .Field("claimed", Shown(&Decision::claimed),
             "The claimed identity of a verification, accepted or not.")
      .Field("refusal", Shown(&Decision::refusal),
             "Why the reply is refused, which is never accepted; empty: it is not.")
      .Field("threshold", Shown(&Decision::threshold), "The threshold of the decision.")
      .Field("where", Shown(&Decision::where),
             "Conditions to which the search was restricted, as the server says.")
      .Field("likelihood", Shown(&Decision::likelihood),
             "Weak, moderate or strong, if it was requested and the identity is accepted; "
             "otherwise empty.")
      .Field("key_warning", Said(&Decision::key_warning),
             "A warning once half of what may be opened with the key has been opened "
             "(SECURITY.md); empty before.");
  Record<OpenedScores>(m, "OpenedScores", "An opened reply with its scores.")
      .Field("kind", Shown(&OpenedScores::kind), "Identification or verification.")
      .Field("gallery_id", Shown(&OpenedScores::gallery_id),
             "Id of the gallery that answered; in buckets, of its shard list.")
      .Field("probe", Shown(&OpenedScores::probe), "Label of the probe, as the client gave it.")
      .Field("modalities", Shown(&OpenedScores::modalities),
             "Modalities of the probe, as its samples say.")
      .Field("claimed", Shown(&OpenedScores::claimed), "The claimed identity of a verification.")
      .Field("candidates", Shown(&OpenedScores::candidates),
             "Best first, at most as many as were asked for.")
      .Field("withheld", Shown(&OpenedScores::withheld),
             "Candidates that are not shown, because their scores are spent.")
      .Field(
          "refusal", Shown(&OpenedScores::refusal),
          "Why the reply is refused: its probe's norm, or one of its scores, cannot be that of a "
          "sound probe (SECURITY.md). There are no candidates then. Empty if it is not refused.")
      .Field("where", Shown(&OpenedScores::where),
             "Conditions to which the search was restricted, as the server says.")
      .Field("searched", Shown(&OpenedScores::searched),
             "Templates that answered a search, without canaries; 0 if it is refused.")
      .Field("key_warning", Said(&OpenedScores::key_warning), "As Decision.key_warning.");
  Record<BudgetLimits>(
      m, "BudgetLimits",
      "The limits on what may be published of a model's galleries. docs/security-proofs.md, \"What "
      "a client learns from decisions\", derives the numbers.")
      .Field("scores", Shown(&BudgetLimits::scores),
             "Scores of an identity, ever, by all clients; one client gets half of them.")
      .Field("decisions", Shown(&BudgetLimits::decisions),
             "Decisions that accept an identity, at once and again within a day; one client gets "
             "half.")
      .Field(
          "client_bits", Shown(&BudgetLimits::client_bits),
          "Bits that one client gets, at once and again within a day: a score costs 10, a decision "
          "1, one that says how likely 2. All unlisted clients together get a tenth, rounded up.")
      .Field("rejections", Shown(&BudgetLimits::rejections),
             "Rejected claims of one identity by one client. An accepted claim gives one back, and "
             "a day a sixteenth of them; never more than this. Other clients are not affected.");
  Record<BudgetUse::Client>(m, "BudgetClient", "One client's part of the budget.")
      .Field("client", Shown(&BudgetUse::Client::client),
             "Public key of the client; empty: all unlisted ones.")
      .Field("openings", Shown(&BudgetUse::Client::openings), "Replies that were opened for it.")
      .Field("slots", Shown(&BudgetUse::Client::slots), "Scores that were published to it.")
      .Field("bits_left", Shown(&BudgetUse::Client::bits_left), "Bits that it may get now.")
      .Field("full_at", Shown(&BudgetUse::Client::full_at),
             "Time from which it may get all its bits again, in Unix seconds.")
      .Field("rejections_left", Shown(&BudgetUse::Client::rejections_left),
             "Rejections that it may have now: the fewest about any identity.");
  Record<BudgetUse::Restart>(m, "BudgetRestart", "A new start of the journal by hand.")
      .Field("time", Shown(&BudgetUse::Restart::time), "Time of the restart, in Unix seconds.")
      .Field("reason", Shown(&BudgetUse::Restart::reason), "The given reason.");
  Record<BudgetUse>(m, "BudgetUse",
                    "The use of the query budget, from the journal of a key's openings.")
      .Field("limits", Shown(&BudgetUse::limits), "The limits that apply.")
      .Field("scores", Shown(&BudgetUse::scores),
             "Scores of the identity with the most, by all clients.")
      .Field("decisions", Shown(&BudgetUse::decisions),
             "Decisions that accepted the identity with the most.")
      .Field("identifications", Shown(&BudgetUse::identifications),
             "Identifications that were opened.")
      .Field("verifications", Shown(&BudgetUse::verifications), "Verifications that were opened.")
      .Field("openings", Shown(&BudgetUse::openings), "Openings with this key, for all models.")
      .Field("key_bits", Shown(&BudgetUse::key_bits),
             "What the openings reveal of this key, at most, in bits.")
      .Field("most_key_bits", Shown(&BudgetUse::most_key_bits),
             "The bits at which openings end, without flooding.")
      .Field("proofs", Shown(&BudgetUse::proofs),
             "Proofs of enrolments' norms that were opened with this key.")
      .Field("most_proofs", Shown(&BudgetUse::most_proofs),
             "The proofs at which approvals end; 0: no end, without flooding.")
      .Field("identities", Shown(&BudgetUse::identities), "Identities with something published.")
      .Field("gallery_id", Shown(&BudgetUse::gallery_id),
             "Id of the key's gallery, the first that it saw; empty: none yet.")
      .Field("reconstruction_cosine", Shown(&BudgetUse::reconstruction_cosine),
             "Cosine with which `scores` of the limits reveal a template, at least; in [0, 1].")
      .Field("clients", Shown(&BudgetUse::clients), "What was published to each client.")
      .Field("restarts", Shown(&BudgetUse::restarts), "New starts of the journal by hand.")
      .Field("restart_count", Shown(&BudgetUse::restart_count),
             "New starts; more than the listed ones if a journal was lost.")
      .Field("entries", Shown(&BudgetUse::entries), "Entries of the journal, ever.")
      .Field("last_entry", Shown(&BudgetUse::last_entry),
             "Time of the last entry, in Unix seconds.")
      .Field("successor", Shown(&BudgetUse::successor),
             "Id of the key that has replaced this one, which is revoked then.");
  Record<AdmissionInquiry::Person>(m, "InquiredPerson", "A person in a pending enrolment.")
      .Field("identity", Shown(&AdmissionInquiry::Person::identity), "The identity.")
      .Field("known", Shown(&AdmissionInquiry::Person::known),
             "Whether the gallery has this identity already.")
      .Field("others", Shown(&AdmissionInquiry::Person::others),
             "Its templates in other pending enrolments.");
  Record<AdmissionInquiry::Enrolment>(
      m, "InquiredEnrolment",
      "Templates that came together and are decided together. If one is chosen, all others that "
      "are not chosen too are rejected.")
      .Field("entry", Shown(&AdmissionInquiry::Enrolment::entry),
             "Id of the enrolment, in this request and later ones.")
      .Field("people", Shown(&AdmissionInquiry::Enrolment::people), "The people of the templates.")
      .Field("authorised", Shown(&AdmissionInquiry::Enrolment::authorised),
             "Whether a registrar's authorisation came with it; Approve checks it.")
      .Field(
          "client", Shown(&AdmissionInquiry::Enrolment::client),
          "The client that sent it: its name in the trust file, or its key; empty if not signed.");
  Record<AdmissionInquiry>(m, "AdmissionInquiry",
                           "A server's request for admission, before anything is decided.")
      .Field("gallery_id", Shown(&AdmissionInquiry::gallery_id), "Id of the gallery.")
      .Field("generation", Shown(&AdmissionInquiry::generation), "Generation of the gallery.")
      .Field("enrolments", Shown(&AdmissionInquiry::enrolments), "The pending enrolments.")
      .Field("more", Shown(&AdmissionInquiry::more),
             "Pending enrolments that are not in this request.");
  Record<Admissions::Verdict>(m, "Verdict", "The result for one pending template.")
      .Field("identity", Shown(&Admissions::Verdict::identity), "The identity of the template.")
      .Field("approved", Shown(&Admissions::Verdict::approved), "Whether it is approved.")
      .Field("rejection", Shown(&Admissions::Verdict::rejection),
             "REJECTED, ENROLLED, NOT_AUTHORISED, MISPLACED or UNSOUND; empty if it is approved.")
      .Field("reason", Shown(&Admissions::Verdict::reason),
             "Why it is rejected, with what was measured of this template.");
  Record<Admissions::Group>(m, "RejectedGroup", "All templates that are rejected for one cause.")
      .Field("rejection", Shown(&Admissions::Group::rejection), "As Verdict.rejection.")
      .Field("cause", Shown(&Admissions::Group::cause),
             "The cause, with the range of the measured values.")
      .Field("remedy", Said(&Admissions::Group::remedy),
             "How to solve the problem, in sentences; may be empty.")
      .Field("identities", Shown(&Admissions::Group::identities), "Identities, one per template.");
  Record<Admissions::Claim>(m, "Claim", "A pending enrolment of a new identity.")
      .Field("entry", Shown(&Admissions::Claim::entry),
             "Id of the enrolment, for KeyOwner.approve.")
      .Field("client", Shown(&Admissions::Claim::client),
             "The client that sent it, as InquiredEnrolment.client.");
  Record<Admissions::Contested>(
      m, "Contested",
      "A new identity that several pending enrolments have. They wait, because only a choice "
      "(ApprovalPolicy.entries, reject_entries) tells which of them is the person's.")
      .Field("identity", Shown(&Admissions::Contested::identity), "The identity.")
      .Field("claims", Shown(&Admissions::Contested::claims), "The enrolments in this request.")
      .Field("elsewhere", Shown(&Admissions::Contested::elsewhere),
             "Templates of the identity in pending enrolments beyond the request.");
  Record<Admissions>(
      m, "Admissions",
      "The key owner's answer to a request. DescribeAdmissions (heft/openings.h) prints it.")
      .Field("verdicts", Shown(&Admissions::verdicts), "The results, in the order of the request.")
      .Field("contested", Shown(&Admissions::contested),
             "Contested identities, in alphabetical order.")
      .Field("groups", Shown(&Admissions::groups),
             "The rejections by cause, the largest group first.")
      .Field("signed_admission", Shown(&Admissions::signed_admission),
             "For Matcher.activate, valid for seven days (kAdmissionLife).");
  Record<RenewedBlocks>(m, "RenewedBlocks", "The result of a renewal by the key owner.")
      .Field("blocks", Shown(&RenewedBlocks::blocks), "Blocks that were encrypted again.")
      .Field("templates", Shown(&RenewedBlocks::templates), "Templates in the new blocks.")
      .Field("signed_renewal", Shown(&RenewedBlocks::signed_renewal),
             "For the server that asked, valid for seven days.");
  Record<FileInfo>(
      m, "FileInfo",
      "Facts from a file's envelope (docs/formats.md); for a signed file, from the file in it.")
      .Field("kind", Shown(&FileInfo::kind), "Kind, four letters: \"CTXT\".")
      .Field("name", Shown(&FileInfo::name), "The kind in words: \"encrypted samples\".")
      .Field("version", Shown(&FileInfo::version), "Version of the format.")
      .Field("bytes", Shown(&FileInfo::bytes), "Size in bytes.")
      .Field("params_id", Shown(&FileInfo::params_id),
             "Id of the encryption parameters (ProfileOf), if stated.")
      .Field("key_id", Shown(&FileInfo::key_id),
             "Id of the secret key that it belongs to, if stated.")
      .Field("samples", Shown(&FileInfo::samples), "Number of encrypted samples.");
  Record<ProfileInfo>(m, "ProfileInfo",
                      "A set of encryption parameters and the known bounds of its security.")
      .Field("name", Shown(&ProfileInfo::name), "Name of the profile, standard or flooded.")
      .Field("parameters", Shown(&ProfileInfo::parameters), "The parameters in words.")
      .Field("security", Shown(&ProfileInfo::security),
             "The security in words: \"128-bit classical (2024)\".")
      .Field("ring_degree", Shown(&ProfileInfo::ring_degree),
             "Degree of the ring, or of the larger of two.")
      .Field("total_bits", Shown(&ProfileInfo::total_bits), "Bits of the product of all primes.")
      .Field("bound_2024_classical", Shown(&ProfileInfo::bound_2024_classical),
             "Largest product of primes for 128 bits of security, in bits (ePrint 2024/463).")
      .Field("bound_2024_quantum", Shown(&ProfileInfo::bound_2024_quantum),
             "Start of that source's search for a bound against quantum computers.")
      .Field("bound_2018_classical", Shown(&ProfileInfo::bound_2018_classical),
             "The same as the first by the HomomorphicEncryption.org standard of 2018.");
  Record<AuditFinding>(m, "AuditFinding", "The result of an audit.")
      .Field("right", Shown(&AuditFinding::right), "Whether everything is correct.")
      .Field("reason", Shown(&AuditFinding::reason), "What is wrong; empty if nothing is.");
  Record<AuditHead>(m, "AuditHead",
                    "The number of lines of a log, and the hexadecimal SHA-256 of its last line. "
                    "For no lines the hash is zeros or empty.")
      .Field("lines", Shown(&AuditHead::lines), "Number of lines.")
      .Field("hash", Shown(&AuditHead::hash), "Hash of the last line, hexadecimal.");
  Record<LearnEpoch>(m, "LearnEpoch", "AUROCs after an epoch; epoch 0 is the start.")
      .Field("epoch", Shown(&LearnEpoch::epoch), "Number of the epoch, from 0.")
      .Field("train_auroc", Shown(&LearnEpoch::train_auroc), "AUROC of the people for training.")
      .Field("val_auroc", Shown(&LearnEpoch::val_auroc), "AUROC of the people for validation.");
  Record<SharedKey>(m, "SharedKey", "Whose share of a key it is, and how many of its owners open.")
      .Field("owner", Shown(&SharedKey::owner), "Number of the owner, from 1.")
      .Field("owners", Shown(&SharedKey::owners), "Number of owners of the key.")
      .Field("threshold", Shown(&SharedKey::threshold), "Number of owners who open together.")
      .Field("renewal", Shown(&SharedKey::renewal), "How often the shares were renewed.");
  Record<KeySet>(m, "KeySet", "The files that were written.")
      .Field("key_id", Shown(&KeySet::key_id), "Id of the key.")
      .Field("parameters", Shown(&KeySet::parameters), "The encryption parameters in words.")
      .Field("security", Shown(&KeySet::security), "Their security in words.")
      .Field("secret_key", Shown(&KeySet::secret_key),
             "Path of the secret key, FOLDER/secret.key, mode 0600; empty if it was not written.")
      .Field("encryption_key", Shown(&KeySet::encryption_key),
             "Path of the encryption key, FOLDER/encryption.key, for clients.")
      .Field("evaluation_keys", Shown(&KeySet::evaluation_keys),
             "Path of the evaluation keys, FOLDER/evaluation.keys, for the server.")
      .Field("enrolment_keys", Shown(&KeySet::enrolment_keys),
             "Path of the enrolment keys, FOLDER/enrolment.keys, for the server; empty if there is "
             "one ring.")
      .Field("enrolment_keys_bytes", Shown(&KeySet::enrolment_keys_bytes),
             "Bytes of the enrolment keys.")
      .Field("encryption_key_bytes", Shown(&KeySet::encryption_key_bytes),
             "Bytes of the encryption key.")
      .Field("evaluation_keys_bytes", Shown(&KeySet::evaluation_keys_bytes),
             "Bytes of the evaluation keys.")
      .Field("rekeying_key", Shown(&KeySet::rekeying_key),
             "Path of the re-keying key, FOLDER/rekeying.key, for the server, after "
             "KeyOwner.rekey; otherwise empty.")
      .Field("rekeying_key_bytes", Shown(&KeySet::rekeying_key_bytes),
             "Bytes of the re-keying key.")
      .Field("trust", Shown(&KeySet::trust),
             "Path of the trust file, FOLDER/trust.heft: accepted signers of all roles.");
  Record<SharedKeySet>(m, "SharedKeySet", "The files of a dealer's ceremony.")
      .Field("keys", Shown(&SharedKeySet::keys),
             "The public keys, and the trust file, which lists all owners.")
      .Field("threshold", Shown(&SharedKeySet::threshold), "Number of owners who open together.")
      .Field("shares", Shown(&SharedKeySet::shares),
             "Paths of the shares, FOLDER/owner-1/share.key and so on.")
      .Field("share_bytes", Shown(&SharedKeySet::share_bytes), "Bytes of a share.")
      .Field("ceremony", Shown(&SharedKeySet::ceremony),
             "Path of the dealer's signed record, FOLDER/ceremony.heft.");
  Record<JoinStep>(m, "JoinStep", "What one call of JoinKeySet did.")
      .Field("round", Shown(&JoinStep::round),
             "Round of the message that was written, 1 to 5; 6: the set is complete.")
      .Field("owner", Shown(&JoinStep::owner), "Number of this owner, from round 2 on; before 0.")
      .Field("owners", Shown(&JoinStep::owners), "Number of owners, all of whom open.")
      .Field("message", Shown(&JoinStep::message), "Path of the message for all owners, or empty.")
      .Field("message_bytes", Shown(&JoinStep::message_bytes), "Size of the message.")
      .Field("keys", Shown(&JoinStep::keys),
             "The public keys and the trust file of a complete set.")
      .Field("share", Shown(&JoinStep::share), "Path of this owner's share of a complete set.")
      .Field("ceremony", Shown(&JoinStep::ceremony), "Path of the record of a complete set.");
  Record<CeremonyCheck>(m, "CeremonyCheck", "What an owner's share says of its ceremony.")
      .Field("shared", Shown(&CeremonyCheck::shared), "Whose share it is.")
      .Field("key_id", Shown(&CeremonyCheck::key_id), "Id of the key.")
      .Field("time", Shown(&CeremonyCheck::time), "Unix seconds of the dealer's signature.")
      .Field("dealer", Shown(&CeremonyCheck::dealer), "Public key of the dealer.")
      .Field("digest", Shown(&CeremonyCheck::digest),
             "Digest of the record: the same for all owners.")
      .Field("owners", Shown(&CeremonyCheck::owners), "Public signing key of each owner.")
      .Field("joint", Shown(&CeremonyCheck::joint),
             "Made without a dealer: the first owner signed the public keys.");
  Record<WorkspaceAdded>(m, "WorkspaceAdded", "Results for the added rows.")
      .Field("added", Shown(&WorkspaceAdded::added), "Templates that can now be found.")
      .Field("templates", Shown(&WorkspaceAdded::templates), "Templates of the gallery.")
      .Field("rejected", Shown(&WorkspaceAdded::rejected),
             "Rejections by cause, as Admissions.groups.");
  Record<WorkspaceRemoved>(m, "WorkspaceRemoved", "Templates that were removed and erased.")
      .Field("removed", Shown(&WorkspaceRemoved::removed),
             "Templates that were removed and erased.")
      .Field("templates", Shown(&WorkspaceRemoved::templates), "Templates left in the gallery.")
      .Field("overwritten", Shown(&WorkspaceRemoved::overwritten),
             "Whether deleted data are overwritten; the next change tries again.");
  Record<SealParameters>(
      m, "SealParameters",
      "SEAL's encryption parameters for a model, and how to use them. Encrypt at `scale` and the "
      "first level. Create a relinearisation key, and Galois keys for the conjugation (step 0) and "
      "for these rotations to the left, unless the list is empty, as for the enrolment ring: SEAL "
      "cannot create its evaluation keys, because they lead to the other ring.")
      .Field("parameters", Shown(&SealParameters::parameters), "SEAL's EncryptionParameters.")
      .Field("ring", Shown(&SealParameters::ring), "\"matching\" or \"enrolment\".")
      .Field("description", Shown(&SealParameters::description), "A description in words.")
      .Field("degree", Shown(&SealParameters::degree), "Degree of the ring.")
      .Field("primes", Shown(&SealParameters::primes), "The primes, the special one last.")
      .Field("scale", Shown(&SealParameters::scale),
             "Scale at which to encrypt, at the first level.")
      .Field("runs", Shown(&SealParameters::runs),
             "Runs of each modality (docs/seal.md, \"Samples\").")
      .Field("rotation_steps", Shown(&SealParameters::rotation_steps),
             "Steps for which to make Galois keys, beside the conjugation's; none for the "
             "enrolment ring.");
  Record<SealSamples>(m, "SealSamples",
                      "SEAL's Ciphertexts, one for each sample, or one for each coordinate of bulk "
                      "samples, in the ring of the samples.")
      .Field("ciphertexts", Shown(&SealSamples::ciphertexts),
             "One per sample, or per coordinate if bulk.")
      .Field("labels", Shown(&SealSamples::labels), "Labels, one per sample.")
      .Field("bulk", Shown(&SealSamples::bulk), "Whether each ciphertext is a coordinate.");
  Record<ImportedEvaluationKeys>(
      m, "ImportedEvaluationKeys",
      "A HEFT file of SEAL's GaloisKeys and RelinKeys of the matching ring. With two rings they "
      "are only for identification: KeyOwner.enrolment_keys creates the enrolment keys from the "
      "imported secret keys (heft/seal_key_owner.h).")
      .Field("bytes", Shown(&ImportedEvaluationKeys::bytes), "The bytes of HEFT's file.")
      .Field("galois_keys", Shown(&ImportedEvaluationKeys::galois_keys),
             "Number of Galois keys that were used.");
  Record<SealEvaluationKeys>(m, "SealEvaluationKeys",
                             "New keys for SEAL, all that the model needs in the matching ring. "
                             "(SEAL has no ring switch, so HEFT must do the enrolment.).")
      .Field("relinearisation", Shown(&SealEvaluationKeys::relinearisation), "SEAL's RelinKeys.")
      .Field("galois", Shown(&SealEvaluationKeys::galois), "SEAL's GaloisKeys.")
      .Field("galois_keys", Shown(&SealEvaluationKeys::galois_keys), "Number of Galois keys.");
}
}  // namespace heft::python
