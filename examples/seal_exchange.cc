// SPDX-License-Identifier: Apache-2.0
// A client that uses Microsoft SEAL, and a HEFT server: keys and samples arrive as SEAL's objects,
// and the reply leaves as SEAL's ciphertexts. HEFT also plays SEAL's part, by its exports. Exits 0
// if the right person is first.
#include <iostream>

#include "examples/common.h"
#include "heft/seal_key_owner.h"
#include "heft/train.h"

using Use = heft::SampleUse;

int main() {
  constexpr auto kZstd = heft::SealCompression::kZstd;
  heft::SyntheticOptions people;
  people.identities = 30, people.samples_per_identity = 8, people.dimensions = {48};
  people.factors.emplace();  // the law for vectors of so few numbers
  const auto data = Check(heft::TrainingData::Synthesise(people));
  const heft::Model model = Check(heft::Learn(data, {.gamma = 16, .epochs = 5}));

  // SEAL's side: keys, and one ciphertext a sample.
  const auto owner = Check(heft::KeyOwner::Generate(model));
  const auto seal_keys = Check(heft::ExportSealEvaluationKeys(owner, kZstd));
  const auto client = Check(heft::Client::Create(model, owner.EncryptionKey()));
  auto seal_encrypt = [&](size_t row, Use use) {
    const auto bytes = Check(client.Encrypt("face", data.Vector(0, row), "", use));
    return Check(heft::ExportSealSamples(model, {bytes, "sample"}, kZstd)).ciphertexts[0];
  };

  // Server: makes HEFT's files of them, under one key id, and computes. The ring switch is not
  // SEAL's: the key owner makes the enrolment keys.
  const auto keys = Check(heft::ImportSealEvaluationKeys(
      model, owner.key_id(), {seal_keys.galois, "galois"}, {seal_keys.relinearisation, "relin"}));
  const auto server =
      Check(heft::Server::Create(model, keys.bytes, "keys", Check(owner.EnrolmentKeys())));
  auto import = [&](size_t row, Use use) {
    const std::vector<heft::SampleFile> files = {{seal_encrypt(row, use), "sample.seal"}};
    const std::vector<std::string> labels = {"person " + data.labels()[row]};
    auto bytes = Check(heft::ImportSealSamples(model, "face", owner.key_id(), files, labels));
    return std::vector<heft::SampleFile>{{std::move(bytes), "sample"}};
  };
  const TemporaryFolder work;
  for (size_t row : {0, 8, 16, 24}) Check(server.Enrol(work.path, import(row, Use::kEnrolment)));
  const auto pending = Check(server.Pending(Check(heft::Gallery::Open(work.path))));
  const auto admission = Check(owner.Approve(pending, "pending")).signed_admission;
  const heft::SignerKey owner_key = Check(owner.Signer()).public_key();
  Check(server.Activate(work.path, admission, "admission", owner_key));
  const auto gallery = Check(heft::Gallery::Open(work.path));
  const auto reply = Check(server.Identify(gallery, import(16, Use::kIdentification)));

  // Key owner: opens it in SEAL, where it divides by the root of the norm, or here.
  const auto scores = Check(heft::ExportSealScores(model, reply, "reply", kZstd));
  std::cout << scores.replies[0].ciphertext.size() << " bytes of scores for SEAL\n";
  return Check(owner.Decide(reply, "reply", 0.5)).identity == "person 2" ? 0 : 1;
}
