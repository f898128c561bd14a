// SPDX-License-Identifier: Apache-2.0
#include "gallery/owner/contested.h"

#include <algorithm>
#include <map>
#include <utility>

namespace heft {
namespace {

// Name: the claims on one new identity.
struct Name {
  std::vector<Candidate*> claims;  // an enrolment each
  uint64_t pending = 0;            // templates of the identity in all pending enrolments
  uint64_t examined = 0;           // those in candidates

  uint64_t elsewhere() const { return pending - examined; }
};

std::map<std::string, Name> NamesOf(std::span<Candidate> candidates) {
  std::map<std::string, Name> names;
  for (Candidate& candidate : candidates) {
    const EnrolmentCheck& check = *candidate.check;
    for (size_t i = 0; i < check.templates.size(); ++i) {
      if (check.known[i] || !candidate.findings[i].sound()) continue;
      Name& name = names[check.templates[i].identity];
      if (name.claims.empty() || name.claims.back() != &candidate)
        name.claims.push_back(&candidate);
    }
  }
  return names;
}

// Counts templates of these names: in candidates, and all that are pending. The server says how
// many others there are; it cannot hide those in the request.
void Count(const AdmissionRequest& request, std::span<const Candidate> candidates,
           std::map<std::string, Name>* names) {
  std::map<Name*, uint64_t> shown;
  for (const EnrolmentCheck& check : request.enrolments) {
    std::map<Name*, std::pair<uint64_t, uint32_t>> here;  // own templates, and others
    for (size_t i = 0; i < check.templates.size(); ++i) {
      const auto name = names->find(check.templates[i].identity);
      if (name == names->end()) continue;
      auto& [own, others] = here[&name->second];
      ++own;
      others = std::max(others, check.others[i]);
    }
    const bool examined = std::ranges::count(candidates, &check, &Candidate::check) > 0;
    for (const auto& [name, count] : here) {
      name->pending = std::max(name->pending, count.first + count.second);
      shown[name] += count.first;
      if (examined) name->examined += count.first;
    }
  }
  for (const auto& [name, count] : shown) name->pending = std::max(name->pending, count);
}

}  // namespace

std::vector<Admissions::Contested> SettleClaims(const AdmissionRequest& request,
                                                const ClaimRules& rules,
                                                std::span<Candidate> candidates) {
  std::map<std::string, Name> names = NamesOf(candidates);
  Count(request, candidates, &names);
  std::vector<Admissions::Contested> contested;
  for (const auto& [identity, name] : names) {
    const uint64_t elsewhere = rules.chosen ? 0 : name.elsewhere();
    if (name.claims.size() == 1 && elsewhere == 0) continue;
    bool granted = false;
    for (Candidate* claim : name.claims) {
      const bool authorised = rules.authorised(*claim->check, identity);
      granted = granted || authorised;
      claim->waits = claim->waits || !authorised;
    }
    if (granted) continue;
    Admissions::Contested& one = contested.emplace_back();
    one.identity = identity;
    one.elsewhere = elsewhere;
    for (const Candidate* claim : name.claims) {
      one.claims.push_back({claim->check->entry, rules.name(claim->check->client)});
    }
  }
  return contested;
}

}  // namespace heft
