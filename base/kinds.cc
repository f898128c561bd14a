// SPDX-License-Identifier: Apache-2.0
#include "base/kinds.h"

#include <map>

#include "absl/strings/str_cat.h"

namespace heft {

std::string KindName(std::string_view kind) {
  static const auto* names = new std::map<std::string_view, std::string_view>{
      {"MODL", "model"},
      {"PUBK", "encryption key"},
      {"EVAL", "evaluation keys"},
      {"ENRK", "enrolment keys"},
      {"EXPK", "expanded keys"},
      {"SECK", "secret key"},
      {"SHAR", "share of a secret key"},
      {"CERE", "record of a shared key"},
      {"PART", "partial opening"},
      {"RSHR", "new shares, sealed"},
      {"JOIN", "message of a ceremony without a dealer"},
      {"JKEY", "an owner's state of a ceremony without a dealer"},
      {"RKEY", "re-keying key"},
      {"SIGK", "signing key"},
      {"SIGN", "signed file"},
      {"CTXT", "encrypted samples"},
      {"CTXS", "encrypted samples for bulk enrolment"},
      {"CTXP", "encrypted samples, projected by the client"},
      {"CTXF", "encrypted samples, fused by the client"},
      {"SCOR", "encrypted scores"},
      {"SEED", "revealed seed of a reply"},
      {"ADRQ", "request for admission"},
      {"ADMS", "admission"},
      {"QENR", "pending enrolment"},
      {"RNRQ", "request for renewal"},
      {"RNAN", "renewed blocks"},
      {"RCPT", "receipt of erasure"},
      {"AUTH", "registrar's authorisation"},
      {"STND", "key of stand-ins"},
      {"AUDK", "audit key of a gallery"},
      {"CNRY", "canaries, sealed"},
      {"JRNL", "journal of openings"},
      {"JANC", "anchor of a journal"},
      {"HEAD", "end of a journal, for servers"}};
  const auto it = names->find(kind);
  return it == names->end() ? absl::StrCat("unknown kind ", std::string(kind))
                            : std::string(it->second);
}

}  // namespace heft
