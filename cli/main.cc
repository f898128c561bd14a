// SPDX-License-Identifier: Apache-2.0
// heft: all roles but the server's, and a workspace, which has that, too.
#include "cli/commands.h"
#include "postgres/use_postgres.h"
#include "program/common.h"

int main(int argc, char** argv) {
  using namespace heft::cli;  // NOLINT: a list of its functions follows.
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
