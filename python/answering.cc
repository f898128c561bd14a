// SPDX-License-Identifier: Apache-2.0
// The key owner answers: it opens replies and decides, approves, renews, and keeps its budget.
#include "python/answering.h"

#include "heft/key_owner.h"
#include "heft/shards.h"
#include "python/owner.h"

namespace heft::python {
namespace {

// OneOrAll: refuses one reply with a shard list, and several without.
const py::object& OneOrAll(const py::object& reply, bool in_buckets) {
  if (in_buckets && IsSource(reply)) Wrong("shards: give a list with the replies of all buckets");
  if (!in_buckets && !IsSource(reply)) {
    throw py::type_error("reply: give bytes or the path of a file");
  }
  return reply;
}

void DefineRequired(OwnerClass& c) {
  Method(
      c, "require_signed",
      [](const OwnerHandle& self, const Trust& trust) {
        Write(self, [&](KeyOwner& owner) { return owner.RequireSigned(trust); });
      },
      "From here on a reply is accepted only if a server that trust lists has signed it for\n"
      "this key owner, if it is in time, and if it is of a gallery that trust pins (when trust\n"
      "pins galleries).",
      py::arg("trust"));
  Method(
      c, "require_signed_gallery",
      [](const OwnerHandle& self) {
        Write(self, [](KeyOwner& owner) {
          owner.RequireSignedGallery();
          return absl::OkStatus();
        });
      },
      "From here on a reply is accepted only if it is of the state of a gallery that approve\n"
      "signed last. Replies of an older state, or of another root for the same generation, are\n"
      "refused in any case.");
}

void DefineOpen(OwnerClass& c) {
  Method(
      c, "open",
      [](const OwnerHandle& self, const py::object& reply, uint32_t publish, int security_bits,
         uint32_t openings, const std::optional<ShardList>& shards, const py::object& parts) {
        const GivenReplies replies(reply, shards, parts);
        const auto flooding = FloodingOf(security_bits, openings);
        return Read(self, [&](const KeyOwner& owner) {
          return owner.Open(replies.Get(), flooding, publish);
        });
      },
      "Publishes the best scores of a matcher's reply, rounded, at most publish of them. A\n"
      "reply can be opened once.\n\n"
      "Scores give templates away, and an identity has few of them, ever (scores_left, budget);\n"
      "decide publishes none. security_bits: statistical security of the noise that is added,\n"
      "30 at least, or 0 for no noise; openings: number of openings that it is computed for.\n"
      "shards: the list of a gallery in buckets; reply is then a list with the signed replies\n"
      "of all buckets, in any order. That is one search and is charged once. parts: of a shared\n"
      "key, the parts of the other owners (open_part).\n\n"
      "BudgetSpent; FailedPrecondition for a reply that was opened before, one of another key\n"
      "or model, or missing buckets; DataLoss, Unavailable.",
      py::arg("reply"), py::kw_only(), py::arg("publish") = kPublishedCandidates,
      py::arg("security_bits") = 0, py::arg("openings") = Flooding{}.openings,
      py::arg("shards") = py::none(), py::arg("parts") = py::none());
}

void DefineDecide(OwnerClass& c) {
  Method(
      c, "decide",
      [](const OwnerHandle& self, const py::object& reply, std::optional<double> score,
         std::optional<double> fmr, std::optional<double> fpir, bool likelihood, bool others,
         int security_bits, uint32_t openings, const std::optional<ShardList>& shards,
         const py::object& parts) {
        const GivenReplies replies(reply, shards, parts);
        const auto flooding = FloodingOf(security_bits, openings);
        const DecisionRule rule = {score, fmr, fpir, likelihood, others};
        return Read(self, [&](const KeyOwner& owner) {
          return owner.Decide(replies.Get(), rule, flooding);
        });
      },
      "Decides on a matcher's reply, once, and publishes no score. Give a score, or rates: a\n"
      "verification uses fmr, an identification uses fpir.\n\n"
      "likelihood: tell also how likely the match is, which is charged as two decisions.\n"
      "others: the identity that the probe's label names is not a candidate. security_bits,\n"
      "openings, shards: as for open; parts: made by decide_part. Errors as open's; OutOfRange,\n"
      "InvalidArgument.",
      py::arg("reply"), py::kw_only(), py::arg("score") = py::none(), py::arg("fmr") = py::none(),
      py::arg("fpir") = py::none(), py::arg("likelihood") = false, py::arg("others") = false,
      py::arg("security_bits") = 0, py::arg("openings") = Flooding{}.openings,
      py::arg("shards") = py::none(), py::arg("parts") = py::none());
  Method(
      c, "threshold_for",
      [](const OwnerHandle& self, const py::object& reply, std::optional<double> score,
         std::optional<double> fmr, std::optional<double> fpir, bool others,
         const std::optional<ShardList>& shards) {
        const GivenReplies replies(reply, shards);
        const DecisionRule rule = {score, fmr, fpir, /*likelihood=*/false, others};
        return Read(self,
                    [&](const KeyOwner& owner) { return owner.ThresholdFor(replies.Get(), rule); });
      },
      "The threshold of this rule for this reply. Opens nothing and charges nothing.",
      py::arg("reply"), py::kw_only(), py::arg("score") = py::none(), py::arg("fmr") = py::none(),
      py::arg("fpir") = py::none(), py::arg("others") = false, py::arg("shards") = py::none());
}

void DefineRequests(OwnerClass& c) {
  Method(
      c, "approve",
      [](const OwnerHandle& self, const py::object& request, const py::object& only,
         const py::object& reject, bool new_identities_only, bool put_back,
         const py::object& entries, const py::object& reject_entries, const py::object& hold,
         const std::optional<ShardList>& shards, const py::object& parts) {
        const Source source(request, "request");
        const ReplyFiles given(parts, "part");
        const ApprovalPolicy policy = PolicyOf(only, reject, new_identities_only, put_back, entries,
                                               reject_entries, hold, shards);
        return Read(self, [&](const KeyOwner& owner) {
          return owner.Approve(source.bytes(), source.what(), policy, given.files());
        });
      },
      "Answers the request of Matcher.pending: checks the norms of all pending templates and\n"
      "approves the sound ones.\n\n"
      "only, reject: identities. entries, reject_entries, hold: entries of an inquiry. A new\n"
      "identity of several enrolments waits until one of them is chosen (contested). put_back: "
      "the\n"
      "gallery was restored from a copy. shards: the gallery is a bucket of this list, and\n"
      "people who belong to another bucket are rejected. parts: of a shared key, the parts of the\n"
      "other owners (approve_part). Nothing is charged. FailedPrecondition, DataLoss.",
      py::arg("request"), py::kw_only(), py::arg("only") = py::none(),
      py::arg("reject") = py::none(), py::arg("new_identities_only") = false,
      py::arg("put_back") = false, py::arg("entries") = py::none(),
      py::arg("reject_entries") = py::none(), py::arg("hold") = py::none(),
      py::arg("shards") = py::none(), py::arg("parts") = py::none());
  Method(
      c, "inquiry",
      [](const OwnerHandle& self, const py::object& request) {
        const Source source(request, "request");
        return Read(self, [&](const KeyOwner& owner) {
          return owner.ReadInquiry(source.bytes(), source.what());
        });
      },
      "The pending people of such a request. Opens nothing and signs nothing.", py::arg("request"));
  Method(
      c, "renew",
      [](const OwnerHandle& self, const py::object& request, const py::object& parts) {
        const Source source(request, "request");
        const ReplyFiles given(parts, "part");
        return Read(self, [&](const KeyOwner& owner) {
          return owner.Renew(source.bytes(), source.what(), given.files());
        });
      },
      "Answers the request of Gallery.ask_renewal: rebuilds blocks without the removed\n"
      "templates. The key owner sees only values that are masked by random pads. parts: of a\n"
      "shared key, the parts of the other owners (renew_part).",
      py::arg("request"), py::kw_only(), py::arg("parts") = py::none());
}

}  // namespace

ReplyFiles::ReplyFiles(const py::object& given, const std::string& what) {
  if (given.is_none()) return;
  if (IsSource(given)) {
    sources_.emplace_back(given, what, kMaxReplySize);
  } else {
    for (const py::handle one : py::iter(given)) {
      sources_.emplace_back(one, what + " " + std::to_string(sources_.size()), kMaxReplySize);
    }
  }
  for (const Source& source : sources_) files_.push_back({source.bytes(), source.what()});
}

GivenReplies::GivenReplies(const py::object& reply, const std::optional<ShardList>& shards,
                           const py::object& parts)
    : shards_(shards ? &*shards : nullptr),
      replies_(OneOrAll(reply, shards.has_value()), "reply"),
      parts_(parts, "part") {}

std::optional<Flooding> FloodingOf(int bits, uint32_t openings) {
  if (bits == 0) return std::nullopt;
  return Flooding{bits, openings};
}

ApprovalPolicy PolicyOf(const py::object& only, const py::object& reject, bool new_identities_only,
                        bool put_back, const py::object& entries, const py::object& reject_entries,
                        const py::object& hold, const std::optional<ShardList>& shards) {
  return {.only = LabelsOf(only),
          .reject = LabelsOf(reject),
          .new_identities_only = new_identities_only,
          .put_back = put_back,
          .entries = EntriesOf(entries),
          .reject_entries = EntriesOf(reject_entries),
          .hold = EntriesOf(hold),
          .shards = shards};
}

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
      "The use of the query budget: what was published under this key.");
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
      "Raises or lowers limits; the journal records it. None leaves a limit unchanged.",
      py::kw_only(), py::arg("scores") = py::none(), py::arg("decisions") = py::none(),
      py::arg("client_bits") = py::none(), py::arg("rejections") = py::none());
  Method(
      c, "restart_journal",
      [](const OwnerHandle& self, const std::string& reason) {
        Write(self, [&](KeyOwner& owner) { return owner.RestartJournal(reason); });
      },
      "Starts a new journal of openings, and records the reason in it.", py::arg("reason"));
  c.def_property_readonly(
      "journal_file", [](const OwnerHandle& self) { return self.Get()->owner.journal_file(); },
      "The path of the journal of openings; empty if it is in memory only.");
}

}  // namespace heft::python
