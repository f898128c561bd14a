// SPDX-License-Identifier: Apache-2.0
// heft: all roles but the server's, and a workspace, which has that, too.
#include <malloc.h>

#include "cli/commands.h"
#include "postgres/use_postgres.h"
#include "program/common.h"

int main(int argc, char** argv) {
  using namespace heft::cli;  // NOLINT: a list of its functions follows.
  // Each step of training and evaluation allocates megabytes. Memory that goes back to the system
  // is cleared when it comes again, which took a fifth of the time.
  constexpr int kKept = 1 << 30;
  mallopt(M_TRIM_THRESHOLD, kKept);
  mallopt(M_MMAP_THRESHOLD, kKept);
  heft::UsePostgres();
  return RunMain(argc, argv, "HEFT: fuse and match encrypted biometric templates", [](Command app) {
    AddInit(app);
    AddAdd(app);
    AddSearch(app);
    AddWorkspaceVerify(app);
    AddRemove(app);
    AddExportRole(app);
    AddSynth(app);
    AddTrain(app);
    AddCalibrate(app);
    AddKeygen(app);
    AddShare(app);
    AddEncrypt(app);
    AddAuthorise(app);
    AddAnswer(app);
    AddAudit(app);
    AddDecrypt(app);
    AddCanary(app);
    AddBudget(app);
    AddRekey(app);
    AddTrust(app);
    AddEvaluate(app);
    AddStudy(app);
    AddInspect(app, DescribeAnything);
    AddBench(app);
  });
}
