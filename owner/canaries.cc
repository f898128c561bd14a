// SPDX-License-Identifier: Apache-2.0
#include "owner/canaries.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"

namespace heft {
namespace {

// The cosine of a probe with vector `p` and a template made of `z`.
double Answer(const std::vector<double>& p, const std::vector<double>& z, const Approximation& f,
              bool thin) {
  const auto dot = [](const std::vector<double>& a, const std::vector<double>& b) {
    return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
  };
  const double probe = thin ? 1 / std::sqrt(dot(p, p)) : f(dot(p, p));
  return probe * f(dot(z, z)) * dot(p, z);
}

}  // namespace

void Canaries::Index() {
  names_.clear();
  for (size_t t = 0; t < triples_.size(); ++t) {
    for (size_t i = 0; i < 3; ++i) names_[triples_[t].people[i].name] = {t, i};
  }
}

std::string Canaries::CheckRelations(const std::multimap<std::string, double>& cosines,
                                     bool restricted) const {
  bool any = triples_.empty();
  for (const Triple& triple : triples_) {
    const bool absent = std::ranges::none_of(
        triple.people, [&](const Person& person) { return cosines.contains(person.name); });
    if (restricted && absent) continue;
    any = true;
    std::array<double, 3> score{};
    for (size_t i = 0; i < 3; ++i) {
      const auto [first, last] = cosines.equal_range(triple.people[i].name);
      if (first == last) {
        return restricted
                   ? "a canary is missing and others of its triple are there: templates were "
                     "left out, or its people have other metadata"
                   : "a canary is missing: another gallery, or one from which templates were "
                     "left out";
      }
      if (std::next(first) != last) return "a canary is there twice: not the gallery as approved";
      score[i] = first->second;
    }
    if (!(std::abs(score[2] - triple.a * score[0] - triple.b * score[1]) <= kRelationHolds)) {
      return "scores of canaries are not what any probe has: another block, or made up";
    }
  }
  return any ? "" : "no canary fits the conditions of the search: enrol a triple that does";
}

std::string Canaries::CheckAnswers(const Probe& probe,
                                   const std::multimap<std::string, double>& cosines,
                                   const Approximation& f, bool thin) const {
  const std::vector<double>& p = triples_[probe.triple].people[probe.person].z;
  for (const auto& [name, cosine] : cosines) {
    const auto [t, i] = names_.at(name);
    if (!(std::abs(cosine - Answer(p, triples_[t].people[i].z, f, thin)) <= kAnswerHolds)) {
      return "a probe whose answers are known has another one";
    }
  }
  return "";
}

std::string Canaries::Check(const std::vector<ReadReply>& replies,
                            const std::multimap<std::string, double>& cosines,
                            const Approximation& f, bool thin) const {
  const EncryptedScores& first = replies[0].scores;
  if (first.kind == ScoreKind::kIdentification) {
    bool restricted = false;
    for (const ReadReply& reply : replies) {
      if (reply.scores.identities.empty() && reply.scores.templates > 0) {
        return "canaries cannot be told without names: ask the server for them";
      }
      const auto& restriction = reply.scores.restriction;
      restricted = restricted || (restriction && !restriction->where.empty());
    }
    std::string wrong = CheckRelations(cosines, restricted);
    if (!wrong.empty()) return wrong;
  }
  for (const Probe& probe : probes_) {
    if (probe.label == first.probe) return CheckAnswers(probe, cosines, f, thin);
  }
  return "";
}

}  // namespace heft
