// SPDX-License-Identifier: Apache-2.0
// The peer: Microsoft SEAL 4 running the paper's schedule, and better ones.
#ifndef HEFT_BENCH_PEER_SEAL_SEAL_ROUTES_H_
#define HEFT_BENCH_PEER_SEAL_SEAL_ROUTES_H_

#include <memory>
#include <string>

#include "bench/peer_seal/route.h"

namespace heft::bench {

std::string SealVersion();
bool SealUsesHexl();

// The paper's schedule with the parameters of its published code: N = 16384 and primes of {50, 40
// x 8, 50} bits. Dense encoding in windows of 2 delta slots (the probe in all of them);
// concatenation by a rotation; gamma diagonals with gamma - 1 rotations by one, every product
// rescaled; log2(delta / gamma) folds: 37 rotations, none hoisted. |z|^2 by log2(gamma) folds; the
// quadratic by Horner's rule with a level for its leading coefficient. Gallery: gamma slots a
// template; product, relinearisation, rescale and log2(gamma) folds for each of its ciphertexts.
// Left out in SEAL's favour: the published code's encryptions of zero, its 32nd rotation, and
// Galois keys that are not used.
std::unique_ptr<Route> MakePaperRoute(const Workload& workload);

// Where the probe's values stand.
enum class ProbeLayout {
  kDense,    // as in the paper, without its second copies
  kCompact,  // ours (fusion/compact.h), the second modality in the imaginary parts
};

// The schedule that a good engineer arrives at in SEAL, which cannot hoist: N = 8192 and primes of
// {33, 28 x 5, 40} bits (213 in all; the large special prime makes up for SEAL's digits, which are
// not centred). Clients place their modality at its offset, so concatenation is an addition; 8 baby
// steps and 4 giant steps (kCompact: 4 products only, and a conjugation); one rescale before the
// folds; c2 ((s + a)^2 + b) z with c2 in the scale. A template takes slots / templates slots of
// several ciphertexts, so that all scores leave in one after one relinearisation.
std::unique_ptr<Route> MakeImprovedRoute(const Workload& workload, ProbeLayout layout);

}  // namespace heft::bench

#endif  // HEFT_BENCH_PEER_SEAL_SEAL_ROUTES_H_
