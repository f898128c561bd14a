// SPDX-License-Identifier: Apache-2.0
// heft: every role in one binary.
#include "cli/commands.h"
#include "postgres/use_postgres.h"
#include "program/common.h"

int main(int argc, char** argv) {
  using namespace heft::cli;  // NOLINT: a list of its functions follows.
  heft::UsePostgres();
  return RunMain(argc, argv, "HEFT: fuse and match encrypted biometric templates", [](Command app) {
    AddSynth(app);
    AddTrain(app);
    AddCalibrate(app);
    AddKeygen(app);
    AddEncrypt(app);
    AddAuthorise(app);
    AddEnrol(app);
    AddPending(app);
    AddAdmit(app);
    AddRelease(app);
    AddPrepareKeys(app);
    AddIdentify(app);
    AddVerify(app);
    AddReveal(app);
    AddAudit(app);
    AddAuditLog(app);
    AddDecrypt(app);
    AddCanary(app);
    AddBudget(app);
    AddRenew(app);
    AddRekey(app);
    AddRekeyGallery(app);
    AddGallery(app);
    AddTrust(app);
    AddEvaluate(app);
    AddRoc(app);
    AddInspect(app);
    AddImportSeal(app);
    AddExportSeal(app);
    AddSealSecret(app);
    AddBench(app);
  });
}
