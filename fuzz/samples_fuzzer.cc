// SPDX-License-Identifier: Apache-2.0
// Encrypted samples, kinds CTXT, CTXS, CTXP and CTXF (fusion/samples.cc), and every ciphertext in
// them.
#include "ckks/arithmetic.h"
#include "fusion/samples.h"
#include "fuzz/fuzz.h"

namespace heft::fuzz {
namespace {

void CheckCiphertextRead(const absl::StatusOr<ckks::Ciphertext>& read) {
  if (!read.ok()) return CheckRefusal(read.status());
  const ckks::Context& context = *SmallContext();
  ckks::Ciphertext c = *read;
  Check(c.size() == 2 && c.limbs() == context.params().limbs(), "a fresh ciphertext's form");
  Check(c.scale > 0, "a positive scale");
  c.scale = 1;  // whether a scale fits is for the server to say, by its plan
  Check(ckks::CheckCiphertext(context, c).ok(), "residues below their primes");
}

void Read(ByteSpan bytes) {
  const auto samples = SampleReader::Parse(
      SmallContext(), std::vector<uint8_t>(bytes.begin(), bytes.end()), "input");
  if (!samples.ok()) return CheckRefusal(samples.status());
  Check(samples->size() <= bytes.size(), "no more samples than bytes");
  const size_t records = samples->bulk() ? samples->header().dimension : samples->size();
  for (size_t i = 0; i <= records; ++i) {
    const auto read = samples->bulk() ? samples->Coordinate(i) : samples->Sample(i);
    Check(i < records || !read.ok(), "nothing past the end");
    CheckCiphertextRead(read);
  }
}

}  // namespace
}  // namespace heft::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  heft::fuzz::ReadBothWays({data, size}, heft::fuzz::Read);
  return 0;
}
