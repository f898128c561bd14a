// SPDX-License-Identifier: Apache-2.0
// What the programs of this comparison have in common: one workload in plain doubles, and routes
// that fuse its probe and match it, each with its own library and schedule.
#ifndef HEFT_BENCH_PEER_SEAL_ROUTE_H_
#define HEFT_BENCH_PEER_SEAL_ROUTE_H_

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "heft/model.h"

namespace heft::bench {

// One probe of two modalities, a projection, and a gallery of unit templates.
struct Workload {
  uint32_t gamma = 0;              // fused dimension, a power of two
  std::vector<double> projection;  // gamma rows of first.size() + second.size() columns
  std::vector<double> first, second;
  // 1/sqrt(s) ~ c[0] + c[1] s + c[2] s^2, the paper's degree. Our own route uses a cubic.
  std::array<double, 3> quadratic{};
  std::vector<std::vector<double>> gallery;
  std::vector<double> expected;  // scores of the probe, normalised by the quadratic

  uint32_t delta() const { return static_cast<uint32_t>(first.size() + second.size()); }
};

// Route: the server's work for one probe. Everything that does not depend on the probe is done when
// a route is made; encryption of the probe and of the gallery is the clients' work and also done
// then.
class Route {
 public:
  virtual ~Route() = default;
  virtual void Fuse() = 0;   // two encrypted modalities -> a template that is ready to match
  virtual void Match() = 0;  // what Fuse left, against the whole gallery -> encrypted scores
  // Decrypts the last scores; the largest difference from the same formula in plain doubles.
  virtual double WorstError() const = 0;
};

// ---- The peer: Microsoft SEAL 4 running the paper's schedule, and better ones (seal_routes.cc).

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

// ---- MakeHeftRoute: our side: the compact route, cubic normalisation, one diagonal block. `model`
// has the workload's projection; at most one block of templates.
absl::StatusOr<std::unique_ptr<Route>> MakeHeftRoute(const Workload& workload, const Model& model);

}  // namespace heft::bench

#endif  // HEFT_BENCH_PEER_SEAL_ROUTE_H_
