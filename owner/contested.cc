// SPDX-License-Identifier: Apache-2.0
#include "owner/contested.h"

#include <algorithm>
#include <map>
#include <utility>

namespace heft {
namespace {

// NewName: the claims on one new identity.
struct NewName {
  std::vector<ExaminedEnrolment*> claims;  // an enrolment each
  uint64_t pending = 0;                    // templates of the identity in all pending enrolments
  uint64_t seen = 0;                       // those in examined enrolments

  uint64_t elsewhere() const { return pending - seen; }
};

std::map<std::string, NewName> NamesOf(std::span<ExaminedEnrolment> examined) {
  std::map<std::string, NewName> names;
  for (ExaminedEnrolment& one : examined) {
    const EnrolmentCheck& check = *one.check;
    for (size_t i = 0; i < check.templates.size(); ++i) {
      if (check.known[i] || !one.findings[i].sound()) continue;
      NewName& name = names[check.templates[i].identity];
      if (name.claims.empty() || name.claims.back() != &one) name.claims.push_back(&one);
    }
  }
  return names;
}

// Counts templates of these names: of examined enrolments, and all pending ones. The server says
// how many others there are; it cannot hide those in the request.
void CountTemplates(const AdmissionRequest& request, std::span<const ExaminedEnrolment> examined,
                    std::map<std::string, NewName>* names) {
  std::map<NewName*, uint64_t> shown;
  for (const EnrolmentCheck& check : request.enrolments) {
    std::map<NewName*, std::pair<uint64_t, uint32_t>> here;  // own templates, and others
    for (size_t i = 0; i < check.templates.size(); ++i) {
      const auto name = names->find(check.templates[i].identity);
      if (name == names->end()) continue;
      auto& [own, others] = here[&name->second];
      ++own;
      others = std::max(others, check.others[i]);
    }
    const bool is_examined = std::ranges::count(examined, &check, &ExaminedEnrolment::check) > 0;
    for (const auto& [name, count] : here) {
      name->pending = std::max(name->pending, count.first + count.second);
      shown[name] += count.first;
      if (is_examined) name->seen += count.first;
    }
  }
  for (const auto& [name, count] : shown) name->pending = std::max(name->pending, count);
}

}  // namespace

std::vector<Admissions::Contested> SettleClaims(const AdmissionRequest& request,
                                                const ClaimRules& rules,
                                                std::span<ExaminedEnrolment> examined) {
  std::map<std::string, NewName> names = NamesOf(examined);
  CountTemplates(request, examined, &names);
  std::vector<Admissions::Contested> contested;
  for (const auto& [identity, name] : names) {
    const uint64_t elsewhere = rules.chosen ? 0 : name.elsewhere();
    if (name.claims.size() == 1 && elsewhere == 0) continue;
    bool granted = false;
    for (ExaminedEnrolment* claim : name.claims) {
      const bool authorised = rules.authorised(*claim->check, identity);
      granted = granted || authorised;
      claim->waits = claim->waits || !authorised;
    }
    if (granted) continue;
    Admissions::Contested& out = contested.emplace_back();
    out.identity = identity;
    out.elsewhere = elsewhere;
    for (const ExaminedEnrolment* claim : name.claims) {
      out.claims.push_back({claim->check->entry, rules.name(claim->check->client)});
    }
  }
  return contested;
}

}  // namespace heft
