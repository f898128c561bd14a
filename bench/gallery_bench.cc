// SPDX-License-Identifier: Apache-2.0
// gallery_bench: measures a large gallery in its store: building, opening, searching, enrolling,
// removing and copying. Its templates are real encryptions. One batch, of as many people as a
// ciphertext has slots, is fused once and added many times under other names. The measured times do
// not depend on the people.
//
//   gallery_bench FOLDER [TEMPLATES = 100000] [ENROLMENTS = 64]   makes FOLDER, prints JSON
//   gallery_bench --again FOLDER [ENROLMENTS = 64]                all but building, once more
//   gallery_bench --probe FOLDER                                  one cold identification
#include <array>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <thread>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/csprng.h"
#include "base/files.h"
#include "base/inside.h"
#include "base/threads.h"
#include "bench/gallery_world.h"
#include "experiment/roles.h"
#include "experiment/stopwatch.h"
#include "heft/base.h"
#include "heft/gallery_admin.h"
#include "matcher/server_impl.h"
#include "nlohmann/json.hpp"
#include "owner/key_owner_impl.h"

namespace heft {
namespace {

using bench::Encrypt;
using bench::Fill;
using bench::kGamma;
using bench::MakeWorld;
using bench::OpenWorld;
using bench::Say;
using bench::World;
using experiment::Median;
using experiment::Stopwatch;
using nlohmann::json;

// Tag: of the names that this run gives: another run may have been here.
const std::string& Tag() {
  static const std::string tag = [] {
    std::array<uint8_t, 4> random{};
    Csprng().Fill(random);
    return HexString(random);
  }();
  return tag;
}

double ResidentMegabytes() {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with("VmRSS:")) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

// Compares the matching of blocks in the map with the matching of copies in plain memory. The two
// alternate, and only matching itself is timed.
absl::Status CompareMemory(const World& world, json* out) {
  const Server::Impl& server = Inside::Of(world.server);
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl gallery, Gallery::Impl::Open(world.gallery));
  const size_t blocks = std::min<size_t>(gallery.blocks(), 245);
  std::vector<PinnedBlock> pinned;
  std::vector<BlockView> mapped, plain;
  std::vector<TiledCiphertexts> copies;
  const Stopwatch checking;
  for (size_t b = 0; b < blocks; ++b) {
    HEFT_ASSIGN_OR_RETURN(PinnedBlock block, gallery.Block(server.instance(), b, server.keys()));
    pinned.push_back(std::move(block));
    mapped.push_back(pinned.back().view);
  }
  (*out)["first_check_s"] = checking.Seconds();
  for (const BlockView view : mapped) copies.emplace_back(view.begin(), view.end());
  for (const TiledCiphertexts& copy : copies) plain.push_back(copy);
  HEFT_ASSIGN_OR_RETURN(auto files, Encrypt(world, 1, "probe", SampleUse::kIdentification));
  HEFT_ASSIGN_OR_RETURN(const SampleSet probe, server.Read(std::move(files)));
  HEFT_ASSIGN_OR_RETURN(const ProbeFuser prober,
                        ProbeFuser::Create(server.rings(), server.model(), server.keys()));
  std::vector<ckks::Ciphertext> modalities;
  for (size_t m = 0; m < probe.modalities(); ++m) {
    HEFT_ASSIGN_OR_RETURN(ckks::Ciphertext c, probe.modality(m)->Sample(0));
    modalities.push_back(std::move(c));
  }
  HEFT_ASSIGN_OR_RETURN(const ProvenProbe fused, prober.Fuse(experiment::Pointers(modalities)));
  HEFT_ASSIGN_OR_RETURN(const TiledCiphertexts tiles,
                        PrepareProbe(prober.instance(), fused.z, prober.keys()));
  std::vector<double> from_map, from_memory;
  for (int round = 0; round < 9; ++round) {
    for (const bool map : {true, false}) {
      const std::vector<BlockView>& views = map ? mapped : plain;
      const std::vector<BlockRun> runs =
          BlockRuns(views.size(), static_cast<size_t>(std::max(1, ThreadCount())));
      const Stopwatch watch;
      HEFT_RETURN_IF_ERROR(TryParallelFor(runs.size(), [&](size_t r) {
        return MatchBlocks(prober.instance(),
                           std::span(views).subspan(runs[r].first, runs[r].end - runs[r].first),
                           tiles, prober.keys())
            .status();
      }));
      (map ? from_map : from_memory).push_back(watch.Milliseconds());
    }
  }
  (*out)["match_blocks"] = blocks;
  (*out)["match_map_ms"] = Median(from_map);
  (*out)["match_memory_ms"] = Median(from_memory);
  (*out)["match_map_over_memory"] = Median(from_map) / Median(from_memory);
  return absl::OkStatus();
}

absl::Status ActivateAll(const World& world) {
  HEFT_ASSIGN_OR_RETURN(const Gallery gallery, Gallery::Open(world.gallery));
  HEFT_ASSIGN_OR_RETURN(const auto request, world.server.Pending(gallery));
  HEFT_ASSIGN_OR_RETURN(const Admissions admissions, world.owner.Approve(request, "pending"));
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, world.owner.Signer());
  return world.server
      .Activate(world.gallery, admissions.signed_admission, "admission", signer.public_key())
      .status();
}

