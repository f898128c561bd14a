// SPDX-License-Identifier: Apache-2.0
// Makes keys, encrypts with one and decrypts, through installed headers.
#include <heft/client.h>
#include <heft/owner.h>

#include <cmath>
#include <iostream>

int main() {
  heft::Model model;
  model.modalities = {{"face", 4}};
  model.gamma = 2;
  model.projection = {1, 0, 0, 0, 0, 1, 0, 0};
  model.approximation.name = "constant slope";
  model.approximation.interval = {0.5, 1.5};
  model.approximation.stages = {{{1.4, -0.5, 0.1}, 1.0, 1.0}};
  const auto instance = heft::MakeInstance(model);
  if (!instance.ok()) {
    std::cerr << instance.status().message() << "\n";
    return 1;
  }
  heft::Csprng rng;
  const auto secret = heft::ckks::SecretKey::Generate(*instance->context, rng);
  const std::vector<std::vector<double>> rows = {{0.5, 0.5, 0.5, 0.5}};
  const auto file = heft::EncryptSamplesSymmetric(*instance, model, 0, *secret, rows, {});
  const auto samples = heft::SampleReader::Parse(instance->context, *file, "samples");
  const auto sample = samples->Sample(0);
  const auto slots =
      instance->encoder->Decode(heft::ckks::Decrypt(*instance->context, *sample, *secret));
  std::cout << "decrypted " << slots[0].real() << "\n";
  return std::abs(slots[0].real() - 0.5) < 1e-2 ? 0 : 1;
}
