// SPDX-License-Identifier: Apache-2.0
// All roles of HEFT on one page. In practice they are four programs that exchange the data named
// after the arrows. Exits 0 if the right person is named.
#include <iostream>

#include "examples/common.h"
#include "heft/client.h"
#include "heft/key_owner.h"
#include "heft/server.h"
#include "heft/train.h"

int main() {
  using Use = heft::SampleUse;
  // Learning, here of made-up vectors: TrainingData::Load reads real ones. -> model to all
  heft::SyntheticOptions people;
  people.identities = 30, people.samples_per_identity = 6, people.dimensions = {64, 48};
  people.factors.emplace();  // the law for vectors of so few numbers
  const auto data = Check(heft::TrainingData::Synthesise(people));
  const heft::Model model = Check(heft::Learn(data, {.gamma = 16, .epochs = 5}));

  // Key owner: makes the keys. -> encryption key to clients, evaluation keys to the server
  auto owner = Check(heft::KeyOwner::Generate(model));
  const auto client = Check(heft::Client::Create(model, owner.EncryptionKey()));
  const auto server = Check(heft::Server::Create(model, Check(owner.EvaluationKeys()), "keys",
                                                 Check(owner.EnrolmentKeys())));

  // Client: encrypts each modality. -> samples to the server
  auto encrypt = [&](size_t row, Use use) {
    std::vector<heft::SampleFile> files;
    for (size_t m = 0; m < model.modalities.size(); ++m) {
      const std::string &name = model.modalities[m].name, label = "person " + data.labels()[row];
      files.push_back({Check(client.Encrypt(name, data.Vector(m, row), label, use)), name});
    }
    return files;
  };

  // Server: fuses all samples, and can read none. -> proofs of their norms to the key owner
  const TemporaryFolder work;
  for (size_t i = 0; i < 180; i += 6) Check(server.Enrol(work.path, encrypt(i, Use::kEnrolment)));

  // Key owner: approves the pending templates if their norms are right. -> back to the server
  const auto pending = Check(server.Pending(Check(heft::Gallery::Open(work.path))));
  const auto word = Check(owner.Approve(pending, "pending")).signed_admission;
  Check(server.Activate(work.path, word, "admission", Check(owner.Signer()).public_key()));

  // Server: matches person 7. -> reply to the key owner
  const auto gallery = Check(heft::Gallery::Open(work.path));
  const auto scores = Check(server.Identify(gallery, encrypt(7 * 6 + 1, Use::kIdentification)));
  const auto key = Check(heft::GallerySigner(work.path));
  const auto reply = Check(heft::SignReply(key, gallery, {}, /*row=*/0, {}, scores));

  // Key owner: accepts only replies that this server signed, opens the reply, and decides.
  heft::Trust trust;
  if (!trust.Add(heft::Role::kServer, "server", key.public_key()).ok()) return 1;
  if (!owner.RequireSigned(trust).ok()) return 1;
  // One in ten searches by strangers may return a name in a gallery of this size.
  const heft::Decision decision = Check(owner.Decide(reply, "reply", {.fpir = 0.1}));
  std::cout << (decision.accepted ? "accept " + decision.identity : "reject") << "\n";
  return decision.identity == "person 7" ? 0 : 1;
}
