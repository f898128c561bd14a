// SPDX-License-Identifier: Apache-2.0
// Parts of DefineGalleryAdmin in their own file: remains of erased templates, and imports.
#ifndef HEFT_PYTHON_ERASURE_H_
#define HEFT_PYTHON_ERASURE_H_

#include <pybind11/pybind11.h>

#include <cstdint>
#include <vector>

namespace heft::python {

void DefineErasure(pybind11::module_& m);

// ReceiptsOf: a list of bytes.
pybind11::list ReceiptsOf(const std::vector<std::vector<uint8_t>>& receipts);

}  // namespace heft::python

#endif  // HEFT_PYTHON_ERASURE_H_
