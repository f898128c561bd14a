// SPDX-License-Identifier: Apache-2.0
// Signatures: signer, audience and validity of a file (heft/trust.h). A signing key decrypts
// nothing. Roles: "key-owner", "server", "client", "registrar", "trainer". Public keys: 64
// hexadecimal digits. Passphrases: {NULL, 0} for none, or
// heft_asked; HEFT wipes its copies.
#ifndef HEFT_C_TRUST_H_
#define HEFT_C_TRUST_H_

#include "heft/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct heft_trust heft_trust;

// heft_signing_key: an Ed25519 key pair. The secret half is in locked memory if the system permits
// it. Files have mode 0600 and are never overwritten.
typedef struct heft_signing_key heft_signing_key;
HEFT_C_API heft_status heft_signing_key_generate(heft_signing_key** key, heft_error** error);
HEFT_C_API heft_status heft_signing_key_load(const char* path, heft_bytes passphrase,
                                             heft_signing_key** key, heft_error** error);
// heft_sign: a function that signs elsewhere, such as in a token or a service: it writes the
// Ed25519 signature of `message` (RFC 8032, without a context), 64 bytes. If it cannot, it returns
// another result than HEFT_OK and may write a text into `reason`, up to HEFT_C_REASON bytes with
// the zero byte; the call that needs the signature then returns HEFT_UNAVAILABLE. Any number of
// threads may call it. It must not throw or jump out.
#define HEFT_C_REASON 256
typedef heft_status (*heft_sign)(void* user, heft_bytes message, uint8_t* signature, char* reason);
// heft_signing_key_outside: a key whose secret half is elsewhere (OutsideSigningKey). Each
// signature is checked with `public_key`. It cannot be saved. `sign` and `user` must be valid until
// all objects that sign with the key are freed.
HEFT_C_API heft_status heft_signing_key_outside(const char* public_key, heft_sign sign, void* user,
                                                heft_signing_key** key, heft_error** error);
// heft_use_gallery_signer: signs with such a key for the galleries of the store in `folder`, in
// this process and from now on (UseGallerySigner). No server.key is read or created. `sign` and
// `user` must be valid until the process ends.
HEFT_C_API heft_status heft_use_gallery_signer(const char* folder, const char* public_key,
                                               heft_sign sign, void* user, heft_error** error);
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
// CheckAuthorised: HEFT_OK if a registrar that `trust` lists has permitted this act.
HEFT_C_API heft_status heft_check_authorised(heft_bytes authorisation, const heft_trust* trust,
                                             const char* act, const char* gallery_id,
                                             const char* identity, heft_error** error);

// heft_trust: the accepted signers of each role.
HEFT_C_API heft_status heft_trust_new(heft_trust** trust, heft_error** error);
HEFT_C_API heft_status heft_trust_load(const char* path, heft_trust** trust, heft_error** error);
// For decisions that depend on the file: HEFT_FAILED_PRECONDITION if every user may write it.
HEFT_C_API heft_status heft_trust_load_guarded(const char* path, heft_trust** trust,
                                               heft_error** error);
// From the text of a trust file, and that text; `what` names it in errors.
HEFT_C_API heft_status heft_trust_parse(heft_bytes text, const char* what, heft_trust** trust,
                                        heft_error** error);
HEFT_C_API heft_status heft_trust_text(const heft_trust* trust, heft_buffer** text,
                                       heft_error** error);
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
// NULL): role, kind, signer, signer_name, audience, subject, gallery, generation, nonce, request,
// issued, expires. A key, an id or a digest that the file does not state is "".
HEFT_C_API heft_status heft_open_signed(heft_bytes bytes, const heft_trust* trust,
                                        const heft_options* options, const char* what,
                                        heft_buffer** file, heft_result** statement,
                                        heft_error** error);
// Whether the bytes begin with the header of a signed file: 1 or 0.
HEFT_C_API int heft_is_signed(heft_bytes bytes);

#ifdef __cplusplus
}
#endif

#endif  // HEFT_C_TRUST_H_
