// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/threads.h"
#include "bench/bulk.h"
#include "experiment/figure.h"
#include "experiment/stopwatch.h"
#include "heft/evaluate.h"
#include "ring/kernels.h"

namespace heft::bench {
namespace {

using ckks::Ciphertext;
using experiment::Figure;
using experiment::GnuplotJob;
using experiment::Pointers;
using experiment::Roles;
using experiment::Timings;

// One curve: a label and its points.
struct Curve {
  std::string title;
  std::vector<std::pair<double, double>> points = {};
};

struct Picture {
  std::string name, title, x, y;
  std::vector<Curve> curves;
  bool log_y = true;
};

// Times against a size, both axes logarithmic.
void Draw(GnuplotJob* job, const Picture& picture) {
  Figure figure(job, picture.name, picture.title);
  figure.Label("x", picture.x);
  figure.Label("y", picture.y);
  figure.Line("set logscale x 2\nset format x '%.0s%c'");
  figure.Line(picture.log_y ? "set logscale y 10\nset format y '%g'" : "set yrange [0:]");
  const experiment::Colour colours[] = {experiment::kPlain, experiment::kEncrypted,
                                        experiment::kThird};
  for (size_t i = 0; i < picture.curves.size(); ++i) {
    std::string rows;
    for (const auto& [x, y] : picture.curves[i].points) {
      absl::StrAppendFormat(&rows, "%.9g %.9g\n", x, y);
    }
    figure.Curve(rows, "with lines", experiment::Style(colours[i], 2.5), picture.curves[i].title);
  }
  figure.Finish();
}

// Named bars.
void DrawBars(GnuplotJob* job, const std::string& name, const std::string& title,
              const std::vector<std::pair<std::string, double>>& bars, bool log_y) {
  Figure figure(job, name, title);
  figure.Label("y", "ms, one thread");
  figure.Line("set boxwidth 0.6");
  figure.Line(log_y ? "set logscale y 10\nset yrange [0.1:]" : "set yrange [0:]");
  std::string rows;
  for (const auto& [label, value] : bars) {
    absl::StrAppendFormat(&rows, "\"%s\" %.9g %.3g\n", label, value, value);
  }
  figure.Curve(rows, "using 0:2:xtic(1) with boxes", experiment::Fill(experiment::kPlain), "");
  figure.Curve(rows, "using 0:2:3 with labels offset 0,0.7 textcolor",
               experiment::Rgb(experiment::kInk), "");
  figure.Finish();
}

// Sweeper: the measurements, each with its part of the result and its picture.
class Sweeper {
 public:
  Sweeper(const Monitor& monitor, const BenchmarkOptions& options)
      : options_(options), progress_(monitor, "benchmark") {}

  absl::StatusOr<Sweep> Run() {
    HEFT_ASSIGN_OR_RETURN(roles_, MakeRoles(options_));
    HEFT_RETURN_IF_ERROR(Stages());
    HEFT_RETURN_IF_ERROR(InstructionSets());
    HEFT_RETURN_IF_ERROR(Pairs());
    HEFT_RETURN_IF_ERROR(Dimensions());
    HEFT_RETURN_IF_ERROR(FusedDimensions());
    HEFT_RETURN_IF_ERROR(Galleries());
    HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> svg, experiment::RunGnuplot(job_));
    for (size_t i = 0; i < svg.size(); ++i) {
      HEFT_ASSIGN_OR_RETURN(const std::string drawn,
                            experiment::InlineSvg(svg[i], job_.outputs[i]));
      sweep_.pictures.emplace_back(job_.outputs[i], experiment::SvgFile(drawn));
    }
    return std::move(sweep_);
  }

 private:
  // A probe's time through fusion, and its preparation for matching.
  struct ProbeTimes {
    double project = 0, normalise = 0, prepare = 0, block = 0;
    double fuse() const { return project + normalise; }
    Json ToJson() const {
      return {{"project_ms", project},
              {"normalise_ms", normalise},
              {"prepare_ms", prepare},
              {"block_ms", block}};
    }
  };

  absl::StatusOr<std::unique_ptr<Roles>> MakeRoles(const BenchmarkOptions& shape) const {
    HEFT_RETURN_IF_ERROR(Step(progress_, "making keys"));
    return Roles::Create(experiment::RandomModel(
        shape.dimensions, shape.gammas.empty() ? 32 : shape.gammas[0], shape.degree));
  }

  absl::StatusOr<std::vector<Ciphertext>> EncryptRandom(const Roles& roles) {
    return roles.EncryptSample(experiment::RandomSample(roles.model(), random_));
  }

