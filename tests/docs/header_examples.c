// SPDX-License-Identifier: Apache-2.0
// As header_examples.cc, for the C interface.
#include <heft.h>
#include <stdio.h>

void Owns(void) {
#include "tests/docs/headers/heft_c_base.h.1"
}

void Fails(const char* path, heft_model* model) {
#include "tests/docs/headers/heft_c_base.h.2"
}
