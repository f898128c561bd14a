// SPDX-License-Identifier: Apache-2.0
// Writes probes that wrap around, as an attacker makes them with the model and the encryption key
// alone: FOLDER/0.ct to FOLDER/COUNT-1.ct.
//
//   forge_probes MODEL ENCRYPTION_KEY COUNT FOLDER
#include <cstdlib>
#include <iostream>
#include <string>

#include "base/files.h"
#include "heft/files.h"
#include "heft/trust.h"
#include "tests/forger.h"

namespace heft::e2e {
namespace {

int Run(const std::string& model_path, const std::string& key_path, size_t count,
        const std::string& folder) {
  const auto model = LoadModel(model_path);
  auto key = ReadFile(key_path);
  if (!model.ok() || !key.ok()) {
    std::cerr << "forge_probes: " << model.status() << " " << key.status() << "\n";
    return 2;
  }
  Forger forger(*model, *key);
  for (size_t i = 0; i < count; ++i) {
    const auto probe =
        forger.Fused(SampleUse::kIdentification, 1, [&] { return forger.Wrapped(); });
    const absl::Status written = WriteFile(folder + "/" + std::to_string(i) + ".ct", probe);
    if (written.ok()) continue;
    std::cerr << "forge_probes: " << written << "\n";
    return 2;
  }
  return 0;
}

}  // namespace
}  // namespace heft::e2e

int main(int argc, char** argv) {
  if (argc != 5) {
    std::cerr << "usage: forge_probes MODEL ENCRYPTION_KEY COUNT FOLDER\n";
    return 2;
  }
  return heft::e2e::Run(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10), argv[4]);
}
