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

void Asks(const heft_model* model, ptrdiff_t (*ask_at_terminal)(void*, char*, size_t),
          void* terminal) {
  heft_key_owner* owner = NULL;
  heft_error* error = NULL;
#include "tests/docs/headers/heft_c_base.h.3"
}
