// SPDX-License-Identifier: Apache-2.0
// Linked into a test program of the matcher, it puts the galleries of its worlds into PostgreSQL.
#include <cstdio>
#include <cstdlib>

#include "postgres/server_testing.h"
#include "postgres/use_postgres.h"
#include "service/matcher/testing.h"

namespace heft::service::testing {
namespace {

using postgres_testing::ServerIsInstalled;
using postgres_testing::SharedServer;

const bool kSet = [] {
  if (!ServerIsInstalled()) {
    std::fprintf(stderr, "left out: postgresql-15 is not installed\n");
    std::_Exit(77);  // CTest calls it skipped
  }
  UsePostgres();
  world_store = [](const std::string&) { return "postgres:" + SharedServer().NewDatabase(); };
  return true;
}();

}  // namespace
}  // namespace heft::service::testing
