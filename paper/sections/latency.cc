// SPDX-License-Identifier: Apache-2.0
// Table 3 of the paper: enrolment and authentication by stage, its route and ours on one engine,
// and the same in message space.
#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "experiment/roles.h"
#include "paper/methods/route.h"
#include "paper/sections/sections.h"

namespace heft::paper {
namespace {

using ckks::Ciphertext;
using experiment::Median;
using experiment::Roles;
using experiment::Stopwatch;

const std::vector<uint32_t> kDimensions = {512, 512};
constexpr uint32_t kTimedGamma = 32;
constexpr uint32_t kGallery = 1024;

// Stages: milliseconds of one ciphertext.
struct Stages {
  double concatenation = 0, projection = 0, normalisation = 0;
  double preprocessing = 0;   // of `preprocessed` templates
  double score = 0;           // of one gallery ciphertext
  uint32_t vectors = 1;       // samples that one ciphertext enrols
  uint32_t preprocessed = 1;  // templates
  uint32_t templates = 1;     // of one gallery ciphertext
  std::string parameters, security;
  double Fusion() const { return concatenation + projection + normalisation; }
};

// PaperStages: what the paper gives, 0 where it does not. Its "fusion" of an enrolment includes
// preprocessing.
struct PaperStages {
  double concatenation, projection, normalisation, preprocessing, fusion, score;
};

absl::StatusOr<Stages> TimePaperRoute(const Monitor& monitor,
                                      const NormalisationSpec& normalisation, int repetitions) {
  Model model = experiment::RandomModel(kDimensions, kTimedGamma, 2);
  model.approximation.interval = normalisation.Range();
  HEFT_ASSIGN_OR_RETURN(const std::unique_ptr<PaperEngine> engine,
                        MakePaperEngine(model, normalisation));
  const PaperRoute& route = *engine->route;
  Stages stages;
  stages.vectors = route.plan().projection.vectors;
  stages.templates = stages.preprocessed = route.plan().packing->templates;
  std::mt19937_64 random(3);
  std::vector<FeatureMatrix> samples;
  for (uint32_t dimension : kDimensions) {
    samples.push_back(RandomUnits(static_cast<int>(stages.vectors), dimension, random));
  }
  HEFT_ASSIGN_OR_RETURN(const auto batch, engine->EncryptBatch(samples, 0, stages.vectors));
  absl::StatusOr<std::vector<Ciphertext>> joined, projected, gallery;
  absl::StatusOr<Normalised> normalised;
  const auto time = [&](double* ms, int times, const auto& work) -> absl::Status {
    HEFT_ASSIGN_OR_RETURN(*ms, MedianMs(monitor, times, work));
    return absl::OkStatus();
  };
  HEFT_RETURN_IF_ERROR(time(&stages.concatenation, repetitions, [&] {
    return (joined = route.projector().Concatenate(batch)).status();
  }));
  HEFT_RETURN_IF_ERROR(time(&stages.projection, repetitions, [&] {
    return (projected = route.projector().Project(*joined)).status();
  }));
  HEFT_RETURN_IF_ERROR(time(&stages.normalisation, repetitions, [&] {
    return (normalised = route.normaliser().Apply((*projected)[0])).status();
  }));
  // As many results as one gallery ciphertext takes.
  const std::vector<Ciphertext> results(route.plan().packing->groups, normalised->z);
  HEFT_RETURN_IF_ERROR(time(&stages.preprocessing, 1,
                            [&] { return (gallery = route.matcher().Pack(results)).status(); }));
  HEFT_RETURN_IF_ERROR(time(&stages.score, repetitions, [&] {
    return route.matcher().Match(normalised->z, *gallery).status();
  }));
  stages.parameters = engine->world->params().Describe();
  stages.security = engine->world->params().security().Describe();
  return stages;
}

// TimeOurRoute: compact encoding and diagonal blocks, profile "compact".
absl::StatusOr<Stages> TimeOurRoute(const Monitor& monitor, int degree, int repetitions) {
  HEFT_ASSIGN_OR_RETURN(const std::unique_ptr<Roles> roles,
                        Roles::Create(experiment::RandomModel(kDimensions, kTimedGamma, degree)));
  std::mt19937_64 random(3);
  HEFT_ASSIGN_OR_RETURN(const std::vector<Ciphertext> sample,
                        roles->EncryptSample(experiment::RandomSample(roles->model(), random)));
  const std::vector<const Ciphertext*> pointers = experiment::Pointers(sample);
  Stages stages;
  stages.templates = static_cast<uint32_t>(roles->TemplatesPerBlock());
  HEFT_ASSIGN_OR_RETURN(stages.projection, MedianMs(monitor, repetitions, [&] {
                          return roles->fuser().Project(pointers).status();
                        }));
  absl::StatusOr<Normalised> fused;
  HEFT_ASSIGN_OR_RETURN(const double all, MedianMs(monitor, repetitions, [&] {
                          return (fused = roles->fuser().Fuse(pointers)).status();
                        }));
  stages.normalisation = std::max(0.0, all - stages.projection);
  TiledCiphertexts block = EmptyBlock(roles->context(), kTimedGamma);
  const NewTemplate added[] = {{&fused->z, PositionOf(0, roles->params().slots())}};
  HEFT_ASSIGN_OR_RETURN(stages.preprocessing,
                        MedianMs(monitor, 1, [&] { return roles->Enrol(&block, added); }));
  HEFT_ASSIGN_OR_RETURN(const ProvenProbe probe, roles->prober().Fuse(pointers));
  HEFT_ASSIGN_OR_RETURN(stages.score, MedianMs(monitor, repetitions, [&] {
                          return roles->Match(block, probe.z).status();
                        }));
  stages.parameters = roles->params().Describe();
  stages.security = roles->params().security().Describe();
  return stages;
}

// PlainTimes: microseconds of the stages on plain numbers, a sample or a comparison each.
struct PlainTimes {
  double concatenation = 0, projection = 0, normalisation = 0, score = 0;
};

PlainTimes TimePlain() {
  constexpr int kSamples = 512;
  std::mt19937_64 random(4);
  const FeatureMatrix x = RandomUnits(kSamples, kDimensions[0], random),
                      y = RandomUnits(kSamples, kDimensions[1], random);
  const Model model = experiment::RandomModel(kDimensions, kTimedGamma, 2);
  const FeatureMatrix p =
      Eigen::Map<const FeatureMatrix>(model.projection.data(), kTimedGamma, x.cols() + y.cols());
  FeatureMatrix joined(kSamples, x.cols() + y.cols()), z(kSamples, kTimedGamma);
  PlainTimes times;
  double sink = 0;
  const auto each = [&](const auto& work) {
    std::vector<double> us;
    for (int run = 0; run < 5; ++run) {
      const Stopwatch watch(Stopwatch::kProcess);
      for (int i = 0; i < kSamples; ++i) work(i);
      us.push_back(1e3 * watch.Milliseconds() / kSamples);
    }
    return Median(us);
  };
  times.concatenation = each([&](int i) { joined.row(i) << x.row(i), y.row(i); });
  times.projection = each([&](int i) { z.row(i).noalias() = joined.row(i) * p.transpose(); });
  times.normalisation = each([&](int i) { z.row(i) /= z.row(i).norm(); });
  times.score = each([&](int i) { sink += z.row(i).dot(z.row((i + 1) % kSamples)); });
  // What a loop computes must be used, or it is left out.
  if (!std::isfinite(sink)) times.score = 0;
  return times;
}

Table PlainTable(const PlainTimes& plain) {
  Table table{.id = "message_space",
              .caption = "Plain numbers, CPU microseconds a sample or a comparison.",
              .columns = {{"stage", "Stage"},
                          {"us", "µs", Format::kMilliseconds},
                          {"paper_us", "paper, µs", Format::kMilliseconds, true}}};
  table.rows = {{"concatenation", plain.concatenation, 0.62},
                {"projection", plain.projection, 1.02},
                {"normalisation", plain.normalisation, 11.75},
                {"score", plain.score, 4.51}};
  return table;
}

// StageTable: measured columns, then the paper's of the same names; `keys` and labels.
Table StageTable(const std::string& id, const std::string& caption,
                 const std::vector<std::pair<std::string, std::string>>& keys) {
  Table table{.id = id, .caption = caption, .columns = {{"route", "Route and normalisation"}}};
  for (const auto& [key, label] : keys) {
    table.columns.push_back({key, label, Format::kMilliseconds});
  }
  for (const auto& [key, label] : keys) {
    if (key == "against_1024") continue;  // which the paper does not give
    table.columns.push_back({"paper_" + key, "paper: " + label, Format::kMilliseconds, true});
  }
  return table;
}

// AddRow: `paper` may be empty, and 0 is nothing.
void AddRow(const std::string& name, const std::vector<double>& measured,
            const std::vector<double>& paper, Table* table) {
  std::vector<Json> row = {name};
  for (double ms : measured) row.push_back(ms);
  for (double ms : paper) row.push_back(ms > 0 ? Json(ms) : Json());
  row.resize(table->columns.size());
  table->rows.push_back(std::move(row));
}

// Tables: both tables, and the parameters of the measurement.
struct Tables {
  Table enrolment = StageTable("enrolment",
                               "Enrolment, ms a sample. “All” is what the paper calls fusion in "
                               "this table, preprocessing included.",
                               {{"concatenation", "Concat."},
                                {"projection", "Projection"},
                                {"normalisation", "Normal."},
                                {"preprocessing", "Preproc."},
                                {"all", "All"}});
  Table authentication = StageTable(
      "authentication",
      "Authentication, ms. Fusion is the three stages before it. A gallery ciphertext of the "
      "paper’s holds 256 templates at N = 16384 and 512 at N = 32768; our block holds 8,192.",
      {{"concatenation", "Concat."},
       {"projection", "Projection"},
       {"normalisation", "Normal."},
       {"fusion", "Fusion"},
       {"score", "Scores"},
       {"against_1024", "Fuse and match 1,024"}});
  std::vector<std::pair<std::string, std::string>> parameters;

