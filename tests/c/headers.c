// SPDX-License-Identifier: Apache-2.0
// Checks that the headers are C11 without a warning. A C program that links the server's library
// gets no function of the key owner: such a call would not link (tests/c/abi_test.sh checks both).
#include <heft.h>
#include <stdio.h>
#include <string.h>

#define EXPECT(condition)                                   \
  if (!(condition)) {                                       \
    fprintf(stderr, "line %d: %s\n", __LINE__, #condition); \
    return 1;                                               \
  }

// An object is freed at the end of its block. A freed object has lost its tag, so a call would
// notice.
static heft_status Loaded(const char* path, heft_error** error) {
  HEFT_AUTO(model)* model = NULL;
  HEFT_AUTO(signing_key)* first = NULL, *second = NULL;
  if (heft_signing_key_generate(&first, error) || heft_signing_key_generate(&second, error)) {
    return HEFT_INTERNAL;
  }
  return heft_model_load(path, &model, error);
}

int main(void) {
  EXPECT(heft_abi() == HEFT_C_ABI);
  EXPECT(strcmp(heft_status_name(HEFT_DATA_LOSS), "DATA_LOSS") == 0);

  heft_error* error = NULL;
  heft_model* model = NULL;
  EXPECT(heft_model_load("/nonexistent/model.heft", &model, &error) == HEFT_NOT_FOUND);
  EXPECT(model == NULL && heft_error_status(error) == HEFT_NOT_FOUND);
  EXPECT(strstr(heft_error_message(error), "/nonexistent/model.heft") != NULL);
  const heft_bytes junk = {"junk", 4};
  EXPECT(heft_model_parse(junk, "junk", &model, &error) == HEFT_DATA_LOSS);
  EXPECT(heft_error_status(error) == HEFT_DATA_LOSS);
  EXPECT(heft_model_parse(junk, "junk", NULL, NULL) == HEFT_INVALID_ARGUMENT);

  heft_client* client = NULL;
  EXPECT(heft_client_create(NULL, junk, "key", &client, &error) == HEFT_INVALID_ARGUMENT);
  EXPECT(strcmp(heft_error_message(error), "model is NULL") == 0);
  heft_signing_key* key = NULL;
  EXPECT(heft_signing_key_generate(&key, &error) == HEFT_OK);
  EXPECT(heft_client_create((heft_model*)key, junk, "key", &client, &error) == HEFT_INVALID_ARGUMENT);
  EXPECT(strstr(heft_error_message(error), "model is not a heft_model") != NULL);
  EXPECT(strlen(heft_signing_key_public(key)) == 64);
  heft_signing_key_free(key);
  EXPECT(Loaded("/nonexistent/model.heft", &error) == HEFT_NOT_FOUND);
  heft_model_free(NULL);
  heft_error_free(error);
  return 0;
}
