// SPDX-License-Identifier: Apache-2.0
// Results of the library. Each record is defined once, here: the name, type, unit and meaning of
// its fields. scripts/make-records reads this file and writes its form in the other interfaces:
// JSON, Python, SQL and OpenAPI. A field has one name everywhere. Link heft::server.
//
// How a field is written:
//
//    type                  JSON, HTTP, C       Python              SQL
//    ids, keys, digests    hexadecimal text    the same            text
//    times                 RFC 3339 text (C: integer)  Unix seconds  timestamptz
//    files                 base64 text         bytes               bytea
//    conditions, kinds     text                the same            text
//    absl::Status          true if it is OK    the same            boolean
//    not known             null, or ""         None, or ""         NULL
//
// The comment of a field must stand alone: it is the description in Python and OpenAPI.
#ifndef HEFT_RESULTS_H_
#define HEFT_RESULTS_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "heft/base.h"
#include "heft/decisions.h"
#include "heft/files.h"
#include "heft/gallery.h"
#include "heft/trust.h"

namespace heft {

struct PlanInfo;  // heft/inspect.h

// Timestamp: Unix seconds; 0: unknown, or never.
using Timestamp = uint64_t;
// Times: how JSON holds times.
enum class Times { kText, kSeconds };
// ToJson: all fields of a record by name, in their order, for each record that Python has
// (python/heft/_records.pyi).
template <typename Record>
HEFT_EXPORT Json ToJson(const Record& record, Times times);
template <typename Record>
HEFT_EXPORT Json ToJson(const Record& record);  // with times as text
// ToJson: an array of records.
template <typename Record>
Json ToJson(const std::vector<Record>& records, Times times) {
  Json json = Json::array();
  for (const Record& record : records) json.push_back(ToJson(record, times));
  return json;
}
template <typename Record>
Json ToJson(const std::vector<Record>& records) {
  return ToJson(records, Times::kText);
}

// Names of kinds. ScoreKindName: "identification", "verification". RateOfName: "comparisons",
// "searches", "nothing".
HEFT_EXPORT std::string_view ScoreKindName(ScoreKind kind);
HEFT_EXPORT std::string_view RateOfName(RateOf of);

// --- The state of galleries.

// GalleryInfo: facts about a gallery and its store.
struct GalleryInfo {
  std::string name;                  // name in its store
  GalleryId gallery_id{};            // id of the gallery
  ModelId model_id{};                // id of its model
  KeyId key_id{};                    // id of its key
  uint32_t gamma = 0;                // dimension of a template
  uint64_t generation = 0;           // number of the gallery's state; each change increases it
  Digest root{};                     // hash of all data that determine replies of this generation
  uint64_t templates = 0;            // templates that are matched, or have expired
  uint64_t leaving = 0;              // templates that are no longer matched and wait for a renewal
  uint64_t pending = 0;              // pending templates
  uint64_t places = 0;               // positions that are or were filled
  uint64_t freed = 0;                // positions that can be filled again
  uint64_t blocks = 0;               // blocks that hold the templates
  Timestamp started = 0;             // time at which the gallery was made
  Timestamp key_since = 0;           // time since which it has this key
  Timestamp verified = 0;            // time at which VerifyGallery last checked everything
  std::optional<bool> intact;        // the result of that check
  uint64_t retention_seconds = 0;    // seconds for which templates stay in the journal
  uint64_t retention_bytes = 0;      // bytes of the journal, at most
  uint64_t journal_entries = 0;      // templates in the journal, which can be removed exactly
  uint64_t journal_bytes = 0;        // bytes of the journal
  uint64_t unfolded = 0;             // templates that are in the journal alone
  std::vector<KeyId> revoked_keys;   // ids of its former keys, oldest first
  uint64_t owner_journal_entry = 0;  // newest signed entry of the key owner's journal that this
                                     // server has seen; 0: none
  std::string owner_journal_fork;    // a sentence about a fork of that journal, which shows that it
                                     // was put back or copied; empty: none was seen
  std::optional<double> noise_margin;  // the least remaining share of a block's noise budget, 1 in
                                       // a new gallery; at 0 a template should be enrolled again.
                                       // Unknown without a model
  std::vector<std::string> galleries;  // names of all galleries of the store
  uint64_t store_bytes = 0;            // bytes of the store on disk
  uint64_t store_live_bytes = 0;       // bytes of the store that are in use
  uint64_t readers = 0;                // generations that are held open, in all processes
};

// TemplateState: kPending until the key owner has approved it; kExpired ones are no longer matched.
enum class TemplateState { kActive, kExpired, kPending };
// TemplateStateName: "active", "expired", "pending".
HEFT_EXPORT std::string TemplateStateName(TemplateState state);

// ListedTemplate: the template at a position of a gallery. A pending one has its identity and state
// alone.
struct ListedTemplate {
  uint64_t position = 0;    // position in the gallery, from 0
  std::string identity;     // the identity under which it was enrolled
  std::string person;       // its name in receipts of erasure, 32 hexadecimal digits
  uint64_t generation = 0;  // generation in which it was added
  Timestamp enrolled = 0;   // time of the enrolment
  Timestamp expires = 0;    // time from which it is no longer matched
  Metadata metadata;        // lists of values by key
  TemplateState state = TemplateState::kActive;  // active, expired or pending
};

// PersonInfo: the templates of an identity.
struct PersonInfo {
  std::vector<ListedTemplate> templates;  // those that are matched or have expired, by position
  uint64_t pending = 0;                   // number of pending templates
};

// PendingEnrolment: templates that were enrolled together and are decided together.
struct PendingEnrolment {
  Digest entry{};                       // id of the enrolment, for KeyOwner::Approve
  SignerKey client{};                   // public key of the client that sent it; empty: not signed
  uint64_t bytes = 0;                   // size in bytes
  std::vector<std::string> identities;  // identities, one per template
};

// CopiedGallery: a gallery of a copy.
struct CopiedGallery {
  std::string name;         // name in its store
  GalleryId gallery_id{};   // id of the gallery
  uint64_t generation = 0;  // generation of the copy
};

// DamagedBlock: a block with templates that are not matched.
struct DamagedBlock {
  size_t block = 0;  // number of the block
  std::string why;   // what is wrong with it, and the remedy
};

// VerifyResult: the result of a complete check.
struct VerifyResult {
  bool intact = true;                   // whether nothing is damaged
  uint64_t generation = 0;              // the generation that was checked
  uint64_t blocks = 0;                  // blocks that were read
  std::vector<uint64_t> damaged;        // blocks that cannot be matched; all others can
  std::vector<std::string> complaints;  // what is wrong, one sentence each, at most 100
  absl::Status recorded;                // whether the result is stored in the gallery
};

// --- Changes of galleries.

// EnrolResult: the result of an enrolment, and the gallery's size.
struct EnrolResult {
  size_t brought = 0;     // templates that were enrolled by this call
  size_t pending = 0;     // pending templates of the gallery
  size_t templates = 0;   // templates of the gallery
  size_t blocks = 0;      // blocks of the gallery
  bool repeated = false;  // whether it is the answer to an earlier request with the same key
  // Modalities that the templates lack; empty if it is repeated. Decision tables are fitted to
  // templates with all modalities, so no table gives the meaning of scores with these.
  std::vector<std::string> missing = {};
};

// EnrolManyResult: the result of all batches, and the gallery's size.
struct EnrolManyResult {
  size_t brought = 0;    // templates that were enrolled
  size_t activated = 0;  // templates that were added to the gallery
  size_t rejected = 0;   // templates that were rejected
  size_t pending = 0;    // pending templates of the gallery
  size_t templates = 0;  // templates of the gallery
  size_t blocks = 0;     // blocks of the gallery
};

// ActivateResult: the result of an admission, and the gallery's size. Rejected templates are
// deleted. All of that is committed, also if a later step failed.
struct ActivateResult {
  size_t activated = 0;  // templates that were added to the gallery
  size_t rejected = 0;   // pending templates that were deleted
  size_t pending = 0;    // pending templates of the gallery
  size_t templates = 0;  // templates of the gallery
  size_t blocks = 0;     // blocks of the gallery
  // Pending enrolments that are damaged, by their entries. They were not activated and stay pending
  // until RejectPending.
  std::vector<Digest> damaged = {};
  // Whether rejected and replaced templates are overwritten, as RemoveResult::overwritten.
  absl::Status overwritten = {};
  // Whether the signed state was kept for audits; if not, a second call tries again.
  absl::Status kept = {};
};

// RemoveResult: the result of a removal, and the state of the ciphertexts.
struct RemoveResult {
  size_t removed = 0;                // templates that are no longer matched
  size_t erased = 0;                 // templates whose data are gone from the blocks
  size_t leaving = 0;                // templates that remain in blocks until AskRenewal and Renew
  size_t rejected = 0;               // pending templates that were deleted
  uint64_t generation = 0;           // generation of the gallery after the change
  std::vector<std::string> persons;  // names of the removed people in receipts, 32 digits each
  // Signed receipts (kind RCPT) for erased templates, including earlier ones from a block that is
  // now empty.
  std::vector<std::vector<uint8_t>> receipts;
  // Whether the deleted data are overwritten. They are not if another process has read an older
  // generation for longer than SetWriterWait: the next change overwrites them, and until then there
  // is no receipt. A store in a database never overwrites (ErasureRemains).
  absl::Status overwritten;
};

// RenewResult: the result of a renewal.
struct RenewResult {
  size_t blocks = 0;                           // blocks that were renewed
  size_t freed = 0;                            // blocks that are empty now
  size_t moved = 0;                            // templates in a new position
  size_t erased = 0;                           // templates that were erased
  size_t leaving = 0;                          // templates that still wait for a renewal
  uint64_t generation = 0;                     // generation of the gallery after the change
  std::vector<std::vector<uint8_t>> receipts;  // signed receipts of the erasure
  absl::Status overwritten;                    // as RemoveResult::overwritten
};

// CompactResult: the result of maintenance without the key owner.
struct CompactResult {
  uint64_t mended = 0;                         // damaged blocks that were rebuilt
  uint64_t records = 0;                        // damaged records that were written again or dropped
  std::vector<DamagedBlock> damaged;           // blocks that are still damaged
  std::vector<std::vector<uint8_t>> receipts;  // signed receipts of erasure that were due
  absl::Status overwritten;                    // as RemoveResult::overwritten
  uint64_t blocks = 0;                         // blocks of the gallery
  uint64_t sparse = 0;   // blocks that a renewal would merge, or free of removed templates
  uint64_t leaving = 0;  // removed templates that wait for a renewal
};

// RestoreResult: the result of a restore.
struct RestoreResult {
  std::vector<CopiedGallery> galleries;  // the galleries after the restore
  bool older = false;                    // whether the copy was older than the replaced store
  uint64_t erased = 0;                   // templates that were removed again and erased
  uint64_t leaving = 0;                  // templates that were removed again and wait for a renewal
  uint64_t rejected = 0;                 // pending templates of an older copy, which were removed
};

// ErasureReceipt: the content of a signed receipt. OpenSigned checks its signature.
struct ErasureReceipt {
  GalleryId gallery_id{};   // id of the gallery
  uint64_t generation = 0;  // the first generation without them
  Timestamp erased = 0;     // time at which the store held nothing more of them
  // Names of the erased people, without those who have other templates in the gallery, matched or
  // waiting for a renewal.
  std::vector<std::string> persons;
  std::vector<Timestamp> removed;  // times at which each of them was no longer matched
};

// --- Answers of the key owner (heft/key_owner.h).

// Candidate: an identity with its best score over its templates.
struct Candidate {
  std::string identity;    // the identity; "#" and the position if the reply has no names
  double score = 0;        // cosine, rounded to 0.001 (kScoreStep)
  uint32_t templates = 0;  // number of templates of this identity
  // Natural logarithm of the likelihood ratio of the rounded score, to two digits. Unknown if the
  // model is not calibrated.
  std::optional<double> log_likelihood_ratio;
  // Scores that the identity may still give to this client, ever, after this one.
  uint64_t scores_left = 0;
};
inline constexpr double kScoreStep = 1e-3;

// Likelihood: how many times likelier a score is if it is one person's than if it is two people's,
// in steps of the verbal scale of ENFSI (Guideline for evaluative reporting in forensic science,
// 2015): below 100, below 10,000, and from there on. For a search it is divided by the templates
// that answered, as the best score is the best of so many.
enum class Likelihood : uint8_t { kUnsaid, kWeak, kModerate, kStrong };
// LikelihoodName: "", "weak", "moderate", "strong".
HEFT_EXPORT std::string_view LikelihoodName(Likelihood likelihood);

// Decision: the decision for a relying party, without a score.
struct Decision {
  ScoreKind kind = ScoreKind::kIdentification;  // identification or verification
  GalleryId gallery_id{};  // id of the gallery that answered; in buckets, of its shard list
  std::string probe;       // label of the probe, as the client gave it
  std::vector<std::string> modalities = {};  // modalities of the probe, as its samples say
  bool accepted = false;                     // whether the identity is accepted
  std::string identity;                      // the accepted identity; empty if there is none
  std::string claimed;        // the claimed identity of a verification, accepted or not
  std::string refusal;        // why the reply is refused, which is never accepted; empty: it is not
  ChosenThreshold threshold;  // the threshold of the decision
  // Conditions to which the search was restricted, as the server says.
  std::vector<Condition> where;
  Likelihood likelihood = Likelihood::kUnsaid;  // weak, moderate or strong, if it was requested and
                                                // the identity is accepted; otherwise empty
  std::string key_warning = {};  // a warning once half of what may be opened with the key has been
                                 // opened (SECURITY.md); empty before
};

// OpenedScores: an opened reply with its scores.
struct HEFT_EXPORT OpenedScores {
  ScoreKind kind = ScoreKind::kIdentification;  // identification or verification
  GalleryId gallery_id{};  // id of the gallery that answered; in buckets, of its shard list
  std::string probe;       // label of the probe, as the client gave it
  std::vector<std::string> modalities = {};  // modalities of the probe, as its samples say
  std::string claimed;                       // the claimed identity of a verification
  std::vector<Candidate> candidates;         // best first, at most as many as were asked for
  uint32_t withheld = 0;  // candidates that are not shown, because their scores are spent
  // Why the reply is refused: its probe's norm, or one of its scores, cannot be that of a sound
  // probe (SECURITY.md). There are no candidates then. Empty if it is not refused.
  std::string refusal;
  // Conditions to which the search was restricted, as the server says.
  std::vector<Condition> where;
  uint64_t searched = 0;  // templates that answered a search, without canaries; 0 if it is refused
  std::string key_warning = {};  // as Decision::key_warning