// One at a time, durable and activated: samples as clients send them, on one thread.
absl::Status EnrolOnline(const World& world, size_t people, bool fused, const std::string& name,
                         json* out) {
  SetThreadCount(1);
  std::vector<double> times;
  for (size_t i = 0; i < people; ++i) {
    const std::string who = absl::StrCat(name, "-", Tag(), "-", i);
    HEFT_ASSIGN_OR_RETURN(auto files,
                          Encrypt(world, 1'000'000 + i, who, SampleUse::kEnrolment, fused));
    const Stopwatch watch;
    HEFT_RETURN_IF_ERROR(world.server.Enrol(world.gallery, std::move(files)).status());
    HEFT_RETURN_IF_ERROR(ActivateAll(world));
    times.push_back(watch.Milliseconds());
  }
  SetThreadCount(0);
  (*out)[name + "_ms"] = Median(times);
  double total = 0;
  for (const double t : times) total += t;
  (*out)[name + "_per_s"] = 1000 * static_cast<double>(times.size()) / total;
  return absl::OkStatus();
}

// FiveToRemove: five people, each in another block if there are enough blocks. An earlier run may
// have removed a person that this one would have chosen.
absl::StatusOr<std::vector<std::string>> FiveToRemove(const World& world) {
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl gallery, Gallery::Impl::Open(world.gallery));
  const uint64_t half = std::max<uint64_t>(1, gallery.size() / 2);
  const uint64_t apart = std::clamp<uint64_t>(half / 6, 1, gallery.head().block_places);
  uint64_t next = std::random_device()() % half;
  std::vector<std::string> chosen;
  for (const uint64_t end = next + half; chosen.size() < 5 && next < end;) {
    std::string name = absl::StrCat("person-", next);
    HEFT_ASSIGN_OR_RETURN(const NamedPlaces found, gallery.Find(name));
    next += found.places.empty() ? 1 : apart;
    if (!found.places.empty()) chosen.push_back(std::move(name));
  }
  if (chosen.size() == 5) return chosen;
  return absl::FailedPreconditionError(
      "fewer than five of the batch are left to be removed: build a larger gallery");
}

absl::Status RemoveBoth(const World& world, json* out) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<std::string> five, FiveToRemove(world));
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, world.owner.Signer());
  std::vector<double> exact, exchanged, server_side, owner_side;
  for (int i = 0; i < 5; ++i) {
    const Stopwatch watch;
    HEFT_ASSIGN_OR_RETURN(
        const RemoveResult removed,
        Remove(world.server, world.gallery, {absl::StrCat("fused-", Tag(), "-", i)}));
    exact.push_back(watch.Milliseconds());
    if (removed.erased != 1 || !removed.overwritten.ok()) {
      return absl::InternalError("not erased exactly");
    }
  }
  for (const std::string& person : five) {
    const Stopwatch watch;
    HEFT_ASSIGN_OR_RETURN(const RemoveResult removed,
                          Remove(world.server, world.gallery, {person}));
    if (removed.leaving != 1) return absl::InternalError("nobody leaves");
    HEFT_ASSIGN_OR_RETURN(const auto request, AskRenewal(world.server, world.gallery));
    const Stopwatch owner;
    HEFT_ASSIGN_OR_RETURN(const RenewedBlocks answer, world.owner.Renew(request, "request"));
    owner_side.push_back(owner.Milliseconds());
    HEFT_ASSIGN_OR_RETURN(
        const RenewResult renewed,
        Renew(world.server, world.gallery, answer.signed_renewal, "answer", signer.public_key()));
    exchanged.push_back(watch.Milliseconds());
    if (renewed.erased != 1 || !renewed.overwritten.ok()) {
      return absl::InternalError("not erased with the key owner");
    }
  }
  (*out)["remove_exact_ms"] = Median(exact);
  (*out)["remove_exchange_ms"] = Median(exchanged);
  (*out)["remove_exchange_owner_ms"] = Median(owner_side);
  return absl::OkStatus();
}

