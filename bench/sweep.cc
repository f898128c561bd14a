// SPDX-License-Identifier: Apache-2.0
#include "bench/sweep.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/threads.h"
#include "bench/world.h"
#include "experiment/gnuplot.h"
#include "fusion/normalise.h"
#include "ring/kernels.h"

namespace heft::bench {
using namespace experiment;  // NOLINT

namespace {

using ckks::Ciphertext;
using Stage = std::function<bool(std::string_view)>;

// One curve: a label and its points.
struct Curve {
  std::string title;
  std::vector<std::pair<double, double>> points;
};

struct Picture {
  std::string name, title, x, y;
  std::vector<Curve> curves;
  bool log_y = true;
};

std::string Rows(const Curve& curve) {
  std::string rows;
  for (const auto& [x, y] : curve.points) absl::StrAppendFormat(&rows, "%.9g %.9g\n", x, y);
  return rows;
}

void StartPicture(GnuplotJob* job, const std::string& name, const std::string& title,
                  const std::string& y) {
  absl::StrAppend(&job->script, "reset\nset terminal svg size 640,400 background rgb 'white' ",
                  "noenhanced font 'sans-serif,14'\nset output '", name, ".svg'\nset title ",
                  GnuplotQuote(title), "\nset ylabel ", GnuplotQuote(y),
                  "\nset grid\nset tics nomirror\nset border 3\n");
  job->outputs.push_back(name + ".svg");
}

// Times against a size, both axes logarithmic.
void AddPicture(GnuplotJob* job, const Picture& picture) {
  StartPicture(job, picture.name, picture.title, picture.y);
  absl::StrAppend(&job->script, "set xlabel ", GnuplotQuote(picture.x),
                  "\nset logscale x 2\nset format x '%.0s%c'\n",
                  picture.log_y ? "set logscale y 10\nset format y '%g'\n" : "set yrange [0:]\n",
                  "set key outside bottom center horizontal\n");
  std::vector<std::string> plots;
  for (size_t i = 0; i < picture.curves.size(); ++i) {
    const std::string file = absl::StrCat(picture.name, i, ".dat");
    job->inputs.emplace_back(file, Rows(picture.curves[i]));
    plots.push_back(absl::StrCat("'", file, "' with linespoints linewidth 2 pointtype ", 5 + 2 * i,
                                 " title ", GnuplotQuote(picture.curves[i].title)));
  }
  absl::StrAppend(&job->script, "plot ", absl::StrJoin(plots, ", "), "\nunset output\n");
}

// Named bars.
void AddBars(GnuplotJob* job, const std::string& name, const std::string& title,
             const std::string& y, const std::vector<std::pair<std::string, double>>& bars,
             bool log_y) {
  StartPicture(job, name, title, y);
  std::string rows;
  for (const auto& [label, value] : bars) {
    absl::StrAppendFormat(&rows, "\"%s\" %.9g %.3g\n", label, value, value);
  }
  job->inputs.emplace_back(name + ".dat", rows);
  absl::StrAppend(&job->script, "set style fill solid 0.6 noborder\nset boxwidth 0.6\n",
                  log_y ? "set logscale y 10\nset yrange [0.1:]\n" : "set yrange [0:]\n", "plot '",
                  name, ".dat' using 0:2:xtic(1) with boxes linecolor rgb '#4477aa' ",
                  "notitle, '' using 0:2:3 with labels offset 0,0.7 notitle\nunset output\n");
}

absl::Status Stopped() { return absl::CancelledError("interrupted"); }

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

absl::StatusOr<ProbeTimes> TimeProbe(World& world, const BenchOptions& options,
                                     const Stage& stage) {
  const ProbeFuser& prober = *world.prober;
  const Instance& instance = prober.instance();
  HEFT_ASSIGN_OR_RETURN(const auto inputs, world.EncryptSample(world.Sample()));
  const TiledCiphertexts block = EmptyBlock(*instance.context, world.model.gamma);
  Timings project, normalise, prepare, match;
  for (int i = 0; i < options.iterations; ++i) {
    if (!stage("fusing and matching")) return Stopped();
    Ciphertext z;
    Normalised fused;
    TiledCiphertexts prepared;
    HEFT_RETURN_IF_ERROR(Time(&project, [&]() -> absl::Status {
      HEFT_ASSIGN_OR_RETURN(z, prober.Project(Pointers(inputs)));
      return absl::OkStatus();
    }));
    HEFT_RETURN_IF_ERROR(Time(&normalise, [&]() -> absl::Status {
      HEFT_ASSIGN_OR_RETURN(fused, prober.Normalise(z));
      return absl::OkStatus();
    }));
    HEFT_RETURN_IF_ERROR(Time(&prepare, [&]() -> absl::Status {
      HEFT_ASSIGN_OR_RETURN(prepared, PrepareProbe(instance, fused.z, prober.keys()));
      return absl::OkStatus();
    }));
    HEFT_RETURN_IF_ERROR(Time(
        &match, [&] { return MatchBlock(instance, block, prepared, prober.keys()).status(); }));
  }
  return ProbeTimes{project.Median(), normalise.Median(), prepare.Median(), match.Median()};
}

// Fusion for several shapes of the model.
absl::Status SweepShapes(const BenchOptions& options, const Stage& stage, GnuplotJob* job,
                         Json* result) {
  Picture dimension{"dimension",      "Fusing one pair by dimension", "dimension of each modality",
                    "ms, one thread", {{"fuse one pair", {}}},        /*log_y=*/false};
  for (uint32_t d : {32, 64, 128, 256, 512, 1024, 2048, 4096}) {
    BenchOptions shape = options;
    shape.dimensions = {d, d};
    World world;
    if (!stage("making keys")) return Stopped();
    HEFT_RETURN_IF_ERROR(world.SetUp(shape));
    HEFT_ASSIGN_OR_RETURN(const ProbeTimes times, TimeProbe(world, options, stage));
    dimension.curves[0].points.emplace_back(d, times.fuse());
    (*result)["by_dimension"][absl::StrCat(d)] = times.ToJson();
  }
  AddPicture(job, dimension);
  Picture gamma{"gamma",
                "Fusing and matching by fused dimension",
                "fused dimension",
                "ms, one thread",
                {{"fuse one pair", {}}, {"prepare the probe", {}}, {"match 8,192 templates", {}}}};
  for (uint32_t g : {8, 16, 32, 64, 128}) {
    BenchOptions shape = options;
    shape.gamma = g;
    World world;
    if (!stage("making keys")) return Stopped();
    HEFT_RETURN_IF_ERROR(world.SetUp(shape));
    HEFT_ASSIGN_OR_RETURN(const ProbeTimes times, TimeProbe(world, options, stage));
    gamma.curves[0].points.emplace_back(g, times.fuse());
    gamma.curves[1].points.emplace_back(g, times.prepare);
    gamma.curves[2].points.emplace_back(g, times.block);
    (*result)["by_gamma"][absl::StrCat(g)] = times.ToJson();
  }
  AddPicture(job, gamma);
  return absl::OkStatus();
}

// Matching against galleries of random residues, on one thread and on all.
absl::Status SweepGallery(World& world, const BenchOptions& options, const Stage& stage,
                          GnuplotJob* job, Json* result) {
  const ProbeFuser& prober = *world.prober;
  const Instance& instance = prober.instance();
  HEFT_ASSIGN_OR_RETURN(const auto gallery,
                        RandomGallery(instance, options.million_templates, stage));
  HEFT_ASSIGN_OR_RETURN(const auto inputs, world.EncryptSample(world.Sample()));
  HEFT_ASSIGN_OR_RETURN(const Normalised fused, prober.Fuse(Pointers(inputs)));
  HEFT_ASSIGN_OR_RETURN(const auto prepared, PrepareProbe(instance, fused.z, prober.keys()));
  const size_t per_block = 2 * size_t{instance.params().slots()};
  Picture picture{"gallery",
                  "Matching one probe by gallery size, gallery in memory",
                  "templates",
                  "ms",
                  {{"one thread", {}}, {"all cores", {}}}};
  const int threads = ThreadCount();
  for (size_t templates = 1024; templates <= options.million_templates; templates *= 4) {
    const size_t blocks = (templates + per_block - 1) / per_block;
    Timings times[2];
    for (int i = 0; i < options.iterations; ++i) {
      if (!stage("matching a large gallery")) return Stopped();
      for (int all = 0; all < 2; ++all) {
        SetThreadCount(all == 1 ? 0 : 1);
        const std::vector<BlockRun> runs = BlockRuns(blocks, ThreadCount());
        std::vector<absl::Status> statuses(runs.size());
        HEFT_RETURN_IF_ERROR(Time(&times[all], [&] {
          ParallelFor(runs.size(), [&](size_t run) {
            const auto some =
                std::span(gallery).subspan(runs[run].first, runs[run].end - runs[run].first);
            statuses[run] = MatchBlocks(instance, some, prepared, prober.keys()).status();
          });
          return absl::OkStatus();
        }));
        for (const absl::Status& status : statuses) HEFT_RETURN_IF_ERROR(status);
      }
    }
    for (int all = 0; all < 2; ++all) {
      picture.curves[all].points.emplace_back(templates, times[all].Median());
    }
    (*result)["by_gallery"][absl::StrCat(templates)] = {{"one_thread_ms", times[0].Median()},
                                                        {"all_cores_ms", times[1].Median()}};
  }
  SetThreadCount(threads);
  AddPicture(job, picture);
  return absl::OkStatus();
}

// Enrolling n pairs: one by one, and by the SIMD encoding, whose cost is that of a full batch.
absl::Status SweepPairs(World& world, const BenchOptions& options, const Stage& stage,
                        GnuplotJob* job, Json* result) {
  Picture picture{"pairs",
                  "Enrolling n pairs",
                  "pairs",
                  "ms, one thread",
                  {{"one by one (compact encoding)", {}}, {"in bulk (SIMD encoding)", {}}}};
  HEFT_ASSIGN_OR_RETURN(const auto inputs, world.EncryptSample(world.Sample()));
  TiledCiphertexts block = EmptyBlock(*world.instance.context, world.model.gamma);
  for (uint32_t n : {1, 4, 16, 64, 256}) {
    Timings times;
    for (int i = 0; i < std::min(options.iterations, n > 16 ? 3 : 10); ++i) {
      if (!stage("enrolling one by one")) return Stopped();
      HEFT_RETURN_IF_ERROR(Time(&times, [&]() -> absl::Status {
        std::vector<Normalised> fused(n);
        std::vector<NewTemplate> added;
        for (uint32_t k = 0; k < n; ++k) {
          HEFT_ASSIGN_OR_RETURN(fused[k], world.fuser->Fuse(Pointers(inputs)));
          added.push_back({&fused[k].z, {k, 0}});
        }
        return AddToBlock(world.instance, &block, added, world.keys);
      }));
    }
    picture.curves[0].points.emplace_back(n, times.Median());
    (*result)["by_pairs"]["one_by_one_ms"][absl::StrCat(n)] = times.Median();
  }
  HEFT_ASSIGN_OR_RETURN(const auto columns, world.EncryptBulk(stage));
  Timings bulk;
  for (int i = 0; i < 5; ++i) {
    if (!stage("bulk enrolment")) return Stopped();
    HEFT_RETURN_IF_ERROR(Time(&bulk, [&] { return world.EnrolBulk(columns); }));
  }
  const uint32_t batch = world.instance.params().slots();
  for (uint32_t n = 1; n <= batch; n *= 4) {
    picture.curves[1].points.emplace_back(n, bulk.Median());
  }
  (*result)["by_pairs"]["bulk_ms"][absl::StrCat(batch)] = bulk.Median();
  AddPicture(job, picture);
  return absl::OkStatus();
}

absl::Status SweepInstructionSets(World& world, const BenchOptions& options, const Stage& stage,
                                  GnuplotJob* job, Json* result) {
  const std::string active = ring::ActiveKernels().name;
  std::vector<std::pair<std::string, double>> bars;
  for (const ring::Kernels* kernels : ring::AllKernels()) {
    ring::ForceKernels(kernels->name);
    BenchOptions few = options;
    few.iterations = std::min(options.iterations, 10);
    const auto times = TimeProbe(world, few, stage);
    ring::ForceKernels(active);
    HEFT_RETURN_IF_ERROR(times.status());
    bars.emplace_back(kernels->name, times->fuse());
    (*result)["by_instruction_set"][kernels->name] = times->ToJson();
  }
  AddBars(job, "instruction_set", "Fusing one 512 + 512 pair by instruction set", "ms, one thread",
          bars, /*log_y=*/true);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Sweep> RunSweep(const BenchOptions& options, const Stage& stage) {
  HEFT_RETURN_IF_ERROR(CheckGnuplot());
  Sweep sweep;
  GnuplotJob job;
  const int threads = ThreadCount();
  SetThreadCount(1);
  World world;
  if (!stage("making keys")) return Stopped();
  HEFT_RETURN_IF_ERROR(world.SetUp(options));
  HEFT_ASSIGN_OR_RETURN(const ProbeTimes times, TimeProbe(world, options, stage));
  AddBars(&job, "stages", "One probe by stage", "ms, one thread",
          {{"project", times.project},
           {"normalise", times.normalise},
           {"prepare", times.prepare},
           {"match 8,192", times.block}},
          /*log_y=*/false);
  sweep.result["stages"] = times.ToJson();
  HEFT_RETURN_IF_ERROR(SweepInstructionSets(world, options, stage, &job, &sweep.result));
  HEFT_RETURN_IF_ERROR(SweepPairs(world, options, stage, &job, &sweep.result));
  HEFT_RETURN_IF_ERROR(SweepShapes(options, stage, &job, &sweep.result));
  HEFT_RETURN_IF_ERROR(SweepGallery(world, options, stage, &job, &sweep.result));
  SetThreadCount(threads);
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> svg, RunGnuplot(job));
  for (size_t i = 0; i < svg.size(); ++i) sweep.pictures.emplace_back(job.outputs[i], svg[i]);
  return sweep;
}

}  // namespace heft::bench
