// SPDX-License-Identifier: Apache-2.0
// ShortCiphertext: a ciphertext of two parts and one limb in fewer bits, for the transfer to its
// decryptor (docs/design.md, "Short replies"). It can only be lengthened again.
#ifndef HEFT_CKKS_SHORT_CIPHERTEXT_H_
#define HEFT_CKKS_SHORT_CIPHERTEXT_H_

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "ckks/ciphertext.h"
#include "ckks/context.h"

namespace heft::ckks {

// ShortForm: the modulus is switched from q to 2^(bits + raised). The upper `raised` bits, and the
// lower `dropped` bits of part 0, are left out:
//
//     c_1 -> round(c_1 2^(bits + raised) / q) mod 2^bits
//     c_0 -> round(c_0 2^(bits + raised - dropped) / q) mod 2^(bits - dropped)
//
// Part 0's rounding is not multiplied by the secret, so its low bits matter less. Without the upper
// bits, a coefficient of the message is known only modulo q / 2^raised.
struct ShortForm {
  int bits = 0;
  int dropped = 0;
  int raised = 0;

  bool operator==(const ShortForm&) const = default;
};

struct ShortCiphertext {
  ShortForm form;
  double scale = 1;  // and noise: those of the result of Lengthen
  Noise noise;
  std::vector<uint8_t> packed;  // coefficients of part 0, then of part 1
};

// CheckShortForm: kInvalidArgument unless bits > dropped >= 0, raised >= 0, and bits + raised is
// below the base prime's size.
absl::Status CheckShortForm(const Context& context, const ShortForm& form);

// ShortSize: bytes of `packed`.
size_t ShortSize(const Context& context, const ShortForm& form);

// ShorteningError: the error that the roundings of Shorten and Lengthen together add to a slot.
double ShorteningError(const Params& params, const ShortForm& form);

// Shorten: kInvalidArgument for a form or a ciphertext that does not fit.
absl::StatusOr<ShortCiphertext> Shorten(const Context& context, const Ciphertext& ciphertext,
                                        const ShortForm& form);

// Lengthen: the ciphertext of one limb that decrypts to 2^raised times the message, modulo the base
// prime. Its scale is larger by the same factor, so the decoded values are the same, as long as no
// coefficient of the message wraps around.
Ciphertext Lengthen(const Context& context, const ShortCiphertext& shortened);

// WriteShortCiphertext, ReadShortCiphertext: form, scale, noise estimate, bits. All bits are
// significant: a read ciphertext is written as the same bytes.
void WriteShortCiphertext(ByteWriter& writer, const ShortCiphertext& shortened);
ShortCiphertext ReadShortCiphertext(ByteReader& reader, const Context& context);

}  // namespace heft::ckks

#endif  // HEFT_CKKS_SHORT_CIPHERTEXT_H_
