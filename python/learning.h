// SPDX-License-Identifier: Apache-2.0
// Parts of DefineTraining in their own files: scores, and studies of people.
#ifndef HEFT_PYTHON_LEARNING_H_
#define HEFT_PYTHON_LEARNING_H_

#include <pybind11/pybind11.h>

namespace heft::python {

void DefineScoreFiles(pybind11::module_& m);
void DefineReports(pybind11::module_& m);
void DefineStudies(pybind11::module_& m);

}  // namespace heft::python

#endif  // HEFT_PYTHON_LEARNING_H_