// Times identifications with and without a thread that enrols at the same time. The two alternate,
// and the enrolling thread gives way to identifications.
absl::Status Concurrent(const World& world, json* out) {
  constexpr size_t kArrived = 100;  // more than there is time for
  size_t enrolled = 0;
  std::vector<double> alone, beside;
  HEFT_ASSIGN_OR_RETURN(Gallery gallery, Gallery::Open(world.gallery));
  for (int round = 0; round < 10; ++round) {
    for (const bool writing : {false, true}) {
      std::atomic<bool> stop{false};
      absl::Status written;
      std::vector<std::vector<SampleFile>> arrived;  // clients encrypt elsewhere
      for (size_t i = 0; writing && i < kArrived; ++i) {
        HEFT_ASSIGN_OR_RETURN(auto files,
                              Encrypt(world, 2'000'000 + kArrived * round + i,
                                      absl::StrCat("beside-", Tag(), "-", round, "-", i),
                                      SampleUse::kEnrolment, /*fused=*/true));
        arrived.push_back(std::move(files));
      }
      std::thread writer;
      if (writing) {
        writer = std::thread([&] {
          written = GiveWay();
          for (auto& files : arrived) {
            if (stop || !written.ok()) break;
            written = world.server.Enrol(world.gallery, std::move(files)).status();
            if (written.ok()) written = ActivateAll(world);
            ++enrolled;
          }
        });
      }
      for (int i = 0; i < 5; ++i) {
        HEFT_ASSIGN_OR_RETURN(auto files, Encrypt(world, 3, "probe", SampleUse::kIdentification));
        const Stopwatch watch;
        HEFT_ASSIGN_OR_RETURN(gallery, gallery.Newest());
        const auto reply = world.server.Identify(gallery, std::move(files));
        (writing ? beside : alone).push_back(watch.Milliseconds());
        if (!reply.ok()) written = reply.status();
      }
      stop = true;
      if (writer.joinable()) writer.join();
      HEFT_RETURN_IF_ERROR(written);
    }
  }
  (*out)["enrolled_beside"] = enrolled;
  (*out)["identify_ms"] = Median(alone);
  (*out)["identify_while_enrolling_ms"] = Median(beside);
  (*out)["identify_while_enrolling_over_alone"] = Median(beside) / Median(alone);
  return absl::OkStatus();
}

absl::Status VerifyAndCopy(const World& world, json* out) {
  const Server::Impl& server = Inside::Of(world.server);
  HEFT_ASSIGN_OR_RETURN(const Gallery::Impl gallery, Gallery::Impl::Open(world.gallery));
  {
    const Stopwatch watch;
    HEFT_ASSIGN_OR_RETURN(const Gallery::Impl::Finding finding, gallery.Verify(&server.instance()));
    (*out)["verify_s"] = watch.Seconds();
    if (!finding.intact()) return absl::DataLossError(finding.complaints.front());
  }
  HEFT_ASSIGN_OR_RETURN(const StoreStatistics sizes, gallery.store()->Statistics());
  (*out)["store_bytes"] = sizes.bytes;
  (*out)["live_bytes"] = sizes.live_bytes;
  const std::string copy = world.folder + "/snapshot";
  const Stopwatch watch;
  HEFT_RETURN_IF_ERROR(gallery.store()->Copy(copy, {}));
  (*out)["snapshot_s"] = watch.Seconds();
  (*out)["snapshot_gb_per_s"] = static_cast<double>(sizes.live_bytes) / watch.Seconds() / 1e9;
  std::error_code ignored;
  std::filesystem::remove_all(copy, ignored);
  return absl::OkStatus();
}

absl::Status Probe(const std::string& folder) {
  const Stopwatch all;
  HEFT_ASSIGN_OR_RETURN(const Model model, LoadModel(folder + "/model.heft"));
  HEFT_ASSIGN_OR_RETURN(const auto keys, ReadFile(folder + "/keys/evaluation.keys"));
  HEFT_ASSIGN_OR_RETURN(const Server server, Server::Create(model, keys));
  const double keyed = all.Milliseconds();
  HEFT_ASSIGN_OR_RETURN(const Gallery gallery, Gallery::Open(folder + "/gallery"));
  const double opened = all.Milliseconds();
  std::vector<SampleFile> files;
  for (int m = 0; m < 2; ++m) {
    HEFT_ASSIGN_OR_RETURN(auto bytes, ReadFile(absl::StrCat(folder, "/probe-", m, ".ct")));
    files.push_back({std::move(bytes), "probe"});
  }
  HEFT_ASSIGN_OR_RETURN(const auto reply, server.Identify(gallery, std::move(files)));
  const double answered = all.Milliseconds();
  json figures;
  figures["keys_ms"] = keyed;
  figures["open_ms"] = opened - keyed;
  figures["answer_ms"] = answered - opened;
  figures["all_ms"] = answered;
  figures["reply_bytes"] = reply.size();
  figures["resident_mb"] = ResidentMegabytes();
  figures["templates"] = gallery.size();
  std::cout << figures.dump(2) << "\n";
  return absl::OkStatus();
}

