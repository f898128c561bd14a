// SPDX-License-Identifier: Apache-2.0
// All roles of HEFT on one page: learn, make keys, encrypt, enrol, identify, verify, open.
//
// In the field the three roles are three programs, and only the bytes named at the arrows pass
// between them. Here they take turns in one, each in a function that is given what it may have.
//
//   examples/roles        prints the candidates of a probe, and exits 0 if the right one is first
#include <filesystem>
#include <iostream>
#include <random>

#include "heft/client.h"
#include "heft/heft.h"
#include "heft/learn.h"
#include "heft/owner.h"
#include "heft/server.h"

namespace {

using Bytes = std::vector<uint8_t>;
using Rows = std::vector<std::vector<double>>;

// An example may end at the first error; a program returns the status.
template <typename T>
T Check(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::cerr << "roles: " << value.status().message() << "\n";
  std::exit(1);
}

// --- Learning: needs feature vectors of people who agreed to it, and no keys. -> model
// ------------
Bytes Learn(const heft::Dataset& data) {
  heft::TrainOptions options;
  options.gamma = 16;
  options.epochs = 5;
  const heft::TrainResult trained = Check(heft::Train(data, options));
  return Check(heft::MakeModel(data, trained)).Serialize();
}

// --- Key owner: holds the secret key. -> encryption key, evaluation keys
// --------------------------
class Owner {
 public:
  explicit Owner(const Bytes& model_file)
      : model_(Check(heft::Model::Parse(model_file, "model"))),
        instance_(Check(heft::MakeInstance(model_))),
        secret_(Check(heft::ckks::SecretKey::Generate(*instance_.context, rng_))) {}

  Bytes EncryptionKey() {
    return heft::SerializeEncryptionKey(
        *instance_.context, heft::ckks::MakePublicKey(*instance_.context, secret_, rng_));
  }
  // Just the keys that this model's evaluation needs.
  Bytes EvaluationKeys() const { return Check(heft::MakeEvaluationKeys(instance_, secret_)); }

  // Consumes the secret key: from now on only rounded scores and decisions come out.
  heft::KeyOwner Retire() && { return Check(heft::KeyOwner::Create(model_, std::move(secret_))); }

 private:
  heft::Csprng rng_;
  heft::Model model_;
  heft::Instance instance_;
  heft::ckks::SecretKey secret_;
};

// --- Client: one file of encrypted samples a modality. -> samples
// ---------------------------------
Bytes EncryptRows(const Bytes& model_file, const Bytes& encryption_key, size_t modality,
                  const Rows& rows, const std::vector<std::string>& labels) {
  const heft::Model model = Check(heft::Model::Parse(model_file, "model"));
  const heft::Instance instance = Check(heft::MakeInstance(model));
  const heft::ckks::PublicKey key =
      Check(heft::ParseEncryptionKey(*instance.context, encryption_key, "encryption key"));
  return Check(heft::EncryptSamples(instance, model, modality, key, rows, labels));
}

// --- Server: fuses, enrols and matches what it cannot read. -> encrypted scores
// --------------------
class MatchingServer {
 public:
  MatchingServer(const Bytes& model_file, const Bytes& evaluation_keys, std::string folder)
      : server_(Check(heft::Server::Create(Check(heft::Model::Parse(model_file, "model")),
                                           evaluation_keys, "evaluation keys"))),
        folder_(std::move(folder)) {}

  size_t Enrol(const std::vector<Bytes>& files) {
    return Check(server_->Enrol(folder_, Samples(files), {}));
  }
  Bytes Identify(const std::vector<Bytes>& files) {
    return heft::SerializeScores(*server_->instance().context,
                                 Check(server_->Identify(Gallery(), Samples(files), {})));
  }
  Bytes Verify(const std::vector<Bytes>& files, const std::string& claimed) {
    return heft::SerializeScores(*server_->instance().context,
                                 Check(server_->Verify(Gallery(), Samples(files), claimed, {})));
  }

 private:
  heft::Gallery Gallery() { return Check(server_->OpenGallery(folder_, /*create=*/false)); }
  heft::SampleSet Samples(const std::vector<Bytes>& files) {
    std::vector<heft::SampleReader> readers;
    for (const Bytes& file : files) {
      readers.push_back(
          Check(heft::SampleReader::Parse(server_->instance().context, file, "samples")));
    }
    return Check(
        heft::SampleSet::Create(server_->instance(), server_->model(), std::move(readers)));
  }

  std::unique_ptr<heft::Server> server_;
  std::string folder_;
};

// Rows of a modality and their identities.
Rows Take(const heft::Dataset& data, size_t modality, const std::vector<int>& rows) {
  Rows out;
  for (int row : rows) {
    const auto values = data.modalities[modality].features.row(row);
    out.emplace_back(values.data(), values.data() + values.size());
  }
  return out;
}

std::vector<Bytes> EncryptAll(const heft::Dataset& data, const Bytes& model, const Bytes& key,
                              const std::vector<int>& rows) {
  std::vector<std::string> labels;
  for (int row : rows) labels.push_back("person " + data.labels[row]);
  std::vector<Bytes> files;
  for (size_t m = 0; m < data.modalities.size(); ++m) {
    files.push_back(EncryptRows(model, key, m, Take(data, m, rows), labels));
  }
  return files;
}

}  // namespace

int main() {
  // Feature vectors: made up here; heft::LoadDataset reads a folder of real ones.
  heft::SyntheticOptions people;
  people.identities = 30;
  people.samples_per_identity = 6;
  people.dimensions = {64, 48};
  const heft::Dataset data = Check(heft::SynthesiseDataset(people));

  const Bytes model = Learn(data);
  Owner owner(model);
  const Bytes encryption_key = owner.EncryptionKey();  // -> clients
  const std::string folder = std::filesystem::temp_directory_path() /
                             ("heft-example-" + std::to_string(std::random_device()()));
  MatchingServer server(model, owner.EvaluationKeys(), folder);
  const heft::KeyOwner key_owner = std::move(owner).Retire();

  // The first sample of every person is enrolled; another one of person 7 comes as a probe.
  std::vector<int> first;
  for (int row = 0; row < data.Rows(); row += people.samples_per_identity) first.push_back(row);
  const size_t enrolled = server.Enrol(EncryptAll(data, model, encryption_key, first));
  const std::vector<Bytes> probe =
      EncryptAll(data, model, encryption_key, {7 * people.samples_per_identity + 2});

  const heft::OpenedScores ranked = Check(key_owner.Open(server.Identify(probe), "scores"));
  std::cout << enrolled << " templates enrolled; best candidates of a probe of person 7:\n";
  for (size_t i = 0; i < 3; ++i) {
    std::cout << "  " << ranked.candidates[i].identity << "  " << ranked.candidates[i].score
              << "\n";
  }
  const heft::OpenedScores claim =
      Check(key_owner.Open(server.Verify(probe, "person 7"), "scores"));
  std::cout << "claimed to be " << claim.claimed << ": " << claim.candidates[0].score << "\n";
  std::filesystem::remove_all(folder);
  return ranked.candidates[0].identity == "person 7" ? 0 : 1;
}
