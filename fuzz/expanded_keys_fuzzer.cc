// SPDX-License-Identifier: Apache-2.0
// Expanded keys (fusion/expanded_keys.h). A program reads only those of its own user. Still,
// accepted keys lie in the input, fit the rings and are written as they were read.
#include <cstring>

#include "base/aligned.h"
#include "base/envelope.h"
#include "fusion/expanded_keys.h"
#include "fusion/key_files.h"
#include "fuzz/fuzz.h"

namespace heft::fuzz {
namespace {

void CheckKey(const ckks::SwitchKey& key, ByteSpan bytes) {
  const auto* at = reinterpret_cast<const uint8_t*>(key.values().data());
  Check(at >= bytes.data() && at + key.bytes() <= bytes.data() + bytes.size(), "in the input");
  Check(reinterpret_cast<uintptr_t>(at) % kCacheLine == 0, "on a cache line");
}

// Takes the keys for rings that they may fit, or not.
void Take(const ExpandedKeys::Impl& expanded) {
  const ckks::Context& context = *SmallRings().matching.context;
  for (const std::string_view kind : {kEvaluationKeysKind, kEnrolmentKeysKind}) {
    RingKeys keys;
    const absl::Status taken = TakeExpandedKeys(SmallRings(), expanded, kind, "input", &keys);
    if (!taken.ok()) {
      CheckRefusal(taken);
      continue;
    }
    Check(keys.matching.key_id == expanded.key_id(), "the key that it says");
    for (const auto& [element, key] : keys.matching.galois) {
      Check(element % 2 == 1 && element > 1 && element < 2 * context.n(), "a Galois element");
      Check(key.limbs() <= context.params().limbs(), "limbs of the context");
      Check(key.bytes() == ckks::SwitchKey::ValueCount(context.n(), key.limbs()) * sizeof(uint32_t),
            "as large as the ring says");
    }
  }
}

void Read(ByteSpan input) {
  const AlignedVector<uint8_t> bytes(input.begin(), input.end());
  const auto expanded = ExpandedKeys::Impl::Parse(bytes, nullptr, "input");
  if (!expanded.ok()) return CheckRefusal(expanded.status());
  for (const auto& entry : expanded->entries()) CheckKey(entry.key, bytes);
  const ExpandedPieces pieces =
      PackExpandedKeys(expanded->source(), expanded->params_id(), expanded->key_id(), expanded->n(),
                       expanded->entries());
  size_t at = 0;
  for (const ByteSpan piece : pieces.all()) {
    Check(piece.size() <= bytes.size() - at &&
              (piece.empty() || std::memcmp(piece.data(), bytes.data() + at, piece.size()) == 0),
          "the same bytes when written again");
    at += piece.size();
  }
  Check(at == bytes.size(), "all of them");
  Take(*expanded);
}

// The envelope with a right hash: it ends before the values.
std::vector<uint8_t> Rehashed(ByteSpan input) {
  std::vector<uint8_t> out(input.begin(), input.end());
  if (out.size() < kEnvelopeOverhead) return out;
  const uint64_t size = ByteReader(input.subspan(16), "size").U64();
  if (size > out.size() - kEnvelopeOverhead) return out;
  const Hash hash = HashBytes(input.first(kEnvelopeHeaderSize + size));
  std::memcpy(out.data() + kEnvelopeHeaderSize + size, hash.data(), hash.size());
  return out;
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace heft::fuzz;  // NOLINT
  const heft::ByteSpan input(data, size);
  Read(input);
  Read(Rehashed(input));
  return 0;
}
