// SPDX-License-Identifier: Apache-2.0
// QueryLedger: the openings under a key, and the limits of further ones. It is a pure function of
// the entries of the key's journal (owner/query_journal.h): Check says whether an entry may
// be added, Apply adds it.
//
// Four things are limited (heft/key_owner.h has the numbers, docs/security-proofs.md derives them):
// - scores of an identity, for good: what they tell of a template is never taken back;
// - decisions that accept an identity, in a bucket that fills up again within a day; of these and
// of
//   scores one client gets half, so that no client can use up another's alone;
// - rejections of one client's claims of an identity, in a bucket of the two. A claim takes one
//   before it is opened. If it is accepted that one comes back, and one more;
// - what one client is told, in a bucket of its own.
// So a client's rejections limit that client alone, and only an acceptance is charged to a person.
#ifndef HEFT_OWNER_QUERY_LEDGER_H_
#define HEFT_OWNER_QUERY_LEDGER_H_

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "heft/key_owner.h"
#include "heft/model.h"

namespace heft {

// IdentityTag: an identity's name under a secret key of the journal, so that names cannot be looked
// up in it. ReplyTag: the first bytes of a reply's hash.
using IdentityTag = std::array<uint8_t, 16>;
using ReplyTag = std::array<uint8_t, 16>;

// SignedState: the latest state of a gallery that the key owner has signed.
struct SignedState {
  GalleryId gallery{};
  uint64_t generation = 0;
  Digest root{};  // gallery/merkle.h
};

// Entry: one line of the journal.
struct Entry {
  enum class Act : uint8_t {
    kStart = 1,       // of a key: `text` says how it came to be, `state` what it brings along
    kRestart = 2,     // by hand, `text` being the reason, `state` what could still be read
    kCheckpoint = 3,  // `state` is the sum of all before
    kOpening = 4,     // of a reply, before it is decrypted; `identities`: who is claimed, each once
    kPublished = 5,  // before the answer is out: of `identities` a score, or that they are accepted
    kLimits = 6,     // of a model, from here on
    kRevocation = 7,  // `successor` has taken this key's place
    kState = 8,       // of a gallery, signed: `signed_state`
    kPart = 9,        // a further reply of the opening before, without further charge
    kGallery = 10,    // the key's own, from here on: `gallery`
    kGiven = 11,      // of a shared key: as kOpening, of this owner's part, which others combine
    kProofs = 12,     // of norms of enrolments, before they are opened: `proofs`
  };
  uint64_t sequence = 0;
  uint64_t time = 0;  // Unix seconds, by the clock as it was
  // Random, so that a journal that was put back and goes on has other entries than the true one.
  std::array<uint8_t, 16> nonce{};
  Act act = Act::kOpening;
  ClientId client{};
  ModelId model{};
  bool verification = false;
  bool decision = false;  // and no score
  bool claimed = false;   // of kPublished: kOpening has taken a rejection for the identity
  uint32_t slots = 0;     // that may be published
  ReplyTag reply{};
  std::vector<IdentityTag> identities;
  BudgetLimits limits;
  uint64_t measured = 0;  // of kLimits alone: scores that training allowed when they were set
  KeyId successor{};
  std::string text;
  std::vector<uint8_t> state;  // QueryLedger::Serialize
  SignedState signed_state;    // of kState alone
  GalleryId gallery{};         // of kGallery alone
  uint64_t told = 0;           // of kOpening alone: of the key, in units
  uint64_t proofs = 0;         // of kProofs alone

  std::vector<uint8_t> Serialize() const;
  static absl::StatusOr<Entry> Parse(ByteSpan bytes, std::string_view what);
};

// Bucket: tokens that come back, as many in `kDays` days as it holds.
template <uint64_t kDays>
struct RefillingBucket {
  uint64_t spent = 0;  // thousandths, at `time`
  uint64_t time = 0;

  // Spent: thousandths at `now`, rounded up; as at `time` where `now` is before it.
  uint64_t Spent(uint64_t now, uint64_t size) const;
  void Take(uint64_t now, uint64_t size, uint64_t tokens);
  // Give: back, of those that were taken.
  void Give(uint64_t tokens);
  // ReadyAt: from when on `tokens` are there, at least `now`; nothing where they never are.
  std::optional<uint64_t> ReadyAt(uint64_t now, uint64_t size, uint64_t tokens) const;
};
// kRejectionDays: in which a client's rejections about an identity all come back.
inline constexpr uint64_t kRejectionDays = 16;
using Bucket = RefillingBucket<1>;
using RejectionBucket = RefillingBucket<kRejectionDays>;

// Reckoning: the time by which buckets fill. It follows the clock and never goes back, but an entry
// moves it on by a day at most, after which every bucket is full: what the clock went further is
// skipped, and forgotten again when the clock is before that. So a clock that was wrong by years
// for one entry fills buckets once, and then stops them for a day at most; and whatever the clock
// does, no more is filled than by the farthest that it ever said.
struct Reckoning {
  struct Skip {
    uint64_t clock = 0, seconds = 0;  // what the clock said when they were skipped
    bool operator==(const Skip&) const = default;
  };
  static constexpr size_t kMaxSkips = 64;

  uint64_t time = 0;        // begins as the first entry's
  std::vector<Skip> skips;  // rising; of more, the oldest are put together

