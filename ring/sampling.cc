// SPDX-License-Identifier: Apache-2.0
#include "ring/sampling.h"

#include <algorithm>

#include "base/check.h"
#include "base/constant_time.h"

namespace heft::ring {
namespace {

// ConstantTimePopcount: std::popcount may compile to a table look-up, whose cache line depends on
// the (secret) value.
int ConstantTimePopcount(uint32_t v) {
  v -= (v >> 1) & 0x55555555u;
  v = (v & 0x33333333u) + ((v >> 2) & 0x33333333u);
  v = (v + (v >> 4)) & 0x0F0F0F0Fu;
  return static_cast<int>((v * 0x01010101u) >> 24);
}

}  // namespace

void SampleTernary(std::span<int8_t> out, Csprng& rng) {
  // Two random bits for each try; 3 is rejected. The rejected tries are public: they depend only on
  // discarded bits.
  uint64_t bits = 0;
  uint64_t rejected = 0;
  int left = 0;
  for (int8_t& value : out) {
    bool again;
    do {
      if (left == 0) {
        bits = rng.U64();
        rejected = Declassified(bits & (bits >> 1) & 0x5555555555555555u);
        left = 32;
      }
      value = static_cast<int8_t>(static_cast<int>(bits & 3) - 1);
      again = rejected & 1;
      bits >>= 2;
      rejected >>= 2;
      --left;
    } while (again);
  }
}

void SampleError(std::span<int8_t> out, Csprng& rng) {
  constexpr uint32_t kMask = (1u << 21) - 1;
  for (int8_t& value : out) {
    const uint64_t bits = rng.U64();
    const int plus = ConstantTimePopcount(static_cast<uint32_t>(bits) & kMask);
    const int minus = ConstantTimePopcount(static_cast<uint32_t>(bits >> 32) & kMask);
    value = static_cast<int8_t>(plus - minus);
  }
}

namespace {

// KeepBelow: moves the words that are below `limit` under `mask` to the front, in order and masked,
// and returns their number. Nearly all are below, so sixteen are tested at once.
size_t KeepBelow(std::span<uint32_t> words, uint32_t mask, uint32_t limit) {
  constexpr size_t kAtOnce = 16;
  size_t kept = 0, i = 0;
  const auto keep = [&](size_t end) {
    for (; i < end; ++i) {
      const uint32_t value = words[i] & mask;
      words[kept] = value;  // stays if it is small enough
      kept += value < limit ? 1 : 0;
    }
  };
  while (i + kAtOnce <= words.size()) {
    uint32_t values[kAtOnce], large = 0;
    for (size_t j = 0; j < kAtOnce; ++j) {
      values[j] = words[i + j] & mask;
      large |=
          limit - 1 - values[j];  // the top bit of a value that is too large: both are below 2^31
    }
    if (large >> 31 != 0) {
      keep(i + kAtOnce);
      continue;
    }
    std::copy_n(values, kAtOnce, words.data() + kept);
    kept += kAtOnce;
    i += kAtOnce;
  }
  keep(words.size());
  return kept;
}

}  // namespace

void SampleUniform(std::span<uint32_t> out, const Modulus& q, Csprng& rng) {
  const uint32_t mask = (uint32_t{1} << q.bits()) - 1;
  // Draws as many words as are missing, repeatedly: the same words as one at a time.
  for (size_t done = 0; done < out.size();) {
    const std::span<uint32_t> missing = out.subspan(done);
    rng.Fill({reinterpret_cast<uint8_t*>(missing.data()), missing.size_bytes()});
    done += KeepBelow(missing, mask, q.value());
  }
}

void ToResidues(std::span<uint32_t> out, std::span<const int8_t> in, const Modulus& q) {
  HEFT_DCHECK(in.size() >= out.size(), "a value for each residue");
  for (size_t i = 0; i < out.size(); ++i) {
    const int32_t v = in[i];
    out[i] = static_cast<uint32_t>(v + (static_cast<int32_t>(q.value()) & (v >> 31)));
  }
}

}  // namespace heft::ring
