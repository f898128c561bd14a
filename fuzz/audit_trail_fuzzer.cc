// SPDX-License-Identifier: Apache-2.0
// Audit logs (service/run/audit_log.cc): as an auditor reads them, and as the daemon does that goes
// on with one.
#include "fuzz/folder.h"
#include "fuzz/fuzz.h"
#include "service/json.h"
#include "service/run/audit_log.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using heft::fuzz::Check;
  static const heft::fuzz::Folder folder;
  const std::string path = folder.path() + "/audit.log";
  folder.Write("audit.log", {data, size});
  uint64_t lines = 0;
  const auto head = heft::service::VerifyAuditLog(
      path, nullptr, [&](uint64_t, const heft::service::Json&) { ++lines; });
  if (!head.ok()) {
    heft::fuzz::CheckRefusal(head.status());
    Check(!heft::service::AuditLog::Open(path).ok(), "what is damaged is not gone on with");
    return 0;
  }
  Check(head->lines == lines, "each line is seen");
  {
    auto log = heft::service::AuditLog::Open(path);
    Check(log.ok(), "what is good is gone on with");
    Check((*log)->Append({{"event", "x"}}).ok(), "a line more");
  }
  const auto grown = heft::service::VerifyAuditLog(path, &*head);
  Check(grown.ok() && grown->lines > head->lines, "it has grown, and what was there stands");
  return 0;
}
