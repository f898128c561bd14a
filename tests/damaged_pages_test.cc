// SPDX-License-Identifier: Apache-2.0
// Every page of a store.sqlite is overwritten, one at a time. Code that may crash runs in a child.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "gallery/change.h"
#include "heft/gallery_admin.h"
#include "matcher/server_impl.h"
#include "owner/varied_gallery_testing.h"

namespace heft {
namespace {

namespace fs = std::filesystem;
constexpr size_t kPage = 4096;

class DamagedPagesTest : public testing::VariedGalleryTest {
 protected:
  void SetUp() override {
    VariedGalleryTest::SetUp();
    // The second time nothing is left to be written to the log.
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(EraseRemains(folder_).ok());
  }
  // Use: all kinds of work on the gallery. Returns the failures.
  std::vector<std::string> Use(const std::string& folder) {
    std::vector<std::string> wrong;
    const auto expect = [&](bool good, const std::string& what) {
      if (!good) wrong.push_back(what);
    };
    const auto says_the_way_out = [&](const absl::Status& status, const std::string& what) {
      const bool said = absl::StrContains(status.message(), "restore a snapshot of it");
      expect(status.ok() || said, absl::StrCat(what, ": ", status.ToString()));
    };
    const auto identify = [&] {
      for (const std::string name : {"ann", "bob", "cat"}) {
        const auto gallery = Gallery::Open(folder);
        says_the_way_out(gallery.status(), "open");
        if (!gallery.ok()) return;
        const auto reply =
            server_->Identify(*gallery, Files(Number(name), "", SampleUse::kIdentification));
        says_the_way_out(reply.status(), "identify");
        if (!reply.ok()) continue;
        const auto decision = roles_.NewOwner().Decide(*reply, "reply", 0.9);
        expect(decision.ok(), decision.status().ToString());
        if (!decision.ok()) continue;
        const std::string& who = decision->identity;
        expect(who == name || who.empty(), absl::StrCat(name, " is taken for ", who));
      }
    };
    const absl::Status opened = Gallery::Open(folder).status();
    const auto verified = VerifyGallery(folder);
    const std::string found = verified.ok() ? absl::StrJoin(verified->complaints, "\n")
                                            : std::string(verified.status().message());
    const bool named = absl::StrContains(found, "the table ") ||
                       absl::StrContains(found, "file is not a database");
    expect(named, "the table is not named: " + found);
    identify();
    says_the_way_out(server_->Enrol(folder, Files(Number("new"), "new")).status(), "enrol");
    says_the_way_out(testing::ActivateAll(*server_, roles_.NewOwner(), folder).status(),
                     "activate");
    says_the_way_out(Remove(*server_, folder, {"ben"}).status(), "remove");
    const absl::Status compacted = CompactGallery(*server_, folder).status();
    says_the_way_out(compacted, "compact");
    // No message names a compaction where it does not help.
    const auto sends_to_compact = [](const absl::Status& status) {
      return absl::StrContains(status.message(), "run `heft-server gallery compact`");
    };
    expect(compacted.ok() || !sends_to_compact(opened), opened.ToString());
    expect(!sends_to_compact(compacted), compacted.ToString());
    if (!compacted.ok()) return wrong;
    identify();
    const auto after = VerifyGallery(folder);
    expect(after.ok(), after.status().ToString());
    if (!after.ok()) return wrong;
    expect(!absl::StrContains(absl::StrJoin(after->complaints, "\n"), "the table "),
           "tables are still damaged");
    if (after->intact) std::ofstream(folder + "/mended");
    return wrong;
  }
};

// With zeros, and with noise. A record that was in the page alone can be lost: a block, a journal's
// entry, a pending enrolment. All else is made again.
TEST_P(DamagedPagesTest, DamageOfAnyPageIsNamedAndHasAWayOut) {
  const std::vector<uint8_t> good = *ReadFile(folder_ + "/store.sqlite");
  std::mt19937_64 random(1);
  const size_t pages = good.size() / kPage;
  std::vector<size_t> lasting;  // pages whose damage cannot be mended
  for (size_t page = 0; page < 2 * pages; ++page) {
    std::vector<uint8_t> bad = good;
    for (size_t i = 0; i < kPage; ++i) {
      bad[page / 2 * kPage + i] = page % 2 == 0 ? 0 : static_cast<uint8_t>(random());
    }
    const std::string folder = temporary_ / absl::StrCat("page-", page), wrong = folder + "/wrong";
    fs::copy(folder_, folder);
    ASSERT_TRUE(WriteFileAtomic(folder + "/store.sqlite", bad, 0600).ok());
    const pid_t child = fork();
    if (child == 0) {
      std::ofstream(wrong) << absl::StrJoin(Use(folder), "\n");
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << "page " << page / 2 + 1 << ": a crash";
    EXPECT_EQ(*ReadTextFile(wrong), "") << "page " << page / 2 + 1;
    if (!FileExists(folder + "/mended")) lasting.push_back(page / 2 + 1);
    fs::remove_all(folder);
  }
  // The header, the list of tables (5), the table store, and the three kinds above.
  EXPECT_LE(lasting.size(), 2 * 10) << absl::StrJoin(lasting, " ");
  EXPECT_GT(pages, 40);
}

INSTANTIATE_TEST_SUITE_P(Profiles, DamagedPagesTest, ::testing::Values("standard"));

}  // namespace
}  // namespace heft
