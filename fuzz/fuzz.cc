// SPDX-License-Identifier: Apache-2.0
#include "fuzz/fuzz.h"

#include <cstdio>
#include <cstdlib>

#include "base/envelope.h"
#include "heft/trust.h"

namespace heft::fuzz {

void Check(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "fuzz: does not hold: %s\n", what);
  std::abort();
}

void CheckRefusal(const absl::Status& status) {
  const bool documented = absl::IsDataLoss(status) || absl::IsInvalidArgument(status) ||
                          absl::IsFailedPrecondition(status);
  if (!documented) std::fprintf(stderr, "%s\n", status.ToString().c_str());
  Check(documented, "a refusal has a documented code");
  Check(!status.message().empty(), "a refusal says why");
}

std::vector<uint8_t> Resealed(ByteSpan input) {
  if (input.size() < kEnvelopeOverhead) return {};
  const std::string_view kind(reinterpret_cast<const char*>(input.data()) + 8, 4);
  ByteReader version(input.subspan(12), "version");
  return SealEnvelope(kind, version.U32(),
                      input.subspan(kEnvelopeHeaderSize, input.size() - kEnvelopeOverhead));
}

void ReadBothWays(ByteSpan input, const std::function<void(ByteSpan)>& read) {
  // Readers take a signed file for the one in it, which then is not what they write.
  if (IsSigned(input)) return;
  read(input);
  const std::vector<uint8_t> resealed = Resealed(input);
  if (!resealed.empty()) read(resealed);
}

std::shared_ptr<const ckks::Context> SmallContext() {
  static const auto context = [] {
    ckks::ParamsSpec spec{16, {12, 11, 11}, 12, /*allow_insecure=*/true};
    auto params = ckks::Params::Create(spec);
    Check(params.ok(), "the small parameters are valid");
    return std::make_shared<const ckks::Context>(*params);
  }();
  return context;
}

const Instance& SmallInstance() {
  static const Instance instance = [] {
    Instance small;
    small.context = SmallContext();
    small.encoder = std::make_shared<const ckks::Encoder>(small.context);
    small.plan.gamma = kSmallGamma;
    return small;
  }();
  return instance;
}

const Rings& SmallRings() {
  static const Rings rings = {SmallInstance(), SmallInstance(), nullptr};
  return rings;
}

}  // namespace heft::fuzz
