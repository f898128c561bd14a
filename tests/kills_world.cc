// SPDX-License-Identifier: Apache-2.0
#include "tests/kills_world.h"

#include <cmath>
#include <filesystem>
#include <optional>
#include <random>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/files.h"
#include "base/inside.h"
#include "experiment/random_model.h"
#include "fusion/owner/secret_key_file.h"
#include "heft/server.h"

namespace heft::kills {
namespace {

using experiment::Dot;

// kMany: a limit that is never reached, since openings are not tested here.
constexpr uint64_t kMany = 1'000'000'000;

// A vector for each modality, such that the polynomial normalises their sum well.
std::vector<std::vector<double>> Vectors(const Model& model, Person person) {
  std::mt19937_64 random(person);
  for (;;) {
    std::vector<std::vector<double>> vectors;
    for (const ModalitySpec& m : model.modalities) {
      vectors.push_back(experiment::RandomUnit(m.dimension, random));
    }
    double norm = 0;
    experiment::FusePlain(model, vectors, &norm);
    if (norm > 0.5 && norm < 1.8) return vectors;
  }
}

std::string SamplePath(const std::string& folder, Person first, size_t file) {
  return absl::StrCat(folder, "/samples/", first, "-", file, ".ct");
}

// Writes the whole file or nothing, since a writer may be killed meanwhile.
absl::Status Keep(const std::string& path, ByteSpan bytes) {
  const std::string fresh = absl::StrCat(path, ".", getpid());
  HEFT_RETURN_IF_ERROR(WriteOutput(fresh, bytes));
  std::error_code error;
  std::filesystem::rename(fresh, path, error);
  return error ? absl::UnavailableError(error.message()) : absl::OkStatus();
}

absl::StatusOr<Server> LoadServer(const Model& model, const std::string& folder) {
  HEFT_ASSIGN_OR_RETURN(const auto evaluation, ExpandedKeys::Open(folder + "/evaluation.expanded",
                                                                  folder + "/evaluation.keys"));
  HEFT_ASSIGN_OR_RETURN(const auto enrolment, ExpandedKeys::Open(folder + "/enrolment.expanded",
                                                                 folder + "/enrolment.keys"));
  return Server::CreateFrom(model, {.expanded = &evaluation}, {.expanded = &enrolment});
}

}  // namespace

const Server::Impl& World::server_impl() const { return Inside::Of(server); }

absl::StatusOr<World> World::Make(const std::string& folder) {
  const Model model = experiment::RandomModel({24, 16}, 16, 3, "standard");
  HEFT_RETURN_IF_ERROR(MakeDirectories(folder + "/samples"));
  HEFT_RETURN_IF_ERROR(WriteFile(folder + "/model.heft", model.Serialize()));
  HEFT_ASSIGN_OR_RETURN(const KeyOwner owner, KeyOwner::Generate(model));
  HEFT_RETURN_IF_ERROR(WriteFile(folder + "/encryption.key", owner.EncryptionKey()));
  HEFT_ASSIGN_OR_RETURN(const auto evaluation, owner.EvaluationKeys());
  HEFT_RETURN_IF_ERROR(WriteFile(folder + "/evaluation.keys", evaluation));
  HEFT_ASSIGN_OR_RETURN(const auto enrolment, owner.EnrolmentKeys());
  HEFT_RETURN_IF_ERROR(WriteFile(folder + "/enrolment.keys", enrolment));
  for (const std::string kind : {"evaluation", "enrolment"}) {
    HEFT_RETURN_IF_ERROR(ExpandedKeys::Make(model, absl::StrCat(folder, "/", kind, ".keys"),
                                            absl::StrCat(folder, "/", kind, ".expanded")));
  }
  const KeyOwner::Impl& impl = Inside::Of(owner);
  HEFT_ASSIGN_OR_RETURN(const auto secret, SerializeSecretKeys(impl.rings(), impl.keys(), {}));
  HEFT_RETURN_IF_ERROR(WriteFileAtomic(folder + "/secret.key", secret, 0600));
  return Load(folder);
}

absl::StatusOr<World> World::Load(const std::string& folder) {
  HEFT_ASSIGN_OR_RETURN(Model model, LoadModel(folder + "/model.heft"));
  HEFT_ASSIGN_OR_RETURN(const Rings rings, MakeRings(model));
  HEFT_ASSIGN_OR_RETURN(const auto secret, ReadFile(folder + "/secret.key"));
  HEFT_ASSIGN_OR_RETURN(SecretKeys keys, ParseSecretKeys(rings, secret, {}, "secret.key"));
  HEFT_ASSIGN_OR_RETURN(auto journal,
                        QueryJournal::InMemory(BudgetLimits{kMany, kMany, kMany, kMany}));
  HEFT_ASSIGN_OR_RETURN(KeyOwner owner,
                        KeyOwner::Impl::Own(model, std::move(keys), std::move(journal)));
  HEFT_ASSIGN_OR_RETURN(const auto encryption, ReadFile(folder + "/encryption.key"));
  HEFT_ASSIGN_OR_RETURN(Client client, Client::Create(model, encryption));
  HEFT_ASSIGN_OR_RETURN(Server server, LoadServer(model, folder));
  HEFT_ASSIGN_OR_RETURN(const SigningKey signer, owner.Signer());
  return World{folder,
               std::move(model),
               std::move(owner),
               std::move(client),
               std::move(server),
               signer.public_key()};
}

std::string World::Name(Person person) {
  return absl::StrFormat("%s%0*d", std::string(kNames), int{kNameDigits}, person);
}

absl::StatusOr<std::vector<SampleFile>> World::Samples(const std::vector<Person>& people) const {
  const bool bulk = people.size() > 1;
  const size_t count = bulk ? model.modalities.size() : 1;
  std::vector<SampleFile> files(count);
  bool there = true;
  for (size_t f = 0; f < count && there; ++f) {
    auto bytes = ReadFile(SamplePath(folder, people[0], f));
    there = bytes.ok();
    if (there) files[f] = {*std::move(bytes), "samples"};
  }
  if (there) return files;
  std::vector<std::vector<float>> values(model.modalities.size());
  std::vector<std::string> labels;
  for (const Person person : people) {
    const auto vectors = Vectors(model, person);
    for (size_t m = 0; m < vectors.size(); ++m) {
      values[m].insert(values[m].end(), vectors[m].begin(), vectors[m].end());
    }
    labels.push_back(Name(person));
  }
  std::vector<heft::Samples> samples;
  for (size_t m = 0; m < values.size(); ++m) {
    samples.push_back({model.modalities[m].name, values[m], labels,
                       bulk ? SampleEncoding::kBulk : SampleEncoding::kCompact});
  }
  for (size_t f = 0; f < count; ++f) {
    HEFT_ASSIGN_OR_RETURN(auto bytes,
                          bulk ? client.Encrypt(samples[f]) : client.EncryptFused(samples));
    HEFT_RETURN_IF_ERROR(Keep(SamplePath(folder, people[0], f), bytes));
    files[f] = {std::move(bytes), "samples"};
  }
  return files;
}

absl::StatusOr<std::vector<SampleFile>> World::Probe(Person person) const {
  const auto vectors = Vectors(model, person);
  std::vector<SampleFile> files;
  for (size_t m = 0; m < vectors.size(); ++m) {
    const std::string& name = model.modalities[m].name;
    const std::vector<float> values(vectors[m].begin(), vectors[m].end());
    HEFT_ASSIGN_OR_RETURN(auto bytes,
                          client.Encrypt(name, values, Name(person), SampleUse::kIdentification));
    files.push_back({std::move(bytes), name});
  }
  return files;
}

void World::DropSamples(Person first) const {
  std::error_code ignored;
  for (size_t f = 0; f < model.modalities.size(); ++f) {
    std::filesystem::remove(SamplePath(folder, first, f), ignored);
  }
}

std::vector<double> World::Template(Person person, bool bulk) const {
  std::vector<double> z = experiment::FusePlain(model, Vectors(model, person));
  // Clients that fuse normalise exactly.
  const double length = bulk ? 1 : std::sqrt(Dot(z, z));
  for (double& v : z) v /= length;
  return z;
}

absl::StatusOr<EnrolResult> World::Enrol(const std::string& gallery,
                                         const std::vector<Person>& people,
                                         uint64_t expires) const {
  HEFT_ASSIGN_OR_RETURN(auto files, Samples(people));
  EnrolOptions options;
  options.idempotency_key = absl::StrCat("enrolment ", people[0]);
  options.expires = expires;
  return server.Enrol(gallery, std::move(files), options);
}

absl::StatusOr<ActivateResult> World::ActivateAll(const std::string& gallery) const {
  std::optional<std::vector<uint8_t>> request;
  {
    HEFT_ASSIGN_OR_RETURN(const Gallery state, Gallery::Open(gallery));
    HEFT_ASSIGN_OR_RETURN(request, server.Pending(state));
  }
  HEFT_ASSIGN_OR_RETURN(const Admissions admissions, owner.Approve(*request, "pending"));
  HEFT_ASSIGN_OR_RETURN(const ActivateResult result,
                        server.Activate(gallery, admissions.signed_admission, "admission", signer));
  for (const Admissions::Verdict& verdict : admissions.verdicts) {
    if (verdict.approved) continue;
    return absl::InternalError(
        absl::StrCat(verdict.identity, ", who is sound, was rejected: ", verdict.reason));
  }
  return result;
}

}  // namespace heft::kills
