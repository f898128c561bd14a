// SPDX-License-Identifier: Apache-2.0
#include "ckks/owner/joint_keys.h"

#include <cmath>
#include <numeric>

#include "base/aligned.h"
#include "base/check.h"
#include "base/secure.h"
#include "ring/kernels.h"
#include "ring/sampling.h"

namespace heft::ckks {
namespace {

// PrimeOf: of a limb of a switching key, whose last limb is modulo the special prime.
size_t PrimeOf(const Context& context, size_t limb, size_t limbs) {
  return limb < limbs ? limb : context.special_index();
}

}  // namespace

void AddPart(const Context& context, const PublicKey& part, PublicKey* sum) {
  HEFT_DCHECK(part.seed == sum->seed && part.b.limbs() == sum->b.limbs(), "parts of one key");
  for (size_t l = 0; l < part.b.limbs(); ++l) {
    uint32_t* v = sum->b.limb(l).data();
    ring::ActiveKernels().add(v, v, part.b.limb(l).data(), context.n(), context.modulus(l));
  }
}

void AddPart(const Context& context, const SeededSwitchKey& part, SeededSwitchKey* sum) {
  HEFT_DCHECK(part.seed == sum->seed && part.limbs == sum->limbs, "parts of one key");
  for (size_t digit = 0; digit < part.limbs; ++digit) {
    for (size_t l = 0; l <= part.limbs; ++l) {
      uint32_t* v = sum->b[digit].limb(l).data();
      ring::ActiveKernels().add(v, v, part.b[digit].limb(l).data(), context.n(),
                                context.modulus(PrimeOf(context, l, part.limbs)));
    }
  }
}

RelinearisationPart MakeRelinearisationPart(const Context& context, const SecretKey& own,
                                            const SecretKey& ephemeral, size_t limbs, Csprng& rng,
                                            const Seed& common) {
  return {MakeRekeyingKey(context, own, ephemeral, limbs, rng, &common),
          MakeZeroKey(context, own, limbs, rng, common)};
}

SeededSwitchKey FinishRelinearisationPart(const Context& context, const SecretKey& own,
                                          const SecretKey& ephemeral,
                                          const RelinearisationPart& sums, Csprng& rng,
                                          const Seed& common) {
  HEFT_DCHECK(sums.h0.limbs == sums.h1.limbs, "both parts of one key");
  const ring::Kernels& kernels = ring::ActiveKernels();
  const size_t n = context.n(), limbs = sums.h0.limbs;
  SeededSwitchKey out = MakeZeroKey(context, own, limbs, rng, common);
  AlignedVector<uint32_t> product(n);
  for (size_t digit = 0; digit < limbs; ++digit) {
    for (size_t l = 0; l <= limbs; ++l) {
      const size_t prime = PrimeOf(context, l, limbs);
      const ring::Modulus& q = context.modulus(prime);
      uint32_t* v = out.b[digit].limb(l).data();
      kernels.multiply(product.data(), sums.h0.b[digit].limb(l).data(), own.residues(prime).data(),
                       n, q);
      kernels.add(v, v, product.data(), n, q);
      kernels.multiply(product.data(), sums.h1.b[digit].limb(l).data(),
                       ephemeral.residues(prime).data(), n, q);
      kernels.subtract(v, v, product.data(), n, q);
    }
  }
  SecureWipe(product.data(), product.size() * sizeof(uint32_t));
  return out;
}

double JointRelinearisationError(const Params& params, uint32_t owners) {
  // e2, s e0 and u e1: n errors each, and s and u are sums of n ternary polynomials.
  const double n = owners;
  return std::sqrt(n * (1 + 2 * n * ring::kTernaryVariance * params.n()));
}

absl::StatusOr<SecretShare> ShareOfSum(const Context& context, const SecretKey& own, uint32_t owner,
                                       uint32_t owners) {
  const Sharing sharing = {owners, owners};
  HEFT_RETURN_IF_ERROR(CheckSharing(sharing));
  HEFT_DCHECK(owner >= 1 && owner <= owners, "one of the owners");
  OwnerSet all(owners);
  std::iota(all.begin(), all.end(), 1);
  HEFT_ASSIGN_OR_RETURN(SecretShare share, SecretShare::Create(context, owner));
  for (size_t prime = 0; prime < share.primes(); ++prime) {
    const ring::Modulus& q = context.modulus(prime);
    const uint32_t factor = q.Inverse(LagrangeFactor(q, owner, all));
    ring::ActiveKernels().multiply_scalar(share.residues(prime).data(), own.residues(prime).data(),
                                          q.Shoup(factor), context.n(), q);
  }
  return share;
}

}  // namespace heft::ckks
