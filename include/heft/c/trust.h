// SPDX-License-Identifier: Apache-2.0
// Signatures: signer, audience and validity of a file (heft/trust.h). A signing key decrypts
// nothing. Roles: "key-owner", "server", "client", "registrar", "trainer". Public keys: 64
// hexadecimal digits. Passphrases: {NULL, 0} for none; HEFT wipes its copies.
#ifndef HEFT_C_TRUST_H_
#define HEFT_C_TRUST_H_

#include "heft/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// heft_signing_key: an Ed25519 key pair. The secret half is in locked memory if the system permits
// it. Files have mode 0600 and are never overwritten.
typedef struct heft_signing_key heft_signing_key;
HEFT_C_API heft_status heft_signing_key_generate(heft_signing_key** key, heft_error** error);
HEFT_C_API heft_status heft_signing_key_load(const char* path, heft_bytes passphrase,
                                             heft_signing_key** key, heft_error** error);
HEFT_C_API void heft_signing_key_free(heft_signing_key* key);
HEFT_C_FREE_AT(signing_key)
HEFT_C_API heft_status heft_signing_key_save(const heft_signing_key* key, const char* path,
                                             heft_bytes passphrase, heft_error** error);
// The public half, valid until the key is freed; NULL for NULL.
HEFT_C_API const char* heft_signing_key_public(const heft_signing_key* key);
// heft_signing_key_sign: signs a HEFT file. Options: "role" (text, required), "audience" (a public
// key; none: anybody), "gallery" (an id), "generation", "life" (seconds from now; 0, the default:
// without end).
HEFT_C_API heft_status heft_signing_key_sign(const heft_signing_key* key, heft_bytes file,
                                             const heft_options* options, heft_buffer** signed_file,
                                             heft_error** error);
// heft_authorise: a registrar's signed permission for `act` ("add", "replace", "remove") on an
// enrolled identity, valid for `life` seconds, 0: without end.
HEFT_C_API heft_status heft_authorise(const heft_signing_key* registrar, const char* gallery_id,
                                      const char* act, const char* identity, uint64_t life,
                                      heft_buffer** authorisation, heft_error** error);

// heft_trust: the accepted signers of each role.
typedef struct heft_trust heft_trust;
HEFT_C_API heft_status heft_trust_new(heft_trust** trust, heft_error** error);
HEFT_C_API heft_status heft_trust_load(const char* path, heft_trust** trust, heft_error** error);
HEFT_C_API void heft_trust_free(heft_trust* trust);
HEFT_C_FREE_AT(trust)
HEFT_C_API heft_status heft_trust_save(const heft_trust* trust, const char* path,
                                       heft_error** error);
HEFT_C_API heft_status heft_trust_add(heft_trust* trust, const char* role, const char* name,
                                      const char* public_key, heft_error** error);
HEFT_C_API heft_status heft_trust_revoke(heft_trust* trust, const char* public_key,
                                         heft_error** error);
// Accepts only replies of pinned galleries, from `generation` on.
HEFT_C_API heft_status heft_trust_pin(heft_trust* trust, const char* gallery_id,
                                      uint64_t generation, heft_error** error);
// keys {role: [{name, key}]}, revoked [{name, key}], galleries [{gallery_id, generation}].
HEFT_C_API heft_status heft_trust_describe(const heft_trust* trust, heft_result** result,
                                           heft_error** error);

// heft_open_signed: returns the file if `trust` lists its signer and it meets the options
// (OpenSigned). Options: "roles" (texts, added; none: any), "kind" (four letters), "audience" (the
// reader's public key), "gallery" (an id), "min_generation". With `trust` NULL, for display, only
// the signature itself is checked (ReadSigned), and options must be NULL. `statement` (may be
// NULL): role, kind, signer, signer_name, audience, gallery, generation, issued, expires.
HEFT_C_API heft_status heft_open_signed(heft_bytes bytes, const heft_trust* trust,
                                        const heft_options* options, const char* what,
                                        heft_buffer** file, heft_result** statement,
                                        heft_error** error);

#ifdef __cplusplus
}
#endif

#endif  // HEFT_C_TRUST_H_
