// SPDX-License-Identifier: Apache-2.0
// The key owner answers: it opens replies and decides, admits, renews, and keeps its budget.
#include <deque>

#include "heft/key_owner.h"
#include "heft/shards.h"
#include "python/owner.h"

namespace heft::python {
namespace {

using Class = OwnerClass;

DecisionRule RuleOf(std::optional<double> score, std::optional<double> fmr,
                    std::optional<double> fpir, bool likelihood, bool others) {
  return {score, fmr, fpir, likelihood, others};
}

// Replies: one or, with a shard list, those of all buckets; bytes, or paths.
class Given {
 public:
  Given(const py::object& given, const std::optional<ShardList>& shards) {
    if (!shards) {
      sources_.emplace_back(given, "reply", kMaxReplySize);
    } else {
      const bool one = py::isinstance<py::str>(given) || PyObject_CheckBuffer(given.ptr()) != 0;
      if (one) Wrong("shards: give the replies of all buckets, in a list");
      for (const py::handle reply : py::iter(given)) {
        sources_.emplace_back(reply, "reply " + std::to_string(sources_.size()), kMaxReplySize);
      }
    }
    for (const Source& source : sources_) files_.push_back({source.bytes(), source.what()});
  }
  Replies Of(const std::optional<ShardList>& shards) const {
    return {files_, shards ? &*shards : nullptr};
  }