// All measurements of a gallery that exists.
absl::Status MeasureFull(const World& world, size_t enrolments, json* figures) {
  json& out = *figures;
  Say("enrolling into a full one");
  HEFT_RETURN_IF_ERROR(EnrolOnline(world, enrolments, true, "fused", &out));
  HEFT_RETURN_IF_ERROR(EnrolOnline(world, std::min<size_t>(enrolments, 16), false, "whole", &out));
  HEFT_RETURN_IF_ERROR(world.server.Fold(world.gallery));
  Say("removing");
  HEFT_RETURN_IF_ERROR(RemoveBoth(world, &out));
  Say("matching");
  HEFT_RETURN_IF_ERROR(CompareMemory(world, &out));
  HEFT_RETURN_IF_ERROR(Concurrent(world, &out));
  HEFT_RETURN_IF_ERROR(world.server.Fold(world.gallery));
  Say("verifying and copying");
  HEFT_RETURN_IF_ERROR(VerifyAndCopy(world, &out));
  HEFT_ASSIGN_OR_RETURN(const auto files, Encrypt(world, 5, "probe", SampleUse::kIdentification));
  for (size_t m = 0; m < files.size(); ++m) {
    HEFT_RETURN_IF_ERROR(
        WriteFile(absl::StrCat(world.folder, "/probe-", m, ".ct"), files[m].bytes));
  }
  return absl::OkStatus();
}

// `templates`: to be built first; 0: it is there.
absl::Status Measure(const std::string& folder, size_t templates, size_t enrolments) {
  // The record of the gallery's newest state lies beside it, not in the user's own state folder.
  setenv("HEFT_STATE_DIR", (folder + ".state").c_str(), 0);
  json out;
  out["gamma"] = kGamma;
  out["threads"] = ThreadCount();
  HEFT_ASSIGN_OR_RETURN(const World world, templates > 0 ? MakeWorld(folder) : OpenWorld(folder));
  // A service has its store open all the time.
  HEFT_ASSIGN_OR_RETURN(
      const auto kept,
      OpenStore(world.gallery, templates > 0 ? StoreMode::kCreate : StoreMode::kWrite));
  if (templates > 0) {
    Say("enrolling into an empty gallery");
    HEFT_RETURN_IF_ERROR(EnrolOnline(world, enrolments, true, "first-fused", &out));
    HEFT_RETURN_IF_ERROR(Fill(world, templates, &out));
  }
  HEFT_ASSIGN_OR_RETURN(const GalleryInfo gallery, DescribeGallery(world.gallery));
  out["templates"] = gallery.templates;
  HEFT_RETURN_IF_ERROR(MeasureFull(world, enrolments, &out));
  std::cout << out.dump(2) << "\n";
  return absl::OkStatus();
}

}  // namespace
}  // namespace heft

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  absl::Status status = absl::InvalidArgumentError(
      "usage: gallery_bench FOLDER [TEMPLATES [ENROLMENTS]], gallery_bench --again FOLDER "
      "[ENROLMENTS], or gallery_bench --probe FOLDER");
  size_t templates = 100000, enrolments = 64;
  if (arguments.size() == 2 && arguments[0] == "--probe") {
    status = heft::Probe(arguments[1]);
  } else if ((arguments.size() == 2 || arguments.size() == 3) && arguments[0] == "--again" &&
             (arguments.size() < 3 || absl::SimpleAtoi(arguments[2], &enrolments))) {
    status = heft::Measure(arguments[1], 0, enrolments);
  } else if (!arguments.empty() && arguments.size() <= 3 && arguments[0][0] != '-' &&
             (arguments.size() < 2 || absl::SimpleAtoi(arguments[1], &templates)) &&
             (arguments.size() < 3 || absl::SimpleAtoi(arguments[2], &enrolments))) {
    status = heft::Measure(arguments[0], templates, enrolments);
  }
  if (status.ok()) return 0;
  std::cerr << "gallery_bench: " << status.message() << "\n";
  return 1;
}