  void Add(const std::string& name, const Stages& s, const PaperStages* e, const PaperStages* a) {
    const double n = s.vectors, preprocessing = s.preprocessing / s.preprocessed;
    AddRow(name,
           {s.concatenation / n, s.projection / n, s.normalisation / n, preprocessing,
            s.Fusion() / n + preprocessing},
           e == nullptr ? std::vector<double>()
                        : std::vector<double>{e->concatenation, e->projection, e->normalisation,
                                              e->preprocessing, e->fusion},
           &enrolment);
    const double ciphertexts = std::ceil(static_cast<double>(kGallery) / s.templates);
    AddRow(name,
           {s.concatenation, s.projection, s.normalisation, s.Fusion(), s.score,
            s.Fusion() + ciphertexts * s.score},
           a == nullptr ? std::vector<double>()
                        : std::vector<double>{a->concatenation, a->projection, a->normalisation,
                                              a->fusion, a->score},
           &authentication);
    parameters.emplace_back(name, absl::StrCat(s.parameters, "; ", s.security));
  }
};

// Case: a normalisation on the paper's route, with the paper's times.
struct Case {
  std::string name;
  NormalisationSpec spec;
  PaperStages enrolment, authentication;
};

absl::StatusOr<std::vector<Case>> PaperCases(bool slow) {
  HEFT_ASSIGN_OR_RETURN(const PaperNormalisations n, MakePaperNormalisations());
  std::vector<Case> cases = {{"paper’s route, degree 2",
                              n.degree2,
                              {5.68, 244.89, 31.40, 3.41, 285.38, 0},
                              {22.72, 979.54, 125.59, 0, 1127.85, 4.87}},
                             {"paper’s route, “degree 6”",
                              n.degree6,
                              {11.17, 470.86, 83.32, 3.62, 568.97, 0},
                              {89.05, 3752.24, 663.95, 0, 4505.24, 5.21}},
                             {"paper’s route, Goldschmidt",
                              n.goldschmidt,
                              {23.22, 954.03, 380.28, 2.31, 1359.84, 0},
                              {185.00, 7602.64, 3030.47, 0, 10818.11, 2.75}}};
  if (!slow) cases.pop_back();
  return cases;
}

absl::StatusOr<Tables> MeasureAll(const Study& study) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<Case> cases, PaperCases(study.effort.slow_methods));
  const int repetitions = study.effort.repetitions;
  Progress progress(study.monitor, "latency");
  Tables tables;
  for (const Case& c : cases) {
    progress.Update(tables.enrolment.rows.size(), cases.size() + 2, c.name);
    HEFT_ASSIGN_OR_RETURN(const Stages s, TimePaperRoute(study.monitor, c.spec, repetitions));
    tables.Add(c.name, s, &c.enrolment, &c.authentication);
  }
  for (int degree : {2, 3}) {
    const std::string name = absl::StrCat("our route, degree ", degree);
    progress.Update(tables.enrolment.rows.size(), cases.size() + 2, name);
    HEFT_ASSIGN_OR_RETURN(const Stages s, TimeOurRoute(study.monitor, degree, repetitions));
    for (Table* table : {&tables.enrolment, &tables.authentication}) {
      table->main_rows.push_back(table->rows.size());
    }
    tables.Add(name, s, nullptr, nullptr);
  }
  return tables;
}

}  // namespace

