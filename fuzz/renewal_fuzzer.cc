// SPDX-License-Identifier: Apache-2.0
// Files between server and key owner when blocks are made anew (gallery/renewal.h). An accepted
// file writes the same bytes again, its moves are moves, and its polynomials are those of a block.
#include <algorithm>

#include "fuzz/fuzz.h"
#include "gallery/renewal.h"

namespace heft::fuzz {
namespace {

void CheckSame(ByteSpan bytes, const std::vector<uint8_t>& again) {
  Check(std::equal(again.begin(), again.end(), bytes.begin(), bytes.end()),
        "what is read writes the bytes that it was read from");
}

void CheckPoly(const ring::RnsPoly& poly, size_t limbs, bool extended) {
  const ckks::Context& context = *SmallContext();
  Check(poly.n() == context.n() && poly.limbs() == limbs + (extended ? 1 : 0),
        "a polynomial of a block");
  for (size_t l = 0; l < poly.limbs(); ++l) {
    const uint32_t q = context.modulus(l < limbs ? l : context.special_index()).value();
    Check(std::ranges::all_of(poly.limb(l), [&](uint32_t v) { return v < q; }),
          "residues below their primes");
  }
}

void ReadRequest(ByteSpan bytes) {
  const auto request = ParseRenewalRequest(SmallInstance(), bytes, "input");
  if (!request.ok()) return CheckRefusal(request.status());
  CheckSame(bytes, SerializeRenewalRequest(SmallInstance(), *request));
  const size_t limbs = MatchLimbs(SmallInstance().params());
  for (const PaddedBlock& source : request->sources) {
    Check(source.ciphertexts.size() == kSmallGamma, "a ciphertext a coordinate");
    for (const PaddedBlock::Parts& c : source.ciphertexts) {
      for (const ring::RnsPoly& part : c.part) CheckPoly(part, limbs, /*extended=*/true);
    }
  }
  std::vector<std::pair<uint32_t, uint32_t>> moved;
  for (const std::vector<Move>& moves : request->targets) {
    Check(CheckMoves(SmallInstance().params(), moves, request->sources.size()).ok(),
          "moves of positions, each once");
    for (const Move& m : moves) moved.push_back({m.source, m.from});
  }
  std::ranges::sort(moved);
  Check(std::ranges::adjacent_find(moved) == moved.end(), "nothing goes into two targets");
}

void ReadAnswer(ByteSpan bytes) {
  const auto renewal = ParseRenewal(SmallInstance(), bytes, "input");
  if (!renewal.ok()) return CheckRefusal(renewal.status());
  CheckSame(bytes, SerializeRenewal(SmallInstance(), *renewal));
  for (const std::vector<ckks::SeededCiphertext>& target : renewal->targets) {
    Check(target.size() == kSmallGamma, "a ciphertext a coordinate");
    for (const ckks::SeededCiphertext& c : target) {
      CheckPoly(c.c0, MatchLimbs(SmallInstance().params()), /*extended=*/false);
    }
  }
}

void Read(ByteSpan bytes) {
  ReadRequest(bytes);
  ReadAnswer(bytes);
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  heft::fuzz::ReadBothWays({data, size}, heft::fuzz::Read);
  return 0;
}
