// SPDX-License-Identifier: Apache-2.0
// Checking a server (heft/audit.h): whoever has a copy of a gallery, the evaluation keys and the
// files of a request makes a reply again and compares it bit for bit. Nothing of this can decrypt.
#ifndef HEFT_C_AUDIT_H_
#define HEFT_C_AUDIT_H_

#include "heft/c/base.h"
#include "heft/c/gallery.h"
#include "heft/c/matcher.h"
#include "heft/c/trust.h"

#ifdef __cplusplus
extern "C" {
#endif

// MakeAuditKey: FOLDER/audit.key, where there is none: from then on replies commit to their seeds.
HEFT_C_API heft_status heft_audit_key_make(const char* gallery, heft_error** error);
// RevealSeed: the seed of a reply that the server whose public key is `server` has signed.
HEFT_C_API heft_status heft_audit_reveal(const char* gallery, const char* server, heft_bytes reply,
                                         heft_buffer** seed, heft_error** error);
// AuditReply: whether a server of `trust` has made this signed reply from the gallery of which
// `copy` is a copy; `requests`: the one that it answers, and any others, `count` in all. right,
// reason.
HEFT_C_API heft_status heft_audit_reply(const heft_matcher* matcher, const heft_gallery* copy,
                                        const heft_trust* trust, heft_bytes reply, heft_bytes seed,
                                        const heft_files* const* requests, size_t count,
                                        heft_result** result, heft_error** error);
// AuditGallery: whether a key owner of `trust` has signed this very gallery; `state` is the
// admission that says so, FOLDER/state.heft. right, reason.
HEFT_C_API heft_status heft_audit_gallery(const heft_matcher* matcher, const heft_gallery* copy,
                                          heft_bytes state, const heft_trust* trust,
                                          heft_result** result, heft_error** error);

#ifdef __cplusplus
}
#endif

#endif  // HEFT_C_AUDIT_H_
