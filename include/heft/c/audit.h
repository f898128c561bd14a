// SPDX-License-Identifier: Apache-2.0
// Checking a server (heft/audit.h): an auditor with a copy of a gallery, the evaluation keys and
// the files of a request computes a reply again and compares it bit for bit. An auditor cannot
// decrypt.
#ifndef HEFT_C_AUDIT_H_
#define HEFT_C_AUDIT_H_

#include "heft/c/base.h"
#include "heft/c/gallery.h"
#include "heft/c/matcher.h"
#include "heft/c/trust.h"

#ifdef __cplusplus
extern "C" {
#endif

// MakeAuditKey: creates FOLDER/audit.key if it does not exist; from then on replies commit to their
// seeds.
HEFT_C_API heft_status heft_audit_key_make(const char* gallery, heft_error** error);
// RevealSeed: the seed of a reply signed by the server with public key `server`.
HEFT_C_API heft_status heft_audit_reveal(const char* gallery, const char* server, heft_bytes reply,
                                         heft_buffer** seed, heft_error** error);
// AuditReply: whether a server of `trust` computed this signed reply from the gallery that `copy`
// is a copy of. `requests`: the answered request and any others, `count` in all. Result: right,
// reason.
HEFT_C_API heft_status heft_audit_reply(const heft_matcher* matcher, const heft_gallery* copy,
                                        const heft_trust* trust, heft_bytes reply, heft_bytes seed,
                                        const heft_files* const* requests, size_t count,
                                        heft_result** result, heft_error** error);
// AuditGallery: whether a key owner of `trust` signed exactly this gallery. `state` is the
// admission that certifies it, FOLDER/state.heft. Result: right, reason.
HEFT_C_API heft_status heft_audit_gallery(const heft_matcher* matcher, const heft_gallery* copy,
                                          heft_bytes state, const heft_trust* trust,
                                          heft_result** result, heft_error** error);

#ifdef __cplusplus
}
#endif

#endif  // HEFT_C_AUDIT_H_
