// SPDX-License-Identifier: Apache-2.0
// heft-seal: HEFT's files from objects of Microsoft SEAL, and back. It handles secret keys of both,
// so it is a program of the key owner and the client; a server has no part of it.
#include "cli/seal_commands.h"

int main(int argc, char** argv) {
  using namespace heft::cli;  // NOLINT: a list of its functions follows.
  return RunMain(argc, argv,
                 "HEFT and SEAL: convert keys, samples and scores of Microsoft SEAL 4.x",
                 [](Command app) {
                   AddImport(app);
                   AddExport(app);
                 });
}
