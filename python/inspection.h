// SPDX-License-Identifier: Apache-2.0
// Functions without a role: profiles and plans, files of vectors, times, conditions, signatures.
#ifndef HEFT_PYTHON_INSPECTION_H_
#define HEFT_PYTHON_INSPECTION_H_

#include <pybind11/pybind11.h>

namespace heft::python {

void DefineInspection(pybind11::module_& m);
void DefineConditions(pybind11::module_& m);
void DefineOutsideSigners(pybind11::module_& m);

}  // namespace heft::python

#endif  // HEFT_PYTHON_INSPECTION_H_
