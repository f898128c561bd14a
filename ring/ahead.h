// SPDX-License-Identifier: Apache-2.0
// Ahead: memory that this thread reads next. Transforms work in the caches and leave memory idle:
// while an Ahead lives, each transform of its thread fetches some of what it names, in order (twice
// the bytes that it transforms). Results do not depend on it.
#ifndef HEFT_RING_AHEAD_H_
#define HEFT_RING_AHEAD_H_

#include <cstdint>
#include <span>

namespace heft::ring {

class Ahead {
 public:
  using Range = std::span<const uint32_t>;
  // The range need not be there any more when it is fetched.
  explicit Ahead(Range range);
  Ahead(const Ahead&) = delete;
  Ahead& operator=(const Ahead&) = delete;
  ~Ahead();

  // Cursor: where this thread's next transform begins to fetch, to be moved by it, past the end
  // perhaps; nullptr where nothing is to be fetched.
  static const uint32_t** Cursor();

 private:
  Ahead* outer_;
  const uint32_t* at_;
  const uint32_t* end_;
};

}  // namespace heft::ring

#endif  // HEFT_RING_AHEAD_H_
