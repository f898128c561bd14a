// SPDX-License-Identifier: Apache-2.0
// heft-paper: the HEFT paper's methods, tables and figures, measured on this engine. A program of
// its own, so that nothing of them is part of the product.
#include "paper/program/commands.h"
#include "program/common.h"

int main(int argc, char** argv) {
  return heft::cli::RunMain(argc, argv, "HEFT's paper, measured: methods, counts, tables, figures",
                            [](heft::cli::Command app) {
                              heft::cli::AddReproduce(app);
                              heft::cli::AddCounts(app);
                            });
}