  // The rule of acceptance: the reply is not refused, the threshold's rate fits the question (a
  // comparison or a search), and the best candidate reaches it.
  Decision Decide(const ChosenThreshold& threshold) const;
  Decision Decide(double score) const { return Decide(ChosenThreshold{score}); }
};

// ClientId: an Ed25519 public key; zeros if the sender is unknown.
using ClientId = std::array<uint8_t, 32>;
// kUnlistedClient: stands for all unlisted clients together: those without a name and, if the
// owner's trust file lists clients, those that it does not list.
inline constexpr ClientId kUnlistedClient{};

// BudgetLimits: the limits on what may be published of a model's galleries.
// docs/security-proofs.md, "What a client learns from decisions", derives the numbers.
struct BudgetLimits {
  uint64_t scores = 0;  // scores of an identity, ever, by all clients; one client gets half of them
  // Decisions that accept an identity, at once and again within a day; one client gets half.
  uint64_t decisions = 256;
  // Bits that one client gets, at once and again within a day: a score costs 10, a decision 1, one
  // that says how likely 2. All unlisted clients together get a tenth, rounded up.
  uint64_t client_bits = 10000;
  // Rejected claims of one identity by one client. An accepted claim gives one back, and a day a
  // sixteenth of them; never more than this. Other clients are not affected.
  uint64_t rejections = 16;
};

// BudgetUse: the use of the query budget, from the journal of a key's openings.
struct BudgetUse {
  // Client: one client's part of the budget.
  struct Client {
    ClientId client{};             // public key of the client; empty: all unlisted ones
    uint64_t openings = 0;         // replies that were opened for it
    uint64_t slots = 0;            // scores that were published to it
    uint64_t bits_left = 0;        // bits that it may get now
    Timestamp full_at = 0;         // time from which it may get all its bits again
    uint64_t rejections_left = 0;  // rejections that it may have now: the fewest about any identity
  };
  // Restart: a new start of the journal by hand.
  struct Restart {
    Timestamp time = 0;  // time of the restart
    std::string reason;  // the given reason
  };
  BudgetLimits limits;           // the limits that apply
  uint64_t scores = 0;           // scores of the identity with the most, by all clients
  uint64_t decisions = 0;        // decisions that accepted the identity with the most
  uint64_t identifications = 0;  // identifications that were opened
  uint64_t verifications = 0;    // verifications that were opened
  uint64_t openings = 0;         // openings with this key, for all models
  uint64_t key_bits = 0;         // what the openings reveal of this key, at most, in bits
  uint64_t most_key_bits = 0;    // the bits at which openings end, without flooding
  uint64_t proofs = 0;           // proofs of enrolments' norms that were opened with this key
  uint64_t most_proofs = 0;      // the proofs at which approvals end; 0: no end, without flooding
  uint64_t identities = 0;       // identities with something published
  GalleryId gallery_id{};        // id of the key's gallery, the first that it saw; empty: none yet
  double reconstruction_cosine = 0;  // cosine with which `scores` of the limits reveal a template,
                                     // at least; in [0, 1]
  std::vector<Client> clients;       // what was published to each client
  std::vector<Restart> restarts;     // new starts of the journal by hand
  uint64_t restart_count = 0;        // new starts; more than the listed ones if a journal was lost
  uint64_t entries = 0;              // entries of the journal, ever
  Timestamp last_entry = 0;          // time of the last entry
  // Id of the key that has replaced this one, which is revoked then.
  std::optional<KeyId> successor;
};

// AdmissionInquiry: a server's request for admission, before anything is decided.
struct AdmissionInquiry {
  // Person: a person in a pending enrolment.
  struct Person {
    std::string identity;  // the identity
    bool known = false;    // whether the gallery has this identity already
    uint64_t others = 0;   // its templates in other pending enrolments
  };
  // Enrolment: templates that came together and are decided together. If one is chosen, all others
  // that are not chosen too are rejected.
  struct Enrolment {
    Digest entry{};              // id of the enrolment, in this request and later ones
    std::vector<Person> people;  // the people of the templates
    bool authorised = false;  // whether a registrar's authorisation came with it; Approve checks it
    std::string client = {};  // the client that sent it: its name in the trust file, or its key;
                              // empty if not signed
  };
  GalleryId gallery_id{};             // id of the gallery
  uint64_t generation = 0;            // generation of the gallery
  std::vector<Enrolment> enrolments;  // the pending enrolments
  uint64_t more = 0;                  // pending enrolments that are not in this request
};

// Rejection: why a template is not approved.
enum class Rejection : uint8_t {
  kNone,           // it is approved
  kPolicy,         // ApprovalPolicy names it, or does not choose it
  kEnrolled,       // the identity is enrolled already, and there is no authorisation
  kNotAuthorised,  // the same, and the authorisation is not valid
  kMisplaced,      // the identity belongs into another bucket
  kUnsound,        // the template's length, or the proof of it
};
// RejectionName: "", "REJECTED", "ENROLLED", "NOT_AUTHORISED", "MISPLACED", "UNSOUND".
HEFT_EXPORT std::string_view RejectionName(Rejection rejection);

// Admissions: the key owner's answer to a request. DescribeAdmissions (heft/openings.h) prints it.
struct Admissions {
  // Verdict: the result for one pending template.
  struct Verdict {
    std::string identity;                    // the identity of the template
    bool approved = false;                   // whether it is approved
    Rejection rejection = Rejection::kNone;  // REJECTED, ENROLLED, NOT_AUTHORISED, MISPLACED or
                                             // UNSOUND; empty if it is approved
    std::string reason;  // why it is rejected, with what was measured of this template
  };
  // Group: all templates that are rejected for one cause.
  struct Group {
    Rejection rejection = Rejection::kNone;  // as Verdict::rejection
    std::string cause;                       // the cause, with the range of the measured values
    std::string remedy;                      // how to solve the problem, in sentences; may be empty
    std::vector<std::string> identities;     // identities, one per template
  };
  // Claim: a pending enrolment of a new identity.
  struct Claim {
    Digest entry{};      // id of the enrolment, for KeyOwner::Approve
    std::string client;  // the client that sent it, as AdmissionInquiry::Enrolment::client
  };
  // Contested: a new identity that several pending enrolments have. They wait, because only a
  // choice (ApprovalPolicy::entries, reject_entries) tells which of them is the person's.
  struct Contested {
    std::string identity;       // the identity
    std::vector<Claim> claims;  // the enrolments in this request
    uint64_t elsewhere = 0;  // templates of the identity in pending enrolments beyond the request
  };
  std::vector<Verdict> verdicts;     // the results, in the order of the request
  std::vector<Contested> contested;  // contested identities, in alphabetical order
  std::vector<Group> groups;         // the rejections by cause, the largest group first
  // For Server::Activate, valid for seven days (kAdmissionLife).
  std::vector<uint8_t> signed_admission;
};

// RenewedBlocks: the result of a renewal by the key owner.
struct RenewedBlocks {
  uint64_t blocks = 0;                  // blocks that were encrypted again
  uint64_t templates = 0;               // templates in the new blocks
  std::vector<uint8_t> signed_renewal;  // for the server that asked, valid for seven days
};

// --- Other results as JSON and in words. Link heft::server.

// WhereJson: an array of texts in the form of ParseCondition.
HEFT_EXPORT Json WhereJson(std::span<const Condition> where);
// AddWhereTo: adds that array as member "where", unless it is empty. RestrictionText: ", of those
// with site=berlin, age=18..30", or nothing.
HEFT_EXPORT void AddWhereTo(Json* json, std::span<const Condition> where);
HEFT_EXPORT std::string RestrictionText(std::span<const Condition> where);
// UtcText: "2027-01-31T12:30:00Z". UtcJson: the same as a value; null for 0.
HEFT_EXPORT std::string UtcText(Timestamp time);
HEFT_EXPORT Json UtcJson(Timestamp time);
// ModelJson: a model without its coefficients; "sample_agreement" only if it has one. Null values:
// "calibration" of a table without one, "parameters" and "security" of an unknown profile. Errors
// of Json::Parse for the training summary.
HEFT_EXPORT absl::StatusOr<Json> ModelJson(const Model& model);
HEFT_EXPORT Json PlanJson(const PlanInfo& plan);

// DescribeSigned: the statement of a signed file. `believed`: whether a trust file was used.
HEFT_EXPORT Described DescribeSigned(const SignedFile& file, bool believed);

}  // namespace heft

#endif  // HEFT_RESULTS_H_
