// SPDX-License-Identifier: Apache-2.0
// Writes the seed corpus of every fuzz target below a folder: good files, from which a fuzzer
// starts.
//
//   make_seeds NEW_FOLDER
//
// The model is the golden one; everything that holds ciphertexts is made anew under the small
// parameters of fuzz.h, because a fuzzer gets nowhere on the golden files' hundreds of kilobytes.
#include <iostream>

#include "base/files.h"
#include "base/testing.h"
#include "fuzz/fuzz.h"
#include "fuzz/seeds.h"
#include "fuzz/service_seeds.h"

namespace heft::fuzz {

absl::Status SeedWriter::Write(const std::string& target, const std::string& name,
                               ByteSpan bytes) const {
  HEFT_RETURN_IF_ERROR(MakeDirectories(root_ + "/" + target));
  return WriteFileAtomic(root_ + "/" + target + "/" + name, bytes);
}

namespace {

absl::Status WriteAll(const std::string& root) {
  const SeedWriter seeds(root);
  TestCsprng rng(Seed{9});
  HEFT_ASSIGN_OR_RETURN(const auto secret, ckks::SecretKey::Generate(*SmallContext(), rng));
  HEFT_RETURN_IF_ERROR(WritePlainSeeds(seeds));
  HEFT_RETURN_IF_ERROR(WriteKeySeeds(seeds, secret, rng));
  HEFT_RETURN_IF_ERROR(WriteSharedKeySeeds(seeds));
  HEFT_RETURN_IF_ERROR(WriteSampleSeeds(seeds, secret, rng));
  HEFT_RETURN_IF_ERROR(WriteGallerySeeds(seeds, secret, rng));
  for (const TextSeed& seed : ServiceSeeds()) {
    HEFT_RETURN_IF_ERROR(seeds.Write(seed.target, seed.name, seed.text));
  }
  return absl::OkStatus();
}

}  // namespace
}  // namespace heft::fuzz

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: make_seeds NEW_FOLDER\n";
    return 2;
  }
  const absl::Status status = heft::fuzz::WriteAll(argv[1]);
  if (!status.ok()) std::cerr << "make_seeds: " << status.message() << "\n";
  return status.ok() ? 0 : 1;
}
