// SPDX-License-Identifier: Apache-2.0
// Who is enrolled in a gallery, and with which state.
#include <map>

#include "gallery/change.h"
#include "heft/files.h"
#include "heft/gallery_admin.h"
#include "heft/results.h"
#include "owner/testing.h"

namespace heft {
namespace {

class ListingTest : public testing::GalleryTest {
 protected:
  // The states by identity, and how many were listed.
  std::map<std::string, std::string> States(const ListOptions& options, size_t* count) const {
    std::map<std::string, std::string> states;
    *count = 0;
    const auto next = ListTemplates(directory_, options, [&](const ListedTemplate& t) {
      states[t.identity] = TemplateStateName(t.state);
      ++*count;
      return absl::OkStatus();
    });
    EXPECT_TRUE(next.ok()) << next.status();
    return states;
  }
};

TEST_F(ListingTest, EachTemplateHasAState) {
  ASSERT_TRUE(testing::EnrolDirectly(*server_, directory_, Set({0}, {"ann"})).ok());
  {
    std::vector<Enrolment> bob = *server_->FuseAll(Set({1}, {"bob"}), {});
    bob[0].expires = 1000;
    GalleryChange change =
        *GalleryChange::Begin(*server_->OpenGallery(directory_, false), /*start=*/false);
    ASSERT_TRUE(change.AddSingles(*instance_, bob).ok());
    ASSERT_TRUE(change.Commit().ok());
  }
  ASSERT_TRUE(server_->EnrolPending(directory_, Set({2}, {"cyd"}), {}).ok());
  size_t count = 0;
  const std::map<std::string, std::string> stored = {{"ann", "active"}, {"bob", "expired"}};
  std::map<std::string, std::string> all = stored;
  all["cyd"] = "pending";
  EXPECT_EQ(States({}, &count), stored);
  EXPECT_EQ(count, 2u);
  EXPECT_EQ(States({.pending = true}, &count), all);
  EXPECT_EQ(count, 3u);
  // Pending templates come with the last page alone.
  EXPECT_EQ(States({.count = 1, .pending = true}, &count).size(), 1u);
  EXPECT_EQ(States({.from = 1, .count = 1, .pending = true}, &count).size(), 2u);
  ListedTemplate pending;
  pending.identity = "cyd";
  pending.state = TemplateState::kPending;
  EXPECT_EQ(
      ToJson(pending).dump(),
      R"({"position":0,"identity":"cyd","person":"","generation":0,"enrolled":null,"expires":null,)"
      R"("metadata":{},"state":"pending"})");
}

}  // namespace
}  // namespace heft
