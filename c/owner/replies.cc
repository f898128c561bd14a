// SPDX-License-Identifier: Apache-2.0
// The key owner: opening of replies, decisions, and the remaining budget.
#include "absl/strings/str_cat.h"
#include "c/owner/parts.h"
#include "c/result.h"
#include "heft/openings.h"
#include "heft/results.h"

namespace heft::c {
namespace {

// FloodingReader: reads "security_bits" and "openings"; nullopt for 0 bits.
struct FloodingReader {
  Flooding flooding = {.security_bits = 0};

  void Read(OptionReader& read) {
    read.Integer("security_bits", &flooding.security_bits);
    read.Integer("openings", &flooding.openings);
  }
  std::optional<Flooding> Get() const {
    return flooding.security_bits == 0 ? std::nullopt : std::optional(flooding);
  }
};

void ReadRule(OptionReader& read, DecisionRule* rule) {
  read.Number("score", &rule->score).Number("fmr", &rule->fmr).Number("fpir", &rule->fpir);
  read.Flag("others", &rule->others);
}

struct OpenOptions {
  uint32_t publish = kPublishedCandidates;
  FloodingReader flooding;

  absl::Status Read(OptionReader read) {
    read.Integer("publish", &publish);
    flooding.Read(read);
    return read.Finish();
  }
};

struct DecideOptions {
  DecisionRule rule;
  FloodingReader flooding;

  absl::Status Read(OptionReader read) {
    ReadRule(read, &rule);
    read.Flag("likelihood", &rule.likelihood);
    flooding.Read(read);
    return read.Finish();
  }
};

absl::StatusOr<Json> Open(const KeyOwner& owner, const Replies& replies,
                          const heft_options* options) {
  OpenOptions read;
  HEFT_RETURN_IF_ERROR(read.Read(OptionReader(options)));
  HEFT_ASSIGN_OR_RETURN(const OpenedScores opened,
                        owner.Open(replies, read.flooding.Get(), read.publish));
  return RecordJson(opened);
}

absl::StatusOr<Json> Decide(const KeyOwner& owner, const Replies& replies,
                            const heft_options* options) {
  DecideOptions read;
  HEFT_RETURN_IF_ERROR(read.Read(OptionReader(options)));
  HEFT_ASSIGN_OR_RETURN(const Decision decision,
                        owner.Decide(replies, read.rule, read.flooding.Get()));
  return RecordJson(decision);
}

absl::StatusOr<Json> Threshold(const KeyOwner& owner, const Replies& replies,
                               const heft_options* options) {
  DecisionRule rule;
  OptionReader read(options);
  ReadRule(read, &rule);
  HEFT_RETURN_IF_ERROR(read.Finish());
  HEFT_ASSIGN_OR_RETURN(const ChosenThreshold at, owner.ThresholdFor(replies, rule));
  return RecordJson(at);
}

absl::StatusOr<std::vector<uint8_t>> OpenPart(const KeyOwner& owner, const Replies& replies,
                                              const heft_options* options) {
  OwnerSet owners;
  OpenOptions read;
  HEFT_RETURN_IF_ERROR(read.Read(OwnersAnd(options, &owners)));
  return owner.OpenPart(replies, owners, read.publish, read.flooding.Get());
}

absl::StatusOr<std::vector<uint8_t>> DecidePart(const KeyOwner& owner, const Replies& replies,
                                                const heft_options* options) {
  OwnerSet owners;
  DecideOptions read;
  HEFT_RETURN_IF_ERROR(read.Read(OwnersAnd(options, &owners)));
  return owner.OpenPart(replies, owners, read.rule, read.flooding.Get());
}

std::string TextAt(const Json& json, const char* member) {
  const Json* found = json.find(member);
  return found == nullptr ? std::string() : found->get<std::string>();
}

// ThresholdIn: a number, or the parts of the record ChosenThreshold on which a decision depends.
absl::StatusOr<ChosenThreshold> ThresholdIn(const absl::StatusOr<Json>& given) {
  const Json json = given.value_or(nullptr);  // also NaN is no JSON
  if (json.is_number()) return ChosenThreshold{json.get<double>()};
  const Json* score = json.find("score");
  if (score == nullptr || !score->is_number()) {
    return absl::InvalidArgumentError("threshold: give a number, or the record ChosenThreshold");
  }
  ChosenThreshold threshold = {score->get<double>()};
  for (const RateOf of : {RateOf::kComparisons, RateOf::kSearches}) {
    if (TextAt(json, "of") == RateOfName(of)) threshold.of = of;
  }
  return threshold;
}

// DecideScores: OpenedScores::Decide of the parts that it depends on; all others stay as they are.
absl::StatusOr<Json> DecideScores(std::string_view scores, std::string_view threshold) {
  HEFT_ASSIGN_OR_RETURN(const Json given, Json::Parse(scores));
  const absl::StatusOr<Json> at = Json::Parse(threshold);
  HEFT_ASSIGN_OR_RETURN(const ChosenThreshold chosen, ThresholdIn(at));
  const Json* candidates = given.find("candidates");
  if (candidates == nullptr || !candidates->is_array()) {
    return absl::InvalidArgumentError("scores: give the record OpenedScores");
  }
  OpenedScores opened;
  const bool verification = TextAt(given, "kind") == ScoreKindName(ScoreKind::kVerification);
  opened.kind = verification ? ScoreKind::kVerification : ScoreKind::kIdentification;
  opened.refusal = TextAt(given, "refusal");
  if (!candidates->empty()) {
    const Json& best = candidates->elements()[0];
    const Json* score = best.find("score");
    if (score == nullptr || !score->is_number()) {
      return absl::InvalidArgumentError("scores: a candidate has no score");
    }
    Candidate& first = opened.candidates.emplace_back();
    first.identity = TextAt(best, "identity");
    first.score = score->get<double>();
  }
  Json json = RecordJson(opened.Decide(chosen));
  for (const char* name :
       {"gallery_id", "probe", "modalities", "claimed", "where", "key_warning"}) {
    if (const Json* found = given.find(name)) json[name] = *found;
  }
  if (at->is_object()) json["threshold"] = *at;
  return json;
}

// Answer: of the three, which take the same arguments.
using Ask = absl::StatusOr<Json> (*)(const KeyOwner&, const Replies&, const heft_options*);
using AskPart = absl::StatusOr<std::vector<uint8_t>> (*)(const KeyOwner&, const Replies&,
                                                         const heft_options*);

heft_status Answer(Ask ask, const heft_key_owner* owner, heft_bytes reply, const char* what,
                   const heft_options* options, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", reply, "reply", what, "what", result, "result"));
    const ReplyFile file = {Span(reply), what};
    HEFT_ASSIGN_OR_RETURN(Json json, ask(owner->owner, {{&file, 1}}, options));
    *result = new heft_result(std::move(json));
    return absl::OkStatus();
  });
}