absl::StatusOr<Section> Latency(const Study& study) {
  Section section{.id = "table3", .title = "Latency", .paper = "Table 3"};
  section.text = {
      "CPU milliseconds, medians, 512 + 512 dimensions to 32, random vectors. Enrolment is a "
      "sample’s share of a ciphertext that holds several; authentication is a whole ciphertext for "
      "one sample, as in the paper. Scores: one gallery ciphertext, with us one block with the "
      "probe’s preparation."};
  const OneThread one_thread;
  HEFT_ASSIGN_OR_RETURN(Tables tables, MeasureAll(study));
  section.tables = {std::move(tables.enrolment), std::move(tables.authentication),
                    PlainTable(TimePlain())};
  section.parameters = std::move(tables.parameters);
  section.notes = {
      "The paper measured SEAL on another machine: its times and ours do not compare, the ratios "
      "between rows do.",
      "“Degree 6” runs at N = 16384 here, as 32-bit limbs spend fewer bits a level; the published "
      "code uses N = 32768 for it.",
      "Enrolments compare as a whole: concatenation, projection, normalisation and preprocessing "
      "of one sample, in the paper’s numbers as in ours. The paper sets their sum under “fusion”; "
      "of an authentication its “fusion” has no preprocessing.",
      "Our preprocessing is the enrolment of one template into a block, one at a time; the paper’s "
      "packs as many as a ciphertext holds.",
      "The paper’s score computation is a single number without its gallery’s size; its abstract "
      "gives 884 ms for fusing a pair and matching 1,024, less than its stages add up to.",
      "Concatenation in our encoding is an addition inside the projection and has no time of its "
      "own."};
  return section;
}

}  // namespace heft::paper