  // At: at the next entry, by whose clock it is `clock`.
  Reckoning At(uint64_t clock) const;
  bool operator==(const Reckoning&) const = default;
};

class QueryLedger {
 public:
  // Use: of an identity, by all clients or by one of them.
  struct Use {
    uint64_t scores = 0, decisions = 0;  // published so far; decisions that accepted
    Bucket bucket;                       // of decisions
  };
  struct ShareUse : Use {
    RejectionBucket rejections;
  };
  struct ClientUse {
    uint64_t openings = 0, slots = 0;  // slots: that were published
    Bucket bucket;                     // of bits
  };
  struct ModelUse {
    std::optional<BudgetLimits> limits;
    uint64_t measured = 0;  // scores that training allowed when `limits` were set
    uint64_t identifications = 0, verifications = 0;
    std::map<IdentityTag, Use> identities;
    std::map<std::pair<IdentityTag, ClientId>, ShareUse> shares;
    std::map<ClientId, ClientUse> clients;

    // LimitsFor: those in force. `defaults`: of the model file in use, with the scores that its
    // training allows. If these are fewer than when `limits` were set, the smaller number holds.
    BudgetLimits LimitsFor(const BudgetLimits& defaults) const;
  };
  struct Restart {
    uint64_t time = 0;
    std::string reason;
  };

  // Check: kFailedPrecondition if the key is revoked or the reply was opened before,
  // kResourceExhausted if a budget is spent, saying from when on it is not. `who` names the
  // identity in errors; empty: it is not to be named.
  absl::Status Check(const Entry& entry, std::string_view who) const;
  // CheckIdentity: whether one more may be published of it: a score, or that it is accepted.
  // CheckClaim: the same of a claim, and of a decision whether it may be rejected.
  absl::Status CheckIdentity(const Entry& entry, const IdentityTag& identity,
                             std::string_view who) const;
  absl::Status CheckClaim(const Entry& entry, const IdentityTag& identity,
                          std::string_view who) const;
  absl::Status CheckGivenClaim(const Entry& entry, const IdentityTag& identity,
                               std::string_view who) const;
  // ScoresLeft: that it may still give to the client, ever.
  uint64_t ScoresLeft(const ModelId& model, const ClientId& client,
                      const IdentityTag& identity) const;
  absl::Status CheckInUse() const;
  // Openings: of replies under this key. CheckOpenings: whether one more makes no more than `most`;
  // 0: any number.
  uint64_t Openings() const;
  absl::Status CheckOpenings(uint64_t most) const;
  // ForSuccessor: what the key counts that takes this one's place.
  QueryLedger ForSuccessor() const;
  // CheckTold: whether `units` more of the key are no more than `most`; 0: any number.
  absl::Status CheckTold(uint64_t units, uint64_t most) const;
  // CheckProofs: whether `count` more proofs of norms are no more than `most`; 0: any number.
  absl::Status CheckProofs(uint64_t count, uint64_t most) const;
  // CheckState: kFailedPrecondition for an older generation of a gallery than was signed, for
  // another root of the same and, if `strict`, for any that is not signed.
  absl::Status CheckState(const SignedState& state, bool strict) const;
  // CheckGallery: kFailedPrecondition for another one than the key's own.
  absl::Status CheckGallery(const GalleryId& asked) const;
  // Apply adds what Check has allowed, or what stands in a journal. kDataLoss for a state that
  // cannot be read.
  absl::Status Apply(const Entry& entry, std::string_view what);

  std::vector<uint8_t> Serialize() const;
  static absl::StatusOr<QueryLedger> Parse(ByteSpan bytes, std::string_view what);

  std::map<ModelId, ModelUse> models;
  std::vector<std::pair<ReplyTag, uint64_t>> replies;  // opened when, oldest first
  std::vector<Restart> restarts;                       // oldest first
  std::map<GalleryId, SignedState> states;
  KeyId successor{};       // zeros: the key is in use
  uint64_t passed_on = 0;  // of the openings that `models` count: those under other keys before
  uint64_t time = 0;       // of the last entry
  Reckoning reckoning;     // at it
  GalleryId gallery{};     // the key's own: the first that it saw; zeros: none yet
  uint64_t told = 0;       // of this key, in units of 1/kKeyUnits bit
  uint64_t proofs = 0;     // of norms that were opened under this key

 private:
  absl::Status CheckClient(const ModelUse& use, const Entry& entry) const;
  void Publish(ModelUse* use, const Entry& entry);
  void Remember(const ReplyTag& reply, uint64_t when);
  void Index();

  std::map<ReplyTag, uint64_t> opened_;
};

// kMaxReplies: the opened replies that the journal remembers; beyond them it forgets the oldest
// (opening one of those again is charged like any other).
inline constexpr size_t kMaxReplies = 1 << 17;

// Bits: what a published slot tells at most. A score of a template of 32 dimensions has a standard
// deviation of 0.18 against a stranger's probe, in steps of 0.001: 9.5 bits.
inline constexpr uint64_t kScoreBits = 10, kDecisionBits = 1;
// kKeyUnits: parts of a bit of the secret key, in which what openings tell of it is counted.
inline constexpr uint64_t kKeyUnits = 128;
// kMilli: parts of a bit in which buckets count.
inline constexpr uint64_t kMilli = 1000;
// kGradedSlots: bits that a decision which says how likely is charged as: it is one of four
// answers.
inline constexpr uint32_t kGradedSlots = 2;

// Share: of what an identity may give, what one client may get: half, rounded up.
inline constexpr uint64_t Share(uint64_t limit) { return limit / 2 + limit % 2; }

// ClientBits: that this client may be told: of those who are not listed, all together a tenth.
inline constexpr uint64_t ClientBits(const BudgetLimits& limits, const ClientId& client) {
  return client == kUnlistedClient ? limits.client_bits / 10 + (limits.client_bits % 10 > 0)
                                   : limits.client_bits;
}

}  // namespace heft

#endif  // HEFT_OWNER_QUERY_LEDGER_H_
