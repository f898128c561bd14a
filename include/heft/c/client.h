// SPDX-License-Identifier: Apache-2.0
// The client's role (heft/client.h): it encrypts feature vectors with the key owner's encryption
// key, one file for each modality. It cannot decrypt the result.
#ifndef HEFT_C_CLIENT_H_
#define HEFT_C_CLIENT_H_

#include "heft/c/base.h"
#include "heft/c/model.h"

#ifdef __cplusplus
extern "C" {
#endif

// heft_client: a model and an encryption key, both copied. `what` names the key in errors.
typedef struct heft_client heft_client;
HEFT_C_API heft_status heft_client_create(const heft_model* model, heft_bytes encryption_key,
                                          const char* what, heft_client** client,
                                          heft_error** error);
HEFT_C_API void heft_client_free(heft_client* client);
HEFT_C_FREE_AT(client)

// heft_client_encrypt: encrypts rows of one modality into one file. `labels`: one identity for each
// row, or NULL. Options: "use": "enrolment" (the default, also for verifications) or
// "identification"; "encoding": "compact" (the default), "bulk" or "partial"; "average" (flag):
// averages the rows of each label.
HEFT_C_API heft_status heft_client_encrypt(const heft_client* client, const heft_rows* rows,
                                           const char* const* labels, const heft_options* options,
                                           heft_buffer** file, heft_error** error);
// heft_client_encrypt_fused: fuses row i of all `count` modalities and encrypts the result, for a
// client that has them all and a model whose profile has two rings. Options: "use", "average".
HEFT_C_API heft_status heft_client_encrypt_fused(const heft_client* client,
                                                 const heft_rows* modalities, size_t count,
                                                 const char* const* labels,
                                                 const heft_options* options, heft_buffer** file,
                                                 heft_error** error);

#ifdef __cplusplus
}
#endif

#endif  // HEFT_C_CLIENT_H_
