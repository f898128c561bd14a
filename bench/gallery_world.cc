// SPDX-License-Identifier: Apache-2.0
#include "bench/gallery_world.h"

#include <algorithm>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "base/inside.h"
#include "base/status.h"
#include "experiment/random_model.h"
#include "experiment/stopwatch.h"
#include "gallery/change.h"
#include "heft/key_set.h"
#include "matcher/server_impl.h"

namespace heft::bench {

using experiment::Stopwatch;

void Say(const std::string& what) { std::cerr << what << std::endl; }

absl::StatusOr<World> OpenWorld(const std::string& folder) {
  HEFT_ASSIGN_OR_RETURN(Model model, LoadModel(folder + "/model.heft"));
  HEFT_ASSIGN_OR_RETURN(KeyOwner owner, KeyOwner::Load(model, folder + "/keys/secret.key"));
  HEFT_ASSIGN_OR_RETURN(Client client, Client::Create(model, owner.EncryptionKey()));
  HEFT_ASSIGN_OR_RETURN(const auto evaluation, ReadFile(folder + "/keys/evaluation.keys"));
  HEFT_ASSIGN_OR_RETURN(const auto enrolment, ReadFile(folder + "/keys/enrolment.keys"));
  HEFT_ASSIGN_OR_RETURN(Server server,
                        Server::Create(model, evaluation, "keys", enrolment, "enrolment keys"));
  return World{std::move(model),  std::move(owner), std::move(client),
               std::move(server), folder,           folder + "/gallery"};
}

absl::StatusOr<World> MakeWorld(const std::string& folder) {
  if (FileExists(folder)) return absl::AlreadyExistsError(folder + " is there already");
  const Model model = experiment::RandomModel({kDimension, kDimension}, kGamma, 3, "standard");
  HEFT_RETURN_IF_ERROR(MakeDirectories(folder));
  HEFT_RETURN_IF_ERROR(WriteFile(folder + "/model.heft", model.Serialize()));
  HEFT_RETURN_IF_ERROR(MakeKeySet(model, folder + "/keys").status());
  return OpenWorld(folder);
}

absl::StatusOr<std::vector<SampleFile>> Encrypt(const World& world, uint64_t person,
                                                const std::string& label, SampleUse use,
                                                bool fused) {
  std::mt19937_64 random(person + 1);
  std::vector<std::vector<float>> vectors;
  for (const ModalitySpec& m : world.model.modalities) {
    const auto unit = experiment::RandomUnit(m.dimension, random);
    vectors.emplace_back(unit.begin(), unit.end());
  }
  std::vector<SampleFile> files;
  if (fused) {
    std::vector<Samples> samples(2);
    for (size_t m = 0; m < 2; ++m) {
      samples[m].modality = world.model.modalities[m].name;
      samples[m].values = vectors[m];
      samples[m].labels = {&label, 1};
      samples[m].use = use;
    }
    HEFT_ASSIGN_OR_RETURN(auto bytes, world.client.EncryptFused(samples));
    files.push_back({std::move(bytes), "sample"});
    return files;
  }
  for (size_t m = 0; m < vectors.size(); ++m) {
    HEFT_ASSIGN_OR_RETURN(
        auto bytes, world.client.Encrypt(world.model.modalities[m].name, vectors[m], label, use));
    files.push_back({std::move(bytes), "sample"});
  }
  return files;
}

namespace {

// Named: enrolments of so many people, from this number on.
std::vector<Enrolment> Named(size_t first, size_t count) {
  std::vector<Enrolment> of(count);
  for (size_t i = 0; i < count; ++i) {
    of[i].identity = absl::StrCat("person-", first + i);
    for (size_t b = 0; b < 8; ++b) of[i].sample[b] = static_cast<uint8_t>((first + i) >> 8 * b);
    of[i].sample[15] = 1;
  }
  return of;
}

}  // namespace

absl::Status Fill(const World& world, size_t templates, nlohmann::json* out) {
  const Server::Impl& server = Inside::Of(world.server);
  const uint32_t count = server.rings().enrolment.params().slots();
  std::mt19937_64 random(7);
  std::vector<float> people[2];
  std::vector<std::string> labels;
  for (uint32_t i = 0; i < count; ++i) labels.push_back(absl::StrCat("p", i));
  std::vector<SampleFile> files;
  for (size_t m = 0; m < 2; ++m) {
    for (uint32_t i = 0; i < count; ++i) {
      const auto unit = experiment::RandomUnit(kDimension, random);
      people[m].insert(people[m].end(), unit.begin(), unit.end());
    }
    Samples samples;
    samples.modality = world.model.modalities[m].name;
    samples.values = people[m];
    samples.labels = labels;
    samples.encoding = SampleEncoding::kBulk;
    HEFT_ASSIGN_OR_RETURN(auto bytes, world.client.Encrypt(samples));
    files.push_back({std::move(bytes), "bulk"});
  }
  HEFT_ASSIGN_OR_RETURN(const SampleSet set, server.Read(std::move(files)));
  const Stopwatch fusing;
  HEFT_ASSIGN_OR_RETURN(const BatchEnrolment fused, server.FuseBulk(set, {}));
  (*out)["fuse_batch_s"] = fusing.Seconds();
  (*out)["batch"] = count;
  const Stopwatch building;
  // Names and samples are anywhere in the file: what commits together writes their pages once.
  constexpr size_t kBatchesAChange = 16;
  for (size_t done = 0; done < templates;) {
    HEFT_ASSIGN_OR_RETURN(const Gallery::Impl state, server.OpenGallery(world.gallery, true));
    HEFT_ASSIGN_OR_RETURN(GalleryChange change, GalleryChange::Begin(state, /*start=*/true));
    for (size_t b = 0; b < kBatchesAChange && done < templates; ++b) {
      const size_t some = std::min<size_t>(count, templates - done);
      TemplateBatch batch = fused.batch;
      batch.count = static_cast<uint32_t>(some);
      HEFT_RETURN_IF_ERROR(
          change.AddBatch(server.rings(), Named(done, some), std::move(batch), server.ring_keys()));
      done += some;
    }
    HEFT_RETURN_IF_ERROR(change.Commit());
    Say(absl::StrCat("built ", done, " of ", templates));
  }
  (*out)["build_s"] = building.Seconds();
  (*out)["build_templates_per_s"] = static_cast<double>(templates) / building.Seconds();
  return absl::OkStatus();
}

}  // namespace heft::bench
