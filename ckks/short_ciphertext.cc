// SPDX-License-Identifier: Apache-2.0
#include "ckks/short_ciphertext.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/aligned.h"
#include "base/check.h"
#include "ckks/packed_bits.h"
#include "ckks/serialization.h"
#include "ckks/shape.h"
#include "ring/sampling.h"

namespace heft::ckks {
namespace {

// RoundedQuotients: round(v 2^shift / q) mod 2^bits of each value, v < q and shift < 30. Shortened
// values are public, so branches are permitted.
void RoundedQuotients(std::span<uint32_t> values, int shift, int bits, uint32_t q) {
  const double factor = std::ldexp(1.0, shift) / q;
  const uint32_t half = q / 2;
  const uint32_t mask = (uint32_t{1} << bits) - 1;
  for (uint32_t& v : values) {
    // Below 2^30, and wrong by one at most; the rest, exact modulo 2^32, determines the correction.
    auto quotient =
        static_cast<int32_t>(static_cast<double>(static_cast<int32_t>(v)) * factor + 0.5);
    const auto rest =
        static_cast<int32_t>((v << shift) + half - static_cast<uint32_t>(quotient) * q);
    quotient += (rest >= static_cast<int32_t>(q) ? 1 : 0) - (rest < 0 ? 1 : 0);
    v = static_cast<uint32_t>(quotient) & mask;
  }
}

// The bits of part p.
int PartBits(const ShortForm& form, int p) { return p == 0 ? form.bits - form.dropped : form.bits; }

}  // namespace

absl::Status CheckShortForm(const Context& context, const ShortForm& form) {
  const int most = context.modulus(0).bits() - 1;
  if (form.dropped >= 0 && form.bits > form.dropped && form.raised >= 0 && form.bits <= most &&
      form.raised <= most - form.bits) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat("no short form: ", form.bits, " bits, ",
                                                 form.dropped, " dropped below and ", form.raised,
                                                 " above, of at most ", most));
}

size_t ShortSize(const Context& context, const ShortForm& form) {
  return PackedSize(context.n(), PartBits(form, 0)) + PackedSize(context.n(), PartBits(form, 1));
}

double ShorteningError(const Params& params, const ShortForm& form) {
  const double q = params.modulus(0).value();
  const double step0 = std::ldexp(q, -PartBits(form, 0));
  const double step1 = std::ldexp(q, -PartBits(form, 1));
  const double n = params.n();
  const double variance = n * (step0 * step0 + n * ring::kTernaryVariance * step1 * step1) / 12;
  return Combine(std::sqrt(variance), RoundingError(params));
}

absl::StatusOr<ShortCiphertext> Shorten(const Context& context, const Ciphertext& ciphertext,
                                        const ShortForm& form) {
  HEFT_RETURN_IF_ERROR(CheckShape(context, ciphertext));
  HEFT_RETURN_IF_ERROR(CheckShortForm(context, form));
  if (ciphertext.size() != 2 || ciphertext.limbs() != 1) {
    return absl::InvalidArgumentError("what is shortened has two parts and one limb");
  }
  ShortCiphertext out;
  out.form = form;
  const double raise = std::ldexp(1.0, form.raised);
  out.scale = ciphertext.scale * raise;
  out.noise = {ciphertext.noise.message,
               Combine(ciphertext.noise.error * raise, ShorteningError(context.params(), form))};
  out.packed.resize(ShortSize(context, form));
  const size_t n = context.n();
  AlignedVector<uint32_t> values(n);
  std::span<uint8_t> to = out.packed;
  for (int p = 0; p < 2; ++p) {
    const int bits = PartBits(form, p);
    std::ranges::copy(ciphertext.parts[p].limb(0), values.begin());
    context.ntt(0).Inverse(values);
    RoundedQuotients(values, bits + form.raised, bits, context.modulus(0).value());
    PackBits(values, bits, to);
    to = to.subspan(PackedSize(n, bits));
  }
  return out;
}

Ciphertext Lengthen(const Context& context, const ShortCiphertext& shortened) {
  HEFT_DCHECK_OK(CheckShortForm(context, shortened.form));
  HEFT_DCHECK(shortened.packed.size() == ShortSize(context, shortened.form), "all bits are there");
  const uint64_t q = context.modulus(0).value();
  const size_t n = context.n();
  Ciphertext out;
  out.scale = shortened.scale;
  out.noise = shortened.noise;
  ByteSpan from = shortened.packed;
  for (int p = 0; p < 2; ++p) {
    const int bits = PartBits(shortened.form, p);
    ring::RnsPoly poly(n, 1);
    const std::span<uint32_t> values = poly.limb(0);
    UnpackBits(from, bits, values);
    // Below q: 2^bits is at most q / 2.
    for (uint32_t& v : values) {
      v = static_cast<uint32_t>((v * q + (uint64_t{1} << bits >> 1)) >> bits);
    }
    context.ntt(0).Forward(values);
    out.parts.push_back(std::move(poly));
    from = from.subspan(PackedSize(n, bits));
  }
  return out;
}

void WriteShortCiphertext(ByteWriter& writer, const ShortCiphertext& shortened) {
  writer.U8(static_cast<uint8_t>(shortened.form.bits));
  writer.U8(static_cast<uint8_t>(shortened.form.dropped));
  writer.U8(static_cast<uint8_t>(shortened.form.raised));
  WriteScaleAndNoise(writer, shortened.scale, shortened.noise);
  writer.Raw(shortened.packed);
}

ShortCiphertext ReadShortCiphertext(ByteReader& reader, const Context& context) {
  ShortCiphertext out;
  out.form.bits = reader.U8();
  out.form.dropped = reader.U8();
  out.form.raised = reader.U8();
  ReadScaleAndNoise(reader, &out.scale, &out.noise);
  if (!reader.ok()) return out;
  const absl::Status form = CheckShortForm(context, out.form);
  if (!form.ok()) {
    reader.Fail(std::string(form.message()));
    return out;
  }
  const ByteSpan packed = reader.Raw(ShortSize(context, out.form));
  out.packed.assign(packed.begin(), packed.end());
  return out;
}

}  // namespace heft::ckks
