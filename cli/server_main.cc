// SPDX-License-Identifier: Apache-2.0
// heft-server: only the server's subcommands. This binary links nothing that can decrypt
// (scripts/check-server-symbols).
#include "cli/commands.h"
#include "heft/inspect.h"
#include "postgres/use_postgres.h"
#include "program/common.h"

int main(int argc, char** argv) {
  using namespace heft::cli;  // NOLINT: a list of its functions follows.
  heft::UsePostgres();
  return RunMain(argc, argv, "HEFT server: fuse, enrol and match encrypted biometric templates",
                 [](Command app) {
                   AddEnrol(app);
                   AddPending(app);
                   AddApply(app);
                   AddPrepareKeys(app);
                   AddIdentify(app);
                   AddVerify(app);
                   AddReveal(app);
                   AddAudit(app);
                   AddGallery(app);
                   AddTrust(app);
                   AddInspect(app, &heft::DescribeFile);
                 });
}
