// SPDX-License-Identifier: Apache-2.0
#include "ring/ahead.h"

namespace heft::ring {
namespace {
thread_local Ahead* t_ahead = nullptr;
}  // namespace

Ahead::Ahead(Range range) : outer_(t_ahead), at_(range.data()), end_(range.data() + range.size()) {
  t_ahead = this;
}

Ahead::~Ahead() { t_ahead = outer_; }

const uint32_t** Ahead::Cursor() {
  Ahead* const ahead = t_ahead;
  return ahead != nullptr && ahead->at_ < ahead->end_ ? &ahead->at_ : nullptr;
}

}  // namespace heft::ring
