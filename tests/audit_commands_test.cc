// SPDX-License-Identifier: Apache-2.0
// heft audit LOG, with the real programs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "service/run/audit_log.h"
#include "tests/workplace.h"

namespace heft::e2e {
namespace {

using nlohmann::json;
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
    const auto said = Must(program, {"audit", path, "--head", head});
    EXPECT_EQ(said["lines"], 5);
    EXPECT_EQ(said["noted"], true);
    EXPECT_EQ(said["hash"].get<std::string>().size(), 64u);
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

// A log that was emptied is no intact log of 0 lines.
TEST(AuditCommandsTest, AnEmptyLogProvesNothing) {
  const Workplace w;
  const std::string path = w("audit.log"), older = w("audit.log.5");
  {
    auto log = service::AuditLog::Open(older);
    ASSERT_TRUE(log.ok()) << log.status();
    for (int i = 0; i < 5; ++i) ASSERT_TRUE((*log)->Append({{"i", i}}).ok());
  }
  const json first = Must(kServer, {"audit", older});
  const std::string head =
      std::to_string(first["lines"].get<int>()) + ":" + first["hash"].get<std::string>();
  // No byte, and half a line.
  for (const char* content : {"", "{\"seq\":6"}) {
    Spill(path, content);
    for (const Args& args : std::vector<Args>{{"audit", path}, {"audit", path, "--after", head}}) {
      const Finished empty = RunProgram(kServer, args);
      EXPECT_EQ(empty.exit_code, kFinding) << empty.err;
      EXPECT_EQ(empty.out, "");
      EXPECT_THAT(empty.err, HasSubstr("audit.log has no entry, and a log without entries proves"));
    }
    EXPECT_EQ(Must(kServer, {"audit", older, path})["lines"], 5) << "they have lines together";
  }
}

}  // namespace
}  // namespace heft::e2e