 private:
  std::deque<Source> sources_;
  std::vector<ReplyFile> files_;
};

// FloodingOf: noise for so many bits against so many openings; 0 bits: none.
std::optional<Flooding> FloodingOf(int bits, uint32_t openings) {
  if (bits == 0) return std::nullopt;
  return Flooding{bits, openings};
}

// EntriesOf: WaitingEnrolment.entry, one or several.
std::vector<Digest> EntriesOf(const py::object& entries) {
  std::vector<Digest> out;
  for (const std::string& text : LabelsOf(entries)) {
    const auto digest = ParseSignerKey(text);  // of the same form
    if (!digest.ok()) Wrong("an entry is 64 hexadecimal digits, as WaitingEnrolment.entry");
    out.push_back(*digest);
  }
  return out;
}

void DefineRequired(Class& c) {
  Method(
      c, "require_signed",
      [](const OwnerHandle& self, const Trust& trust) {
        Write(self, [&](KeyOwner& owner) { return owner.RequireSigned(trust); });
      },
      "From here on replies are taken only if a server that trust lists has signed them for this\n"
      "owner, in time, of a gallery that it pins if it pins any.",
      py::arg("trust"));
  Method(
      c, "require_signed_gallery",
      [](const OwnerHandle& self) {
        Write(self, [](KeyOwner& owner) {
          owner.RequireSignedGallery();
          return absl::OkStatus();
        });
      },
      "From here on replies are taken only of the state of a gallery that admit has signed last;\n"
      "those of an older one, and of another root for the same generation, never are.");
}

void DefineOpen(Class& c) {
  Method(
      c, "open",
      [](const OwnerHandle& self, const py::object& reply, uint32_t publish, int security_bits,
         uint32_t openings, const std::optional<ShardList>& shards) {
        const Given replies(reply, shards);
        const auto flooding = FloodingOf(security_bits, openings);
        return Read(self, [&](const KeyOwner& owner) {
          return owner.Open(replies.Of(shards), flooding, publish);
        });
      },
      "Publishes scores of a matcher's reply, once: the best publish candidates, rounded. Scores\n"
      "give templates away, and an identity has few of them, ever (scores_left, budget); decide\n"
      "does without. security_bits: noise added for so many bits, 30 at least, against who sees so "
      "many\n"
      "openings; 0: none.\n"
      "shards: of a gallery in buckets, then reply is a list of their signed replies, of all of\n"
      "them, in any order: one search, charged once; FailedPrecondition for less than the whole.\n"
      "BudgetSpent; FailedPrecondition for a reply that was opened before, of another key or "
      "model;\n"
      "DataLoss, Unavailable.",
      py::arg("reply"), py::kw_only(), py::arg("publish") = kPublishedCandidates,
      py::arg("security_bits") = 0, py::arg("openings") = Flooding{}.openings,
      py::arg("shards") = py::none());
}

void DefineDecide(Class& c) {
  Method(
      c, "decide",
      [](const OwnerHandle& self, const py::object& reply, std::optional<double> score,
         std::optional<double> fmr, std::optional<double> fpir, bool likelihood, bool others,
         int security_bits, uint32_t openings, const std::optional<ShardList>& shards) {
        const Given replies(reply, shards);
        const auto flooding = FloodingOf(security_bits, openings);
        const DecisionRule rule = RuleOf(score, fmr, fpir, likelihood, others);
        return Read(self, [&](const KeyOwner& owner) {
          return owner.Decide(replies.Of(shards), rule, flooding);
        });
      },
      "What a matcher's reply, once, decides: of which gallery, of whom, at which rate, and no\n"
      "score. A score to reach, or rates, of which that is taken which is of what "
      "was\n"
      "asked: fmr of a verification, fpir of an identification. likelihood: also how likely, "
      "charged\n"
      "as two decisions. others: whom the probe's label names is no candidate. security_bits,\n"
      "openings, shards: as open's. Errors as open's; OutOfRange, InvalidArgument.",
      py::arg("reply"), py::kw_only(), py::arg("score") = py::none(), py::arg("fmr") = py::none(),
      py::arg("fpir") = py::none(), py::arg("likelihood") = false, py::arg("others") = false,
      py::arg("security_bits") = 0, py::arg("openings") = Flooding{}.openings,
      py::arg("shards") = py::none());
  Method(
      c, "threshold_for",
      [](const OwnerHandle& self, const py::object& reply, std::optional<double> score,
         std::optional<double> fmr, std::optional<double> fpir, bool others,
         const std::optional<ShardList>& shards) {
        const Given replies(reply, shards);
        const DecisionRule rule = RuleOf(score, fmr, fpir, false, others);
        return Read(self, [&](const KeyOwner& owner) {
          return owner.ThresholdFor(replies.Of(shards), rule);
        });
      },
      "What such a rule means for this reply. Opens nothing, charges nothing.", py::arg("reply"),
      py::kw_only(), py::arg("score") = py::none(), py::arg("fmr") = py::none(),
      py::arg("fpir") = py::none(), py::arg("others") = false, py::arg("shards") = py::none());
}

void DefineRequests(Class& c) {
  Method(
      c, "admit",
      [](const OwnerHandle& self, const py::object& request, const py::object& only,
         const py::object& reject, bool new_identities_only, bool put_back,
         const py::object& entries, const py::object& reject_entries,
         const std::optional<ShardList>& shards) {
        const Source source(request, "request");
        AdmissionPolicy policy;
        policy.shards = shards;
        policy.only = LabelsOf(only), policy.reject = LabelsOf(reject);
        policy.new_identities_only = new_identities_only, policy.put_back = put_back;
        policy.entries = EntriesOf(entries), policy.reject_entries = EntriesOf(reject_entries);
        return Read(self, [&](const KeyOwner& owner) {
          return owner.Admit(source.bytes(), source.what(), policy);
        });
      },
      "Matcher.pending's bytes: opens the proofs of the norms of all templates that wait, and "
      "admits\n"
      "the sound ones. only, reject: identities; entries, reject_entries: those of an inquiry. "
      "put_back: the gallery came back from a copy. shards: it is a bucket of these, and who\n"
      "belongs into another is rejected. Not\n"
      "charged. FailedPrecondition, DataLoss.",
      py::arg("request"), py::kw_only(), py::arg("only") = py::none(),
      py::arg("reject") = py::none(), py::arg("new_identities_only") = false,
      py::arg("put_back") = false, py::arg("entries") = py::none(),
      py::arg("reject_entries") = py::none(), py::arg("shards") = py::none());
  Method(
      c, "inquiry",
      [](const OwnerHandle& self, const py::object& request) {
        const Source source(request, "request");
        return Read(self, [&](const KeyOwner& owner) {
          return owner.ReadInquiry(source.bytes(), source.what());
        });
      },
      "Who waits, in such a request. Opens nothing, signs nothing.", py::arg("request"));
  Method(
      c, "renew",
      [](const OwnerHandle& self, const py::object& request) {
        const Source source(request, "request");
        return Read(self, [&](const KeyOwner& owner) {
          return owner.Renew(source.bytes(), source.what());
        });
      },
      "Gallery.ask_renewal's bytes: makes blocks anew, without those who were removed; sees pads\n"
      "alone.",
      py::arg("request"));
}

}  // namespace

void DefineAnswers(OwnerClass& c) {
  DefineRequired(c);
  DefineOpen(c);
  DefineDecide(c);
  DefineRequests(c);
}

void DefineBudget(OwnerClass& c) {
  Method(
      c, "budget",
      [](const OwnerHandle& self) {
        return Read(self, [](const KeyOwner& owner) { return owner.Budget(); });
      },
      "What has been published under this key.");
  Method(
      c, "set_budget",
      [](const OwnerHandle& self, std::optional<uint64_t> scores, std::optional<uint64_t> decisions,
         std::optional<uint64_t> bits, std::optional<uint64_t> rejections) {
        Write(self, [&](KeyOwner& owner) -> absl::Status {
          const auto use = owner.Budget();
          if (!use.ok()) return use.status();
          return owner.SetBudget({scores.value_or(use->limits.scores),
                                  decisions.value_or(use->limits.decisions),
                                  bits.value_or(use->limits.client_bits),
                                  rejections.value_or(use->limits.rejections)});
        });
      },
      "Raises or lowers limits, recorded; None leaves one as it is.", py::kw_only(),
      py::arg("scores") = py::none(), py::arg("decisions") = py::none(),
      py::arg("client_bits") = py::none(), py::arg("rejections") = py::none());
  Method(
      c, "restart_journal",
      [](const OwnerHandle& self, const std::string& reason) {
        Write(self, [&](KeyOwner& owner) { return owner.RestartJournal(reason); });
      },
      "Begins the journal of openings anew, for a reason that it records.", py::arg("reason"));
  c.def_property_readonly(
      "journal_file", [](const OwnerHandle& self) { return self.Get()->owner.journal_file(); },
      "Where openings are recorded; empty: in memory.");
}

}  // namespace heft::python
