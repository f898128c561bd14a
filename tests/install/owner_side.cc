// SPDX-License-Identifier: Apache-2.0
// Makes keys and encrypts with them, through installed headers.
#include <heft/client.h>
#include <heft/key_owner.h>

#include <iostream>

int main() {
  heft::Model model;
  model.modalities = {{"face", 4}};
  model.gamma = 2;
  model.projection = {1, 0, 0, 0, 0, 1, 0, 0};
  model.approximation.name = "constant slope";
  model.approximation.interval = {0.5, 1.5};
  model.approximation.stages = {{{1.4, -0.5, 0.1}, 1.0, 1.0}};
  const auto owner = heft::KeyOwner::Generate(model);
  if (!owner.ok()) {
    std::cerr << owner.status().message() << "\n";
    return 1;
  }
  const auto client = heft::Client::Create(model, owner->EncryptionKey());
  const std::vector<float> vector = {0.5, 0.5, 0.5, 0.5};
  const auto sample = client->Encrypt("face", vector, "ann");
  const auto own = owner->Encrypt({"face", vector});
  std::cout << sample->size() << " and " << own->size() << " bytes\n";
  return own->size() < sample->size() && !client->Encrypt("voice", vector).ok() ? 0 : 1;
}
