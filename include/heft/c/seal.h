// SPDX-License-Identifier: Apache-2.0
// Exchange with Microsoft SEAL 4.x (heft/seal.h, docs/seal.md): clients that use SEAL encrypt for a
// HEFT server and open its replies. heft/c/key_owner.h has the functions that need a secret key.
// Options of exports: "compression" ("none", "zlib", "zstd", the default), "ring" ("matching", the
// default, or "enrolment"). Key ids: 32 hexadecimal digits. `what` names bytes in errors.
#ifndef HEFT_C_SEAL_H_
#define HEFT_C_SEAL_H_

#include "heft/c/base.h"
#include "heft/c/matcher.h"
#include "heft/c/model.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Out.

// heft_seal_export_parameters: SEAL's EncryptionParameters, and how to use them. Options:
// "compression", "ring". Result: the record SealParameters.
HEFT_C_API heft_status heft_seal_export_parameters(const heft_model* model,
                                                   const heft_options* options,
                                                   heft_result** result, heft_error** error);
// heft_seal_export_encryption_key: SEAL's PublicKey for one ring. Options: "compression", "ring".
HEFT_C_API heft_status heft_seal_export_encryption_key(const heft_model* model, heft_bytes key,
                                                       const char* what,
                                                       const heft_options* options,
                                                       heft_buffer** exported, heft_error** error);
// heft_seal_export_samples: SEAL's Ciphertexts of encrypted samples, one after the other in
// `ciphertexts`. Options: "compression". Result: sizes [bytes of each], and the members labels and
// bulk of the record SealSamples.
HEFT_C_API heft_status heft_seal_export_samples(const heft_model* model, heft_bytes samples,
                                                const char* what, const heft_options* options,
                                                heft_monitor monitor, void* user,
                                                heft_buffer** ciphertexts, heft_result** result,
                                                heft_error** error);
// heft_seal_export_scores: a reply as SEAL's Ciphertexts (SealScores): those of the scores, then
// the squared norm and the turned one, one after the other in `ciphertexts`. Options:
// "compression". Result: sizes [bytes of each]; kind, probe, claimed, templates, identities;
// replies [{answers
// [[slot, lane]], block}]. `factors`: SealScores::factors, doubles as in memory.
HEFT_C_API heft_status heft_seal_export_scores(const heft_model* model, heft_bytes reply,
                                               const char* what, const heft_options* options,
                                               heft_buffer** ciphertexts, heft_buffer** factors,
                                               heft_result** result, heft_error** error);

// ---- In.

// heft_seal_new_key_id: for the first import under a secret key. All files of one secret key need
// the same id, which SEAL's files do not have. Result: key_id.
HEFT_C_API heft_status heft_seal_new_key_id(heft_result** result, heft_error** error);
// heft_seal_import_encryption_key: from SEAL's PublicKey in `keys`; if the model has two rings,
// from that of the matching ring and that of the enrolment ring.
HEFT_C_API heft_status heft_seal_import_encryption_key(const heft_model* model, const char* key_id,
                                                       const heft_files* keys,
                                                       heft_buffer** imported, heft_error** error);
// heft_seal_import_evaluation_keys: from SEAL's GaloisKeys and RelinKeys of the matching ring, in
// this order in `keys`. Result: galois_keys (the number of those that were used).
HEFT_C_API heft_status heft_seal_import_evaluation_keys(const heft_model* model, const char* key_id,
                                                        const heft_files* keys,
                                                        heft_monitor monitor, void* user,
                                                        heft_buffer** imported,
                                                        heft_result** result, heft_error** error);
// heft_seal_import_samples: from SEAL's Ciphertexts, one for each sample, all of one ring. Options:
// "labels" (added: one for each sample, one for all, or none).
HEFT_C_API heft_status heft_seal_import_samples(const heft_model* model, const char* modality,
                                                const char* key_id, const heft_files* ciphertexts,
                                                const heft_options* options, heft_monitor monitor,
                                                void* user, heft_buffer** imported,
                                                heft_error** error);

#ifdef __cplusplus
}
#endif

#endif  // HEFT_C_SEAL_H_
