// SPDX-License-Identifier: Apache-2.0
// A client that uses Microsoft SEAL sends its files; HEFT's engine computes x^2 + x on what they
// hold and writes a file that SEAL loads.
//
//   examples/seal_exchange FOLDER OUT
//
// FOLDER has SEAL's parms, relin_keys_zstd, ciphertext and, only because this example plays the key
// owner too, secret_key: tests/data/seal is such a folder. Prints the first slots, and exits 0 if
// they decrypt to what was computed.
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>

#include "heft/owner.h"
#include "heft/seal.h"

namespace {

using Bytes = std::vector<uint8_t>;
using heft::ckks::Ciphertext;

template <typename T>
T Check(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::cerr << "seal_exchange: " << value.status().message() << "\n";
  std::exit(1);
}
void Check(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << "seal_exchange: " << status.message() << "\n";
  std::exit(1);
}

Bytes Read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return Bytes(std::istreambuf_iterator<char>(file), {});
}

// --- Server: what SEAL wrote in, what SEAL reads out. No secret is near.
Bytes SquarePlusItself(const heft::ckks::Context& context, const std::string& folder) {
  const heft::seal::KeyDigits relin = Check(heft::seal::ReadRelinearisationKey(
      context, Read(folder + "/relin_keys_zstd"), "relin_keys_zstd"));
  const heft::ckks::FullSwitchKey full = heft::seal::CutKey(relin, context.params().limbs());
  heft::ckks::EvaluationKeys keys;
  keys.relinearisation = heft::ckks::SwitchKey(context, full.b, full.a, /*element=*/1);

  const Ciphertext x =
      Check(heft::seal::ReadCiphertext(context, Read(folder + "/ciphertext"), "ciphertext"));
  Ciphertext square, sum;
  Check(heft::ckks::Square(context, &square, x));
  Check(heft::ckks::Relinearise(context, &square, square, keys));
  // x at the square's scale: a product with an encoding of ones.
  const heft::ckks::Encoder encoder(std::make_shared<heft::ckks::Context>(context.params()));
  const heft::ckks::Plaintext ones = Check(encoder.EncodeConstant(1, x.scale, x.limbs()));
  Check(heft::ckks::MultiplyPlain(context, &sum, x, ones));
  Check(heft::ckks::Add(context, &sum, sum, square));
  return heft::seal::WriteCiphertext(context, sum, heft::seal::Compression::kZstd);
}

// --- Key owner: could as well open the result in SEAL.
std::vector<heft::ckks::Complex> Open(std::shared_ptr<const heft::ckks::Context> context,
                                      const heft::ckks::SecretKey& secret, const Bytes& bytes) {
  const Ciphertext c = Check(heft::seal::ReadCiphertext(*context, bytes, "ciphertext"));
  return heft::ckks::Encoder(context).Decode(heft::ckks::Decrypt(*context, c, secret));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "seal_exchange: a folder of SEAL's files, and a file to write\n";
    return 2;
  }
  const std::string folder = argv[1];
  // The files of the tests have a tiny degree that protects nothing, hence allow_insecure.
  const auto context = std::make_shared<const heft::ckks::Context>(
      Check(heft::seal::ReadParams(Read(folder + "/parms"), "parms", /*allow_insecure=*/true)));
  const Bytes result = SquarePlusItself(*context, folder);
  std::ofstream(argv[2], std::ios::binary)
      .write(reinterpret_cast<const char*>(result.data()), result.size());

  const heft::ckks::SecretKey secret = Check(heft::seal::ReadSecretKey(
      *context, heft::ckks::KeyId{}, Read(folder + "/secret_key"), "secret_key"));
  const auto x = Open(context, secret, Read(folder + "/ciphertext"));
  const auto y = Open(context, secret, result);
  double worst = 0;
  for (size_t i = 0; i < x.size(); ++i)
    worst = std::max(worst, std::abs(y[i] - x[i] * x[i] - x[i]));
  for (size_t i = 0; i < 3; ++i) std::cout << x[i].real() << " -> " << y[i].real() << "\n";
  return worst < 1e-2 ? 0 : 1;
}
