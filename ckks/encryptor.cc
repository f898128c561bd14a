// SPDX-License-Identifier: Apache-2.0
#include "ckks/encryptor.h"

#include "base/check.h"
#include "base/secure.h"
#include "ckks/arithmetic.h"
#include "ckks/shape.h"
#include "ring/sampling.h"

namespace heft::ckks {

Ciphertext Encrypt(const Context& context, const Plaintext& plaintext, const PublicKey& key,
                   Csprng& rng) {
  HEFT_DCHECK_OK(CheckShape(context, plaintext));
  HEFT_DCHECK(!plaintext.extended, "what is encrypted is not extended");
  HEFT_DCHECK_OK(CheckShape(context, key));
  const size_t n = context.n();
  const size_t limbs = plaintext.limbs();
  const ring::Kernels& kernels = ring::ActiveKernels();
  std::vector<int8_t> u(n), e(n);
  AlignedVector<uint32_t> u_residues(n), e_residues(n);
  ring::SampleTernary(u, rng);
  Ciphertext out;
  out.scale = plaintext.scale;
  for (int part = 0; part < 2; ++part) {
    const ring::RnsPoly& k = part == 0 ? key.b : key.a;
    ring::SampleError(e, rng);
    ring::RnsPoly sum(n, limbs + 1);
    for (size_t l = 0; l <= limbs; ++l) {
      const size_t prime = l < limbs ? l : context.special_index();
      const ring::Modulus& q = context.modulus(prime);
      ring::ToResidues(u_residues, u, q);
      ring::ToResidues(e_residues, e, q);
      context.ntt(prime).Forward(u_residues);
      context.ntt(prime).Forward(e_residues);
      uint32_t* v = sum.limb(l).data();
      kernels.multiply(v, u_residues.data(), k.limb(prime).data(), n, q);
      kernels.add(v, v, e_residues.data(), n, q);
    }
    out.parts.emplace_back(n, limbs);
    DivideByLast(context, &out.parts[part], sum, context.special_index());
  }
  for (size_t l = 0; l < limbs; ++l) {
    uint32_t* v = out.parts[0].limb(l).data();
    kernels.add(v, v, plaintext.poly.limb(l).data(), n, context.modulus(l));
  }
  out.noise = {plaintext.noise.message,
               Combine(plaintext.noise.error, PublicKeyError(context.params()))};
  // With the public key, u decrypts the ciphertext.
  SecureWipe(u.data(), u.size());
  SecureWipe(e.data(), e.size());
  SecureWipe(u_residues.data(), n * sizeof(uint32_t));
  SecureWipe(e_residues.data(), n * sizeof(uint32_t));
  return out;
}

}  // namespace heft::ckks