  absl::StatusOr<ProbeTimes> TimeProbe(const Roles& roles, int iterations) {
    const ProbeFuser& prober = roles.prober();
    const Instance& instance = prober.instance();
    HEFT_ASSIGN_OR_RETURN(const auto inputs, EncryptRandom(roles));
    const TiledCiphertexts block = EmptyBlock(*instance.context, roles.model().gamma);
    Timings project, normalise, prepare, match;
    for (int i = 0; i < iterations; ++i) {
      HEFT_RETURN_IF_ERROR(Step(progress_, "fusing and matching"));
      HEFT_ASSIGN_OR_RETURN(const Ciphertext z,
                            project.Time([&] { return prober.Project(Pointers(inputs)); }));
      HEFT_ASSIGN_OR_RETURN(const Normalised fused,
                            normalise.Time([&] { return prober.Normalise(z); }));
      HEFT_ASSIGN_OR_RETURN(const TiledCiphertexts prepared, prepare.Time([&] {
        return PrepareProbe(instance, fused.z, prober.keys());
      }));
      HEFT_RETURN_IF_ERROR(
          match.Time([&] { return MatchBlock(instance, block, prepared, prober.keys()); })
              .status());
    }
    return ProbeTimes{project.Median(), normalise.Median(), prepare.Median(), match.Median()};
  }

  absl::Status Stages() {
    HEFT_ASSIGN_OR_RETURN(const ProbeTimes times, TimeProbe(*roles_, options_.iterations));
    DrawBars(&job_, "stages", "One probe by stage",
             {{"project", times.project},
              {"normalise", times.normalise},
              {"prepare", times.prepare},
              {"match 8,192", times.block}},
             /*log_y=*/false);
    sweep_.result["stages"] = times.ToJson();
    return absl::OkStatus();
  }

  absl::Status InstructionSets() {
    const std::string active = ring::ActiveKernels().name;
    std::vector<std::pair<std::string, double>> bars;
    for (const ring::Kernels* kernels : ring::AllKernels()) {
      ring::ForceKernels(kernels->name);
      const auto times = TimeProbe(*roles_, std::min(options_.iterations, 10));
      ring::ForceKernels(active);
      HEFT_RETURN_IF_ERROR(times.status());
      bars.emplace_back(kernels->name, times->fuse());
      sweep_.result["by_instruction_set"][kernels->name] = times->ToJson();
    }
    DrawBars(&job_, "instruction_set", "Fusing one 512 + 512 pair by instruction set", bars,
             /*log_y=*/true);
    return absl::OkStatus();
  }

  // Enrolling n pairs: one by one, and by the SIMD encoding, whose cost is that of a full batch.
  absl::Status Pairs() {
    Picture picture{"pairs",
                    "Enrolling n pairs",
                    "pairs",
                    "ms, one thread",
                    {{"one by one (compact encoding)"}, {"in bulk (SIMD encoding)"}}};
    HEFT_ASSIGN_OR_RETURN(const auto inputs, EncryptRandom(*roles_));
    TiledCiphertexts block = EmptyBlock(roles_->context(), roles_->model().gamma);
    Json& result = sweep_.result["by_pairs"];
    for (uint32_t n : {1, 4, 16, 64, 256}) {
      Timings times;
      for (int i = 0; i < std::min(options_.iterations, n > 16 ? 3 : 10); ++i) {
        HEFT_RETURN_IF_ERROR(Step(progress_, "enrolling one by one"));
        HEFT_RETURN_IF_ERROR(times.Time([&]() -> absl::Status {
          std::vector<Normalised> fused(n);
          std::vector<NewTemplate> added;
          for (uint32_t k = 0; k < n; ++k) {
            HEFT_ASSIGN_OR_RETURN(fused[k], roles_->fuser().Fuse(Pointers(inputs)));
            added.push_back({&fused[k].z, {k, 0}});
          }
          return roles_->Enrol(&block, added);
        }));
      }
      picture.curves[0].points.emplace_back(n, times.Median());
      result["one_by_one_ms"][absl::StrCat(n)] = times.Median();
    }
    HEFT_ASSIGN_OR_RETURN(const BulkColumns columns, EncryptBulk(*roles_, random_, progress_));
    Timings bulk;
    for (int i = 0; i < 5; ++i) {
      HEFT_RETURN_IF_ERROR(Step(progress_, "bulk enrolment"));
      HEFT_RETURN_IF_ERROR(bulk.Time([&] { return EnrolBulk(*roles_, columns); }));
    }
    const uint32_t batch = roles_->params().slots();
    for (uint32_t n = 1; n <= batch; n *= 4) {
      picture.curves[1].points.emplace_back(n, bulk.Median());
    }
    result["bulk_ms"][absl::StrCat(batch)] = bulk.Median();
    Draw(&job_, picture);
    return absl::OkStatus();
  }

  absl::StatusOr<ProbeTimes> TimeShape(const BenchmarkOptions& shape) {
    HEFT_ASSIGN_OR_RETURN(const auto roles, MakeRoles(shape));
    return TimeProbe(*roles, options_.iterations);
  }

