// SPDX-License-Identifier: Apache-2.0
#include "owner/rejections.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/bytes.h"
#include "heft/openings.h"

namespace heft {
namespace {

// kNamed: identities of a group that the text names.
constexpr size_t kNamed = 5;
// kFewPeople: a model of fewer training people often does not fit others.
constexpr int64_t kFewPeople = 100;

// How many people the model was trained on; 0: its summary does not say.
int64_t TrainingPeople(const Model& model) {
  const Json summary = Json::Parse(model.training_summary).value_or(Json());
  const Json* people = summary.find("train_identities");
  return people == nullptr ? 0 : people->get<int64_t>();
}

std::string ModelAtFault(const Model& model) {
  const int64_t people = TrainingPeople(model);
  const std::string cause =
      people == 0 ? std::string("It was trained on too few people, or on samples unlike these.")
      : people < kFewPeople
          ? absl::StrCat("It was trained on ", people, " people, too few to fit others.")
          : absl::StrCat("It was trained on ", people, " people, with samples unlike these.");
  return absl::StrCat("Most templates are unsound: the model is at fault, not these people. ",
                      cause,
                      " Train a model on more people and samples like these, or use one that needs "
                      "no training (heft train --method none).");
}

std::string RemedyFor(const Finding& finding, const Model& model, bool model_at_fault) {
  if (finding.rejection != Rejection::kUnsound) return finding.remedy;
  if (model_at_fault) return ModelAtFault(model);
  if (!finding.squared_norm) {
    return "The file does not hold what a sound program writes: ask who sent it.";
  }
  return "The sample is unlike those of training, lacks a modality that the model was not trained "
         "to do without, or was made to score too high. Take another sample of this person.";
}

// "squared norm 0.310 to 0.442, " for the norms of a group; empty without norms.
std::string Measured(const std::vector<double>& norms) {
  if (norms.empty()) return "";
  const auto [least, most] = std::ranges::minmax(norms);
  const std::string lo = absl::StrFormat("%.3f", least), hi = absl::StrFormat("%.3f", most);
  return absl::StrCat("squared norm ", lo, lo == hi ? "" : " to ", lo == hi ? "" : hi, ", ");
}

std::string FirstOf(const std::vector<std::string>& identities) {
  std::string text;
  for (size_t i = 0; i < std::min(kNamed, identities.size()); ++i) {
    absl::StrAppend(&text, i == 0 ? "" : ", ", identities[i]);
  }
  if (identities.size() > kNamed) {
    absl::StrAppend(&text, " and ", identities.size() - kNamed, " more");
  }
  return text;
}

}  // namespace

std::vector<Admissions::Group> GroupRejections(const Model& model,
                                               std::span<const Admissions::Verdict> verdicts,
                                               std::span<const Finding> findings) {
  const auto unsound =
      static_cast<size_t>(std::ranges::count(findings, Rejection::kUnsound, &Finding::rejection));
  const bool model_at_fault = unsound >= kMinUnsound && 2 * unsound > findings.size();
  std::vector<Admissions::Group> groups;
  std::vector<std::vector<double>> norms;  // of each group
  for (size_t i = 0; i < findings.size(); ++i) {
    const Finding& finding = findings[i];
    if (finding.sound()) continue;
    auto group = std::ranges::find(groups, finding.cause, &Admissions::Group::cause);
    if (group == groups.end()) {
      group = groups.insert(
          group, {finding.rejection, finding.cause, RemedyFor(finding, model, model_at_fault), {}});
      norms.emplace_back();
    }
    group->identities.push_back(verdicts[i].identity);
    if (finding.squared_norm) norms[group - groups.begin()].push_back(*finding.squared_norm);
  }
  for (size_t g = 0; g < groups.size(); ++g) {
    groups[g].cause = Measured(norms[g]) + groups[g].cause;
  }
  std::ranges::stable_sort(groups, std::ranges::greater{},
                           [](const Admissions::Group& g) { return g.identities.size(); });
  return groups;
}

namespace {

// Appends a contested name: who claims it, and how to choose.
void DescribeContested(const Admissions::Contested& contested, std::string* text) {
  absl::StrAppend(text, "\"", contested.identity,
                  "\" is in several pending enrolments, so none of them was decided:\n");
  for (const Admissions::Claim& claim : contested.claims) {
    const std::string entry = HexString(claim.entry);
    absl::StrAppend(
        text, "  entry ", entry, ", ",
        claim.client.empty() ? std::string("not signed") : absl::StrCat("sent by ", claim.client),
        "\n");
  }
  if (contested.elsewhere > 0) {
    absl::StrAppend(text, "  ", contested.elsewhere, " more templates, not examined\n");
  }
}

}  // namespace

Described DescribeAdmissions(const Admissions& admissions) {
  Described out;
  size_t approved = 0;
  Json rejected = Json::array(), groups = Json::array();
  for (const Admissions::Verdict& verdict : admissions.verdicts) {
    approved += verdict.approved ? 1 : 0;
    if (verdict.approved) continue;
    rejected.push_back(ToJson(verdict));
  }
  std::string said;  // a remedy that two groups share is said once
  for (const Admissions::Group& group : admissions.groups) {
    absl::StrAppend(&out.text, group.identities.size(), " of ", admissions.verdicts.size(),
                    " templates rejected: ", group.cause, "\n  ", FirstOf(group.identities), "\n");
    if (!group.remedy.empty() && group.remedy != said) {
      absl::StrAppend(&out.text, "  ", group.remedy, "\n");
      said = group.remedy;
    }
    groups.push_back(ToJson(group));
  }
  Json contested = Json::array();
  for (const Admissions::Contested& one : admissions.contested) {
    DescribeContested(one, &out.text);
    contested.push_back(ToJson(one));
  }
  if (!admissions.contested.empty()) {
    absl::StrAppend(
        &out.text,
        "  Find out which enrolment is the person's. Approve it (heft answer --entry ENTRY) "
        "or reject the others (--reject entry=ENTRY).\n");
  }
  absl::StrAppend(&out.text, "approved ", approved, " templates\n");
  out.json = {{"approved", approved},
              {"rejected", std::move(rejected)},
              {"groups", std::move(groups)},
              {"contested", std::move(contested)}};
  return out;
}

}  // namespace heft
