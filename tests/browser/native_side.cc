// SPDX-License-Identifier: Apache-2.0
// The native side of tests/browser/module_test.mjs: the reference for the module in WebAssembly.
//
//   native_side known SPEC OUT                encrypts from a byte stream that the test has, too
//   native_side open SPEC SECRET_KEY FILE...  decrypts files and compares their slots with SPEC's
//   native_side time SPEC                     least time of twenty encryptions, in microseconds
//
// SPEC: MODEL ENCRYPTION_KEY ENCODING USE ROW MODALITY=VECTORS.npy[,...]
#include <sodium.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/files.h"
#include "base/status.h"
#include "ckks/encoder.h"
#include "ckks/noise.h"
#include "fusion/owner/secret_key_file.h"
#include "fusion/samples.h"
#include "heft/client.h"
#include "heft/dataset.h"

namespace heft {
namespace {

constexpr int kSpecs = 6;
constexpr uint64_t kMaxBytes = uint64_t{1} << 30;

// The stream: xorshift32, the lowest byte of each state. Only for tests.
uint32_t g_state = 0x48454654;
void FillFromStream(void* out, const size_t size) {
  for (size_t i = 0; i < size; ++i) {
    g_state ^= g_state << 13;
    g_state ^= g_state >> 17;
    g_state ^= g_state << 5;
    static_cast<uint8_t*>(out)[i] = static_cast<uint8_t>(g_state);
  }
}
uint32_t NumberFromStream() {
  uint32_t number;
  FillFromStream(&number, sizeof(number));
  return number;
}
randombytes_implementation g_stream = {
    .implementation_name = [] { return "the test's stream"; },
    .random = NumberFromStream,
    .stir = nullptr,
    .uniform = nullptr,
    .buf = FillFromStream,
    .close = nullptr,
};

// Spec: the data to encrypt. `vectors` own the data that `samples` view.
struct Spec {
  Model model;
  std::vector<uint8_t> key;
  std::vector<std::string> names;
  std::vector<std::vector<float>> vectors;
  std::vector<Samples> samples;
};

absl::StatusOr<Spec> ReadSpec(char** argv) {
  Spec spec;
  HEFT_ASSIGN_OR_RETURN(spec.model, LoadModel(argv[0]));
  HEFT_ASSIGN_OR_RETURN(spec.key, ReadFile(argv[1], kMaxBytes));
  const std::string encoding = argv[2], use = argv[3];
  size_t row = 0;
  if (!absl::SimpleAtoi(argv[4], &row)) return absl::InvalidArgumentError("ROW is a number");
  const std::vector<std::string> all = absl::StrSplit(argv[5], ',');
  for (const std::string& given : all) {
    const std::vector<std::string> parts = absl::StrSplit(given, '=');
    HEFT_ASSIGN_OR_RETURN(const FeatureRows rows, ReadVectors(parts.at(1)));
    spec.names.push_back(parts[0]);
    spec.vectors.emplace_back(rows.row(row).begin(), rows.row(row).end());
  }
  for (size_t i = 0; i < spec.names.size(); ++i) {
    Samples samples{spec.names[i], spec.vectors[i]};
    if (encoding == "partial") samples.encoding = SampleEncoding::kPartial;
    if (encoding == "fused") samples.encoding = SampleEncoding::kFused;
    if (use == "identification") samples.use = SampleUse::kIdentification;
    spec.samples.push_back(samples);
  }
  return spec;
}

bool Fused(const Spec& spec) { return spec.samples[0].encoding == SampleEncoding::kFused; }

absl::StatusOr<std::vector<uint8_t>> Encrypt(const Client& client, const Spec& spec) {
  return Fused(spec) ? client.EncryptFused(spec.samples) : client.Encrypt(spec.samples[0]);
}

absl::Status Known(const Spec& spec, const std::string& out) {
  HEFT_ASSIGN_OR_RETURN(const Client client, Client::Create(spec.model, spec.key));
  if (sodium_init() < 0) return absl::UnavailableError("libsodium does not start");
  randombytes_set_implementation(&g_stream);
  HEFT_ASSIGN_OR_RETURN(const auto file, Encrypt(client, spec));
  return WriteFileAtomic(out, file, 0600);
}

// The largest |slot error| of the first sample of `bytes`, and the bound on it.
struct Errors {
  double worst = 0, bound = 0;
};
absl::StatusOr<Errors> ErrorsOf(const Spec& spec, const SecretKeys& secrets, const Rings& rings,
                                std::vector<uint8_t> bytes, const std::string& name) {
  HEFT_ASSIGN_OR_RETURN(const EncodableRows rows, Fused(spec)
                                                      ? RowsToFuse(spec.model, spec.samples)
                                                      : RowsToEncrypt(spec.model, spec.samples[0]));
  HEFT_ASSIGN_OR_RETURN(const Instance* ring, RingOf(rings, rows.form));
  const bool matching = ring == &rings.matching;
  const ckks::SecretKey& secret = matching ? secrets.matching() : secrets.enrolment;
  HEFT_ASSIGN_OR_RETURN(
      const SampleEncoder encoder,
      SampleEncoder::Create(*ring, spec.model, rows.index, rows.rows, rows.labels, rows.form));
  HEFT_ASSIGN_OR_RETURN(const ckks::Plaintext expected, encoder.Encode(0));
  HEFT_ASSIGN_OR_RETURN(const SampleReader reader,
                        SampleReader::Parse(ring->context, std::move(bytes), name));
  HEFT_ASSIGN_OR_RETURN(const ckks::Ciphertext sample, reader.Sample(0));
  const auto opened = ring->encoder->Decode(ckks::Decrypt(*ring->context, sample, secret));
  const auto wanted = ring->encoder->Decode(expected);
  Errors errors;
  for (size_t j = 0; j < opened.size(); ++j) {
    errors.worst = std::max(errors.worst, std::abs(opened[j] - wanted[j]));
  }
  errors.bound = ckks::SlotErrorBound(ring->params(), sample.noise, sample.scale);
  return errors;
}

// OneSample: the ciphertext of a file with one.
absl::StatusOr<ckks::Ciphertext> OneSample(const Instance& ring, const std::string& file) {
  HEFT_ASSIGN_OR_RETURN(auto bytes, ReadFile(file, kMaxBytes));
  HEFT_ASSIGN_OR_RETURN(const SampleReader reader,
                        SampleReader::Parse(ring.context, std::move(bytes), file));
  return reader.Sample(0);
}

// Same: compares two files. Sampling, the NTT and the key's products are exact, so the second parts
// are equal. The first part contains the encoding. Libraries differ in the last bit of a cosine, so
// one may round a coefficient up and the other round it down.
absl::Status Same(const Spec& spec, const std::string& a_file, const std::string& b_file) {
  HEFT_ASSIGN_OR_RETURN(const Rings rings, MakeRings(spec.model));
  HEFT_ASSIGN_OR_RETURN(const Instance* ring,
                        RingOf(rings, {spec.samples[0].encoding, spec.samples[0].use}));
  HEFT_ASSIGN_OR_RETURN(const ckks::Ciphertext a, OneSample(*ring, a_file));
  HEFT_ASSIGN_OR_RETURN(const ckks::Ciphertext b, OneSample(*ring, b_file));
  if (a.limbs() != b.limbs() || a.scale != b.scale ||
      !std::ranges::equal(a.parts[1].values(), b.parts[1].values())) {
    return absl::DataLossError("the second parts differ");
  }
  ckks::Plaintext difference;
  difference.poly = ring::RnsPoly(ring->params().n(), a.limbs());
  for (size_t l = 0; l < a.limbs(); ++l) {
    const ring::Modulus& q = ring->context->modulus(l);
    for (size_t i = 0; i < ring->params().n(); ++i) {
      difference.poly.limb(l)[i] = q.Sub(a.parts[0].limb(l)[i], b.parts[0].limb(l)[i]);
    }
  }
  size_t differing = 0;
  for (const double d : ckks::CentredCoefficients(*ring->context, difference)) {
    if (std::abs(d) > 1) return absl::DataLossError("the first parts differ by more than rounding");
    differing += d != 0;
  }
  std::printf("%zu of %u coefficients were rounded differently\n", differing, ring->params().n());
  if (differing <= ring->params().n() / 100) return absl::OkStatus();
  return absl::DataLossError("more than one coefficient in a hundred is rounded differently");
}

absl::Status Open(const Spec& spec, const std::string& secret_key,
                  const std::vector<std::string>& files) {
  HEFT_ASSIGN_OR_RETURN(const Rings rings, MakeRings(spec.model));
  HEFT_ASSIGN_OR_RETURN(const auto key, ReadFile(secret_key, kMaxBytes));
  HEFT_ASSIGN_OR_RETURN(const SecretKeys secrets, ParseSecretKeys(rings, key, {}, secret_key));
  for (const std::string& file : files) {
    HEFT_ASSIGN_OR_RETURN(auto bytes, ReadFile(file, kMaxBytes));
    HEFT_ASSIGN_OR_RETURN(const Errors errors,
                          ErrorsOf(spec, secrets, rings, std::move(bytes), file));
    std::printf("%s: %.3g of %.3g\n", file.c_str(), errors.worst, errors.bound);
    if (!(errors.worst <= errors.bound)) {
      return absl::DataLossError(absl::StrCat(file, " does not decrypt to what was encrypted"));
    }
  }
  return absl::OkStatus();
}

absl::Status Time(const Spec& spec) {
  HEFT_ASSIGN_OR_RETURN(const Client client, Client::Create(spec.model, spec.key));
  double least = 1e300;
  for (int i = 0; i < 20; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    HEFT_RETURN_IF_ERROR(Encrypt(client, spec).status());
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begin;
    least = std::min(least, took.count());
  }
  std::printf("%.0f\n", least);
  return absl::OkStatus();
}

absl::Status Run(int argc, char** argv) {
  const int more = argc - 2 - kSpecs;
  if (more < 0) return absl::InvalidArgumentError("native_side known|same|open|time SPEC ...");
  const std::string command = argv[1];
  HEFT_ASSIGN_OR_RETURN(const Spec spec, ReadSpec(argv + 2));
  const std::vector<std::string> rest(argv + 2 + kSpecs, argv + argc);
  if (command == "known" && more == 1) return Known(spec, rest[0]);
  if (command == "same" && more == 2) return Same(spec, rest[0], rest[1]);
  if (command == "open" && more >= 2) return Open(spec, rest[0], {rest.begin() + 1, rest.end()});
  if (command == "time" && more == 0) return Time(spec);
  return absl::InvalidArgumentError("native_side known|same|open|time SPEC ...");
}

}  // namespace
}  // namespace heft

int main(int argc, char** argv) {
  const absl::Status status = heft::Run(argc, argv);
  if (status.ok()) return 0;
  std::fprintf(stderr, "native_side: %s\n", std::string(status.message()).c_str());
  return 1;
}
