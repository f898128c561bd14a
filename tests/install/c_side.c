// SPDX-License-Identifier: Apache-2.0
// Uses the installed C headers: a server's functions, and with OWNER those of a key owner.
#include <heft.h>
#include <stdio.h>

int main(void) {
  heft_error* error = NULL;
  heft_gallery* gallery = NULL;
  const heft_status status = heft_gallery_open("/nonexistent", &gallery, &error);
  printf("HEFT %s, ABI %d: %s\n", heft_version(), heft_abi(), heft_error_message(error));
#ifdef OWNER
  heft_model* model = NULL;
  heft_key_owner* owner = NULL;
  if (heft_key_owner_generate(model, &owner, &error) != HEFT_INVALID_ARGUMENT) return 1;
#endif
  heft_error_free(error);
  return status == HEFT_NOT_FOUND && heft_abi() == HEFT_C_ABI ? 0 : 1;
}
