// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/commands.h"
#include "heft/dataset.h"
#include "program/common.h"

namespace heft::cli {
namespace {

struct SynthFlags {
  std::string out;
  SyntheticOptions synthetic;
  std::vector<double> jitter, within, noise;

  // Each option of the factor model chooses it.
  std::optional<FactorModel> Factors() const {
    if (jitter.empty() && within.empty() && noise.empty()) return std::nullopt;
    FactorModel model;
    if (!jitter.empty()) model.jitter = jitter;
    if (!within.empty()) model.within = within;
    if (!noise.empty()) model.noise = noise;
    return model;
  }
};

absl::Status RunSynth(const Common& common, const SynthFlags& options) {
  std::error_code ignored;
  if (std::filesystem::exists(options.out + "/labels.txt", ignored)) {
    return absl::AlreadyExistsError(
        absl::StrCat(options.out, " holds a data set already: choose another folder"));
  }
  SyntheticOptions synthetic = options.synthetic;
  synthetic.factors = options.Factors();
  HEFT_ASSIGN_OR_RETURN(const TrainingData data, TrainingData::Synthesise(synthetic));
  HEFT_RETURN_IF_ERROR(data.Write(options.out));
  // Reports show this line, so that the numbers are not taken for those of real people.
  HEFT_RETURN_IF_ERROR(WriteResult(options.out + "/README.md",
                                   absl::StrCat("Synthetic vectors made by heft synth, seed ",
                                                synthetic.seed, ": no real people.\n")));
  Print(common,
        {{"out", options.out},
         {"samples", data.size()},
         {"identities", synthetic.identities},
         {"dimensions", data.dimensions()}},
        absl::StrCat("synthetic data: ", data.size(), " samples of ", synthetic.identities,
                     " identities in ", options.out));
  return absl::OkStatus();
}

}  // namespace

void AddSynth(Command app) {
  const auto [command, options] = AddCommand(
      app, "synth", "make a synthetic data set in the form of real ones",
      "heft synth --out data --identities 190 --samples 6 --dimensions 512 128", RunSynth);
  SyntheticOptions& s = options->synthetic;
  command.Add("-o,--out", &options->out, "folder to write").Required();
  command.Add("--identities", &s.identities, "number of identities").Range(3, 1e6).ShowDefault();
  command.Add("--samples", &s.samples_per_identity, "samples of each identity")
      .Range(1, 1e6)
      .ShowDefault();
  command.Add("--dimensions", &s.dimensions, "dimension of each modality")
      .Range(1, 4096)
      .ShowDefault();
  command
      .Add("--jitter", &options->jitter,
           "factor model instead of the statistics of real embeddings: variation of samples along "
           "the directions that separate people, one per modality: 0.3 for a strong modality, 3 "
           "for a weak one (1)")
      .Range(0, 1000);
  command
      .Add("--within", &options->within,
           "factor model: variation along other directions, one per modality (1.15 1.07)")
      .Range(0, 1000);
  command
      .Add("--noise", &options->noise,
           "factor model: variation in all directions, one per modality (1.5)")
      .Range(0, 1000);
  command.Add("--seed", &s.seed, "random seed").ShowDefault();
}

}  // namespace heft::cli
