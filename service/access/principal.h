// SPDX-License-Identifier: Apache-2.0
// The caller: a machine with its certificate, or a person or relying party with a token beside it.
#ifndef HEFT_SERVICE_ACCESS_PRINCIPAL_H_
#define HEFT_SERVICE_ACCESS_PRINCIPAL_H_

#include <cstdint>
#include <set>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace heft::service {

// ServiceRole: the role of a caller. kMachine is the other daemon.
enum class ServiceRole : uint8_t {
  kClient,        // a capture device: encrypts, asks
  kRegistrar,     // enrols, replaces and removes people
  kOperator,      // runs galleries, approves, looks at health
  kAuditor,       // reads the audit trail, receipts and budgets, changes nothing
  kRelyingParty,  // asks for decisions
  kMachine,       // matcher or decider
  kFellow,        // a decider with another share of the same key
};
// All of them, for tables and tests. Names: "client", "registrar", "operator", "auditor",
// "relying-party", "machine", "fellow". ParseServiceRole: kInvalidArgument names them.
inline constexpr ServiceRole kServiceRoles[] = {ServiceRole::kClient,       ServiceRole::kRegistrar,
                                                ServiceRole::kOperator,     ServiceRole::kAuditor,
                                                ServiceRole::kRelyingParty, ServiceRole::kMachine,
                                                ServiceRole::kFellow};
// IsDaemon: a role that only a certificate gives, never a token or an API key.
constexpr bool IsDaemon(ServiceRole role) {
  return role == ServiceRole::kMachine || role == ServiceRole::kFellow;
}
std::string_view ServiceRoleName(ServiceRole role);
absl::StatusOr<ServiceRole> ParseServiceRole(std::string_view name);

// Scope: the right that a route needs. Each route has one; access/authority.h gives scopes to
// roles.
enum class Scope : uint8_t {
  kPublic,          // liveness and the contract: no credential
  kReadModel,       // parameters, model, public key: for encryption by clients
  kEnrol,           // persons and encounters come in
  kIdentify,        // 1:N
  kVerify,          // 1:1
  kReadPersons,     // enrolled people, metadata
  kRemove,          // persons go
  kReadGallery,     // sizes, health, statistics
  kManageGallery,   // galleries are made, compacted, verified, renewed, copied
  kManageKeys,      // keys and models come in
  kReadAdmissions,  // pending enrolments and their verdicts
  kApprove,         // a person's verdicts on enrolments
  kExchange,        // the other daemon: admission and renewal files
  kDecide,          // signed replies are decided
  kOpenParts,       // partial openings with this decider's share of the key
  kReadAudit,       // audit trail, receipts, budgets
  kReadMetrics,     // Prometheus
};
inline constexpr Scope kScopes[] = {
    Scope::kPublic,        Scope::kReadModel,   Scope::kEnrol,          Scope::kIdentify,
    Scope::kVerify,        Scope::kReadPersons, Scope::kRemove,         Scope::kReadGallery,
    Scope::kManageGallery, Scope::kManageKeys,  Scope::kReadAdmissions, Scope::kApprove,
    Scope::kExchange,      Scope::kDecide,      Scope::kOpenParts,      Scope::kReadAudit,
    Scope::kReadMetrics};
// "public", "model:read", "persons:enrol", ... as tokens spell them.
std::string_view ScopeName(Scope scope);

// Principal: an authenticated caller. Its scopes are those of its roles, reduced to the scopes of
// its token.
struct Principal {
  // The certificate's subject (with the fingerprint if the rule names it), or issuer and subject of
  // the token. Limits, tasks, answers and logs are kept under this name.
  std::string name;
  std::string machine;  // of the certificate, if a token came with it
  std::set<ServiceRole> roles;
  std::set<Scope> scopes;  // every caller has kPublic
  bool Has(Scope scope) const { return scope == Scope::kPublic || scopes.contains(scope); }
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_ACCESS_PRINCIPAL_H_
