// SPDX-License-Identifier: Apache-2.0
// Configurations of the daemons (service/run/): what both have in common.
#include <string>

#include "fuzz/fuzz.h"
#include "service/run/config_reader.h"
#include "service/run/daemon.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using heft::fuzz::Check;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto config = heft::service::Config::Parse(text, "input");
  if (!config.ok()) {
    heft::fuzz::CheckRefusal(config.status());
    return 0;
  }
  const heft::service::CommonConfig common = heft::service::ReadCommonConfig(*config);
  const absl::Status good = config->Check();
  if (!good.ok()) {
    heft::fuzz::CheckRefusal(good);
    return 0;
  }
  Check(!common.tls.certificate.empty() && !common.tls.private_key.empty() &&
            !common.tls.authorities.empty() && !common.audit_log.empty() &&
            !common.authority.nonces.empty(),
        "what is needed is there");
  Check(common.limits.workers > 0 && common.limits.connections > 0, "limits in range");
  Check(common.metrics_address.empty() || common.metrics_address.starts_with("127.") ||
            common.metrics_address.starts_with("[::1]"),
        "metrics stay on this machine");
  for (const auto& rule : common.authority.rules.certificates) {
    Check(rule.subject.empty() != rule.fingerprint.empty(), "a certificate has one name");
    Check(rule.carries_tokens || !rule.roles.empty(), "a rule is good for something");
  }
  if (common.authority.rules.tokens) {
    Check(!common.authority.rules.tokens->roles.contains("machine"), "no token makes a machine");
  }
  return 0;
}
