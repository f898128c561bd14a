// SPDX-License-Identifier: Apache-2.0
#include "service/access/principal.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace heft::service {

std::string_view ServiceRoleName(ServiceRole role) {
  switch (role) {
    case ServiceRole::kClient:
      return "client";
    case ServiceRole::kRegistrar:
      return "registrar";
    case ServiceRole::kOperator:
      return "operator";
    case ServiceRole::kAuditor:
      return "auditor";
    case ServiceRole::kRelyingParty:
      return "relying-party";
    case ServiceRole::kMachine:
      return "machine";
    case ServiceRole::kFellow:
      return "fellow";
  }
  return "";
}

absl::StatusOr<ServiceRole> ParseServiceRole(std::string_view name) {
  std::vector<std::string> names;
  for (const ServiceRole role : kServiceRoles) {
    if (name == ServiceRoleName(role)) return role;
    names.emplace_back(ServiceRoleName(role));
  }
  return absl::InvalidArgumentError(absl::StrCat("unknown role \"", std::string(name),
                                                 "\": choose ", absl::StrJoin(names, ", ")));
}

std::string_view ScopeName(Scope scope) {
  switch (scope) {
    case Scope::kPublic:
      return "public";
    case Scope::kReadModel:
      return "model:read";
    case Scope::kEnrol:
      return "persons:enrol";
    case Scope::kIdentify:
      return "persons:identify";
    case Scope::kVerify:
      return "persons:verify";
    case Scope::kReadPersons:
      return "persons:read";
    case Scope::kRemove:
      return "persons:remove";
    case Scope::kReadGallery:
      return "galleries:read";
    case Scope::kManageGallery:
      return "galleries:manage";
    case Scope::kManageKeys:
      return "keys:manage";
    case Scope::kReadAdmissions:
      return "admissions:read";
    case Scope::kApprove:
      return "admissions:decide";
    case Scope::kExchange:
      return "exchange";
    case Scope::kDecide:
      return "decisions:ask";
    case Scope::kOpenParts:
      return "parts:open";
    case Scope::kReadAudit:
      return "audit:read";
    case Scope::kReadMetrics:
      return "metrics:read";
  }
  return "";
}

}  // namespace heft::service