// GivenReplies: views of what a caller has given; `shards` and `parts` may be null.
struct GivenReplies {
  std::vector<ReplyFile> files, parts;
  const ShardList* shards = nullptr;

  GivenReplies(const heft_files* replies, const heft_shards* list, const heft_files* given)
      : files(ReplyFilesOf(replies)), shards(list == nullptr ? nullptr : &list->list) {
    if (given != nullptr) parts = ReplyFilesOf(given);
  }
  Replies Get() const { return {files, shards, parts}; }
};

heft_status AnswerAll(Ask ask, const heft_key_owner* owner, const heft_files* files,
                      const heft_shards* shards, const heft_files* parts,
                      const heft_options* options, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", files, "replies", result, "result"));
    if (shards != nullptr) HEFT_RETURN_IF_ERROR(Given(shards, "shards"));
    if (parts != nullptr) HEFT_RETURN_IF_ERROR(Given(parts, "parts"));
    const GivenReplies replies(files, shards, parts);
    HEFT_ASSIGN_OR_RETURN(Json json, ask(owner->owner, replies.Get(), options));
    *result = new heft_result(std::move(json));
    return absl::OkStatus();
  });
}

heft_status AnswerPart(AskPart ask, const heft_key_owner* owner, const heft_files* files,
                       const heft_shards* shards, const heft_options* options, heft_buffer** part,
                       heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", files, "replies", part, "part"));
    if (shards != nullptr) HEFT_RETURN_IF_ERROR(Given(shards, "shards"));
    const GivenReplies replies(files, shards, nullptr);
    HEFT_ASSIGN_OR_RETURN(std::vector<uint8_t> bytes, ask(owner->owner, replies.Get(), options));
    *part = new heft_buffer(std::move(bytes));
    return absl::OkStatus();
  });
}

}  // namespace
}  // namespace heft::c

