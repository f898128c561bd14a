// SPDX-License-Identifier: Apache-2.0
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "heft/train.h"
#include "program/common.h"
#include "program/trust_options.h"

namespace heft::cli {
namespace {

struct CalibrateFlags {
  std::string data, model, out, sign;
  uint64_t seed = 1;
  bool against_wolves = false;
};

absl::Status RunCalibrate(const Common& common, const CalibrateFlags& options) {
  HEFT_RETURN_IF_ERROR(CheckFilePlace(options.out, "model"));
  std::optional<SigningKey> signer;
  if (!options.sign.empty()) {
    HEFT_ASSIGN_OR_RETURN(signer, LoadSigner(options.sign));
  }
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(options.model));
  HEFT_ASSIGN_OR_RETURN(const TrainingData data, TrainingData::Load(options.data));
  SayLeftOut(common, data.left_out());
  HEFT_RETURN_IF_ERROR(CheckOutput(options.out));
  HEFT_ASSIGN_OR_RETURN(const Model calibrated, Calibrate(model, data, options.seed, common.monitor,
                                                          options.against_wolves));
  HEFT_ASSIGN_OR_RETURN(Described told, DescribeCalibration(calibrated));
  std::vector<uint8_t> bytes = calibrated.Serialize();
  if (signer) {
    HEFT_ASSIGN_OR_RETURN(bytes, signer->Sign({.role = Role::kTrainer}, bytes));
  }
  HEFT_RETURN_IF_ERROR(WriteResult(options.out, bytes));
  Json json = {{"out", options.out}, {"bytes", bytes.size()}};
  json.update(told.json);
  told.json = std::move(json);
  told.text =
      absl::StrCat("model ", HexString(calibrated.Id()), ": ", options.out, "\n", told.text);
  Print(common, told);
  return absl::OkStatus();
}

}  // namespace

void AddCalibrate(Command app) {
  const auto [command, options] =
      AddCommand(app, "calibrate",
                 "fit the thresholds of a model to labelled people who did not train it; galleries "
                 "and keys stay valid",
                 "heft calibrate --data DATA --model m.heft --out calibrated.heft", RunCalibrate);
  command
      .Add("-d,--data", &options->data,
           absl::StrCat("data folder: ", kFewestCalibrated,
                        " people or more with two samples each. People marked train or val in its "
                        "split.txt are left out if enough others remain"))
      .Required();
  command.Add("-m,--model", &options->model, "model file").Required();
  command.Add("-o,--out", &options->out, "model file to write").Required();
  command.Add("--seed", &options->seed, "random seed of the intervals").ShowDefault();
  command.Add(
      "--against-wolves", &options->against_wolves,
      "set thresholds so that a probe chosen to match many people is accepted no more often "
      "than the stated rate; they reject more genuine claims");
  command.Add("--sign", &options->sign,
              "sign the model as its trainer, with this key (heft trust)");
}

}  // namespace heft::cli
