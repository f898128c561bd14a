// SPDX-License-Identifier: Apache-2.0
// All routes of a matcher: compared with a list written by hand, and requested over TLS.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/testing.h"
#include "service/console/console.h"
#include "service/json.h"
#include "service/matcher/state.h"
#include "service/routes_testing.h"

namespace heft::service {
namespace {

std::vector<std::string> ByHand() {
  std::vector<std::string> lines = testing::CommonLines();
  for (const char* line : {"GET /v1/parameters model:read",
                           "GET /v1/model model:read",
                           "GET /v1/encryption-key model:read",
                           "PUT /v1/model keys:manage signed audited",
                           "PUT /v1/keys/evaluation keys:manage signed audited",
                           "PUT /v1/keys/enrolment keys:manage signed audited",
                           "PUT /v1/keys/encryption keys:manage signed audited",
                           "DELETE /v1/keys/staged keys:manage signed audited",
                           "GET /v1/galleries galleries:read",
                           "GET /v1/galleries/{gallery} galleries:read",
                           "GET /v1/galleries/{gallery}/stats galleries:read",
                           "POST /v1/galleries galleries:manage signed audited",
                           "POST /v1/galleries/{gallery}/compact galleries:manage signed audited",
                           "POST /v1/galleries/{gallery}/verify galleries:manage signed audited",
                           "POST /v1/galleries/{gallery}/renew galleries:manage signed audited",
                           "POST /v1/galleries/{gallery}/snapshot galleries:manage signed audited",
                           "GET /v1/admissions admissions:read",
                           "DELETE /v1/galleries/{gallery}/pending/{entry} galleries:manage "
                           "signed audited",
                           "GET /v1/galleries/{gallery}/admission exchange audited",
                           "POST /v1/galleries/{gallery}/admission exchange signed audited",
                           "GET /v1/galleries/{gallery}/renewal exchange audited",
                           "POST /v1/galleries/{gallery}/renewal exchange signed audited",
                           "GET /v1/persons persons:read",
                           "GET /v1/persons/{person} persons:read",
                           "DELETE /v1/persons/{person} persons:remove signed audited",
                           "GET /v1/persons/{person}/encounters persons:read",
                           "POST /v1/persons/{person}/encounters persons:enrol signed audited",
                           "PUT /v1/persons/{person}/encounters persons:enrol signed audited",
                           "POST /v1/identify/{gallery} persons:identify signed audited",
                           "POST /v1/verify/{gallery}/{person} persons:verify signed audited",
                           "GET /v1/tasks/{task} model:read",
                           "GET /v1/tasks/{task}/status model:read",
                           "DELETE /v1/tasks/{task} model:read signed audited",
                           "GET /v1/receipts audit:read"}) {
    lines.emplace_back(line);
  }
  return lines;
}

TEST(MatcherRoutesTest, AreThoseOfTheList) {
  const heft::testing::TemporaryFolder folder;
  const auto base = testing::BaseIn(folder.path());
  ASSERT_TRUE(base.ok()) << base.status();
  MatcherConfig config;
  config.store = folder / "store";
  config.staging = folder / "staging";
  MatcherState state(config, nullptr, nullptr, nullptr, &(*base)->audit_log(), &(*base)->metrics());
  Router router;
  AddMatcherRoutes(&state, &router);
  (*base)->AddCommonRoutes(&router, [] { return absl::OkStatus(); });
  Traffic traffic;
  AddConsole(
      &router, "matcher", [] { return Json(); }, &traffic);
  EXPECT_THAT(testing::RouteLines(router), ::testing::UnorderedElementsAreArray(ByHand()));
  // Every route, every role, every kind of credential, good and bad.
  const testing::AccessTable table = testing::CheckAccessTable(router);
  EXPECT_THAT(table.wrong, ::testing::IsEmpty());
  EXPECT_EQ(table.cells, router.routes().size() * std::size(kServiceRoles) * 11);
}

}  // namespace
}  // namespace heft::service
