// SPDX-License-Identifier: Apache-2.0
// All routes of a decider: compared with a list written by hand, and requested over TLS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.h"
#include "service/console/console.h"
#include "service/decider/routes.h"
#include "service/json.h"
#include "service/openapi/document.h"
#include "service/routes_testing.h"

namespace heft::service {
namespace {

std::vector<std::string> ByHand() {
  std::vector<std::string> lines = testing::CommonLines();
  // The handlers of decisions, parts, admissions and renewals write the audit log before they
  // answer.
  for (const char* line :
       {"POST /v1/decisions decisions:ask signed", "GET /v1/keys public",
        "POST /v1/exchange/admissions exchange signed",
        "POST /v1/exchange/renewals exchange signed", "POST /v1/exchange/parts parts:open signed",
        "GET /v1/admissions admissions:read",
        "POST /v1/admissions/{gallery} admissions:decide signed audited",
        "GET /v1/budget audit:read"}) {
    lines.emplace_back(line);
  }
  return lines;
}

TEST(DeciderRoutesTest, AreThoseOfTheList) {
  const heft::testing::TemporaryFolder folder;
  const auto base = testing::BaseIn(folder.path());
  ASSERT_TRUE(base.ok()) << base.status();
  DeciderService service;
  service.base = base->get();
  Router router;
  AddDeciderRoutes(&service, &router);
  AddContractRoute(&router);
  (*base)->AddCommonRoutes(&router, [] { return absl::OkStatus(); });
  Traffic traffic;
  AddConsole(
      &router, "decider", [] { return Json(); }, &traffic);
  EXPECT_THAT(testing::RouteLines(router), ::testing::UnorderedElementsAreArray(ByHand()));
  // Every route, every role, every kind of credential, good and bad.
  const testing::AccessTable table = testing::CheckAccessTable(router);
  EXPECT_THAT(table.wrong, ::testing::IsEmpty());
  EXPECT_EQ(table.cells, router.routes().size() * std::size(kServiceRoles) * 11);
}

}  // namespace
}  // namespace heft::service
