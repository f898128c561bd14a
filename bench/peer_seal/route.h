// SPDX-License-Identifier: Apache-2.0
// What the programs of this comparison have in common: one workload in plain doubles, and routes
// that fuse its probe and match it, each with its own library and schedule.
#ifndef HEFT_BENCH_PEER_SEAL_ROUTE_H_
#define HEFT_BENCH_PEER_SEAL_ROUTE_H_

#include <array>
#include <cstdint>
#include <vector>

namespace heft::bench {

// One probe of two modalities, a projection, and a gallery of unit templates.
struct Workload {
  uint32_t gamma = 0;              // fused dimension, a power of two
  std::vector<double> projection;  // gamma rows of first.size() + second.size() columns
  std::vector<double> first, second;
  // 1/sqrt(s) ~ c[0] + c[1] s + c[2] s^2, the paper's degree. Our own route uses a cubic.
  std::array<double, 3> quadratic{};
  std::vector<std::vector<double>> gallery;

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

}  // namespace heft::bench

#endif  // HEFT_BENCH_PEER_SEAL_ROUTE_H_
