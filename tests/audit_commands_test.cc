// SPDX-License-Identifier: Apache-2.0
// heft audit LOG, with the real programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/run/audit_log.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using ::testing::HasSubstr;

TEST(AuditCommandsTest, AChainIsVerifiedByBothPrograms) {
  const Workplace w;
  const std::string path = w("audit.log");
  AuditHead noted;
  {
    auto log = service::AuditLog::Open(path);
    ASSERT_TRUE(log.ok()) << log.status();
    for (int i = 0; i < 5; ++i) {
      ASSERT_TRUE((*log)->Append({{"event", "request"}, {"i", i}}).ok());
      if (i == 2) noted = (*log)->head();
    }
  }
  const std::string head = std::to_string(noted.lines) + ":" + noted.hash;
  for (const char* program : {kHeft, kServer}) {
    const auto json = Must(program, {"audit", path, "--head", head});
    EXPECT_EQ(json["lines"], 5);
    EXPECT_EQ(json["noted"], true);
    EXPECT_EQ(json["hash"].get<std::string>().size(), 64u);
  }
  EXPECT_EQ(RunProgram(kServer, {"audit", w("nowhere")}).exit_code, kInput);
  EXPECT_EQ(RunProgram(kServer, {"audit", path, "--head", "3"}).exit_code, kInput);
  EXPECT_EQ(RunProgram(kServer, {"audit"}).exit_code, kUsage);

  const std::string good = Slurp(path);
  Spill(path, good.substr(0, good.find('\n') + 1));
  EXPECT_EQ(RunProgram(kServer, {"audit", path}).exit_code, 0);
  const Finished cut = RunProgram(kServer, {"audit", path, "--head", head});
  EXPECT_EQ(cut.exit_code, kFinding);
  EXPECT_THAT(cut.err, HasSubstr("cut off"));
  std::string changed = good;
  changed[good.find("\"i\":1") + 4] = '7';
  Spill(path, changed);
  const Finished wrong = RunProgram(kServer, {"audit", path});
  EXPECT_EQ(wrong.exit_code, kFinding);
  EXPECT_THAT(wrong.err, HasSubstr("audit.log:3 "));
}

}  // namespace
}  // namespace heft::e2e