  absl::Status Dimensions() {
    Picture picture{"dimension",
                    "Fusing one pair by dimension",
                    "dimension of each modality",
                    "ms, one thread",
                    {{"fuse one pair"}},
                    /*log_y=*/false};
    for (uint32_t d : {32, 64, 128, 256, 512, 1024, 2048, 4096}) {
      BenchmarkOptions shape = options_;
      shape.dimensions = {d, d};
      HEFT_ASSIGN_OR_RETURN(const ProbeTimes times, TimeShape(shape));
      picture.curves[0].points.emplace_back(d, times.fuse());
      sweep_.result["by_dimension"][absl::StrCat(d)] = times.ToJson();
    }
    Draw(&job_, picture);
    return absl::OkStatus();
  }

  absl::Status FusedDimensions() {
    Picture picture{"gamma",
                    "Fusing and matching by fused dimension",
                    "fused dimension",
                    "ms, one thread",
                    {{"fuse one pair"}, {"prepare the probe"}, {"match 8,192 templates"}}};
    for (uint32_t g : {8, 16, 32, 64, 128, 256}) {
      BenchmarkOptions shape = options_;
      shape.gammas = {g};
      HEFT_ASSIGN_OR_RETURN(const ProbeTimes times, TimeShape(shape));
      picture.curves[0].points.emplace_back(g, times.fuse());
      picture.curves[1].points.emplace_back(g, times.prepare);
      picture.curves[2].points.emplace_back(g, times.block);
      sweep_.result["by_gamma"][absl::StrCat(g)] = times.ToJson();
    }
    Draw(&job_, picture);
    return absl::OkStatus();
  }

  // One probe against blocks [0, blocks) of `gallery` on the threads that are set.
  absl::Status MatchAll(std::span<const TiledCiphertexts> gallery, const TiledCiphertexts& probe,
                        size_t blocks) const {
    const ProbeFuser& prober = roles_->prober();
    const std::vector<BlockRun> runs = BlockRuns(blocks, ThreadCount());
    return TryParallelFor(runs.size(), [&](size_t run) {
      const auto some = gallery.subspan(runs[run].first, runs[run].end - runs[run].first);
      return MatchBlocks(prober.instance(), Views(some), probe, prober.keys()).status();
    });
  }

  // Matching against galleries of random residues, on one thread and on all.
  absl::Status Galleries() {
    const ProbeFuser& prober = roles_->prober();
    HEFT_ASSIGN_OR_RETURN(const auto gallery,
                          RandomGallery(prober.instance(), options_.large_templates, progress_));
    HEFT_ASSIGN_OR_RETURN(const auto inputs, EncryptRandom(*roles_));
    HEFT_ASSIGN_OR_RETURN(const ProvenProbe fused, prober.Fuse(Pointers(inputs)));
    HEFT_ASSIGN_OR_RETURN(const auto prepared,
                          PrepareProbe(prober.instance(), fused.z, prober.keys()));
    const size_t per_block = roles_->TemplatesPerBlock();
    Picture picture{"gallery",
                    "Matching one probe by gallery size, gallery in memory",
                    "templates",
                    "ms",
                    {{"one thread"}, {"all cores"}}};
    for (size_t templates = 1024; templates <= options_.large_templates; templates *= 4) {
      const size_t blocks = (templates + per_block - 1) / per_block;
      Timings times[2];
      for (int i = 0; i < options_.iterations; ++i) {
        HEFT_RETURN_IF_ERROR(Step(progress_, "matching a large gallery"));
        for (int all = 0; all < 2; ++all) {
          SetThreadCount(all == 1 ? 0 : 1);
          HEFT_RETURN_IF_ERROR(
              times[all].Time([&] { return MatchAll(gallery, prepared, blocks); }));
        }
      }
      for (int all = 0; all < 2; ++all) {
        picture.curves[all].points.emplace_back(templates, times[all].Median());
      }
      sweep_.result["by_gallery"][absl::StrCat(templates)] = {{"one_thread_ms", times[0].Median()},
                                                              {"all_cores_ms", times[1].Median()}};
    }
    Draw(&job_, picture);
    return absl::OkStatus();
  }

  const BenchmarkOptions& options_;
  const Progress progress_;
  std::mt19937_64 random_{3};
  std::unique_ptr<Roles> roles_;
  GnuplotJob job_;
  Sweep sweep_;
};

}  // namespace
}  // namespace heft::bench

namespace heft {

absl::StatusOr<Sweep> RunSweep(const BenchmarkOptions& options, const Monitor& monitor) {
  HEFT_RETURN_IF_ERROR(experiment::CheckGnuplot());
  const int threads = ThreadCount();
  SetThreadCount(1);
  auto sweep = bench::Sweeper(monitor, options).Run();
  SetThreadCount(threads);
  return sweep;
}

}  // namespace heft