using heft::Json;
using heft::c::Answer;
using heft::c::AnswerAll;
using heft::c::AnswerPart;
using heft::c::Call;
using heft::c::Given;

heft_status heft_key_owner_open(const heft_key_owner* owner, heft_bytes reply, const char* what,
                                const heft_options* options, heft_result** result,
                                heft_error** error) {
  return Answer(heft::c::Open, owner, reply, what, options, result, error);
}

heft_status heft_key_owner_open_replies(const heft_key_owner* owner, const heft_files* replies,
                                        const heft_shards* shards, const heft_files* parts,
                                        const heft_options* options, heft_result** result,
                                        heft_error** error) {
  return AnswerAll(heft::c::Open, owner, replies, shards, parts, options, result, error);
}

heft_status heft_key_owner_decide(const heft_key_owner* owner, heft_bytes reply, const char* what,
                                  const heft_options* options, heft_result** result,
                                  heft_error** error) {
  return Answer(heft::c::Decide, owner, reply, what, options, result, error);
}

heft_status heft_key_owner_decide_replies(const heft_key_owner* owner, const heft_files* replies,
                                          const heft_shards* shards, const heft_files* parts,
                                          const heft_options* options, heft_result** result,
                                          heft_error** error) {
  return AnswerAll(heft::c::Decide, owner, replies, shards, parts, options, result, error);
}

heft_status heft_key_owner_threshold(const heft_key_owner* owner, heft_bytes reply,
                                     const char* what, const heft_options* options,
                                     heft_result** result, heft_error** error) {
  return Answer(heft::c::Threshold, owner, reply, what, options, result, error);
}

heft_status heft_key_owner_threshold_replies(const heft_key_owner* owner, const heft_files* replies,
                                             const heft_shards* shards, const heft_options* options,
                                             heft_result** result, heft_error** error) {
  return AnswerAll(heft::c::Threshold, owner, replies, shards, nullptr, options, result, error);
}

heft_status heft_key_owner_open_part(const heft_key_owner* owner, const heft_files* replies,
                                     const heft_shards* shards, const heft_options* options,
                                     heft_buffer** part, heft_error** error) {
  return AnswerPart(heft::c::OpenPart, owner, replies, shards, options, part, error);
}

heft_status heft_key_owner_decide_part(const heft_key_owner* owner, const heft_files* replies,
                                       const heft_shards* shards, const heft_options* options,
                                       heft_buffer** part, heft_error** error) {
  return AnswerPart(heft::c::DecidePart, owner, replies, shards, options, part, error);
}

heft_status heft_key_owner_budget(const heft_key_owner* owner, heft_result** result,
                                  heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", result, "result"));
    HEFT_ASSIGN_OR_RETURN(const heft::BudgetUse use, owner->owner.Budget());
    *result = new heft_result(heft::c::RecordJson(use));
    return absl::OkStatus();
  });
}

heft_status heft_key_owner_set_budget(heft_key_owner* owner, const heft_options* options,
                                      heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner"));
    HEFT_ASSIGN_OR_RETURN(const heft::BudgetUse use, owner->owner.Budget());
    heft::BudgetLimits limits = use.limits;
    heft::c::OptionReader read(options);
    read.Integer("scores", &limits.scores).Integer("decisions", &limits.decisions);
    read.Integer("client_bits", &limits.client_bits).Integer("rejections", &limits.rejections);
    HEFT_RETURN_IF_ERROR(read.Finish());
    return owner->owner.SetBudget(limits);
  });
}

heft_status heft_key_owner_restart_journal(heft_key_owner* owner, const char* reason,
                                           heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(owner, "owner", reason, "reason"));
    return owner->owner.RestartJournal(reason);
  });
}

heft_status heft_default_limits(const heft_model* model, heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", result, "result"));
    *result = new heft_result(heft::c::RecordJson(heft::DefaultLimits(model->model)));
    return absl::OkStatus();
  });
}

heft_status heft_scores_decide(const char* scores, const char* threshold, heft_result** result,
                               heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(scores, "scores", threshold, "threshold", result, "result"));
    HEFT_ASSIGN_OR_RETURN(Json json, heft::c::DecideScores(scores, threshold));
    *result = new heft_result(std::move(json));
    return absl::OkStatus();
  });
}
