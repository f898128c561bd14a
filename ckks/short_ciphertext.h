// SPDX-License-Identifier: Apache-2.0
// ShortCiphertext: a ciphertext of two parts and one limb on its way to whoever decrypts it, in
// fewer bits (docs/design.md, "Short replies"). Nothing can be computed with it but its way back.
#ifndef HEFT_CKKS_SHORT_CIPHERTEXT_H_
#define HEFT_CKKS_SHORT_CIPHERTEXT_H_

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"

namespace heft::ckks {

// ShortForm: the modulus is switched from q to 2^(bits + raised), the upper `raised` bits and the
// lower `dropped` ones of part 0 are left out:
//
//     c_1 -> round(c_1 2^(bits + raised) / q) mod 2^bits
//     c_0 -> round(c_0 2^(bits + raised - dropped) / q) mod 2^(bits - dropped)
//
// Part 0's rounding is not multiplied by the secret, so its low bits are worth less. Without the
// upper bits a coefficient of the message is known modulo q / 2^raised alone.
struct ShortForm {
  int bits = 0;
  int dropped = 0;
  int raised = 0;

  bool operator==(const ShortForm&) const = default;
};

struct ShortCiphertext {
  ShortForm form;
  double scale = 1;  // and noise: of what Lengthen makes of it
  Noise noise;
  std::vector<uint8_t> packed;  // coefficients of part 0, then of part 1
};

// CheckShortForm: kInvalidArgument unless bits > dropped >= 0, raised >= 0, and bits + raised is
// below the base prime's size.
absl::Status CheckShortForm(const Context& context, const ShortForm& form);

// ShortSize: bytes of `packed`.
size_t ShortSize(const Context& context, const ShortForm& form);

// ShorteningError: what the roundings of Shorten and Lengthen add to a slot's error, after both.
double ShorteningError(const Params& params, const ShortForm& form);

// Shorten: kInvalidArgument for a form or a ciphertext that does not fit.
absl::StatusOr<ShortCiphertext> Shorten(const Context& context, const Ciphertext& ciphertext,
                                        const ShortForm& form);

// Lengthen: the ciphertext of one limb that decrypts to 2^raised times the message, modulo the base
// prime. Its scale is that much larger, so what is decoded is the same, as long as no coefficient
// of the message wraps around.
Ciphertext Lengthen(const Context& context, const ShortCiphertext& shortened);

// WriteShortCiphertext, ReadShortCiphertext: form, scale, noise estimate, bits. Every bit counts,
// so what is read is written again as it was.
void WriteShortCiphertext(ByteWriter& writer, const ShortCiphertext& shortened);
ShortCiphertext ReadShortCiphertext(ByteReader& reader, const Context& context);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_SHORT_CIPHERTEXT_H_
