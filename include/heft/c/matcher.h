// SPDX-License-Identifier: Apache-2.0
// The server's role (heft/server.h, heft/pending.h): it fuses, enrols and matches what it cannot
// read. Galleries are named FOLDER or FOLDER:NAME (heft/c/gallery.h).
#ifndef HEFT_C_MATCHER_H_
#define HEFT_C_MATCHER_H_

#include "heft/c/base.h"
#include "heft/c/client.h"
#include "heft/c/gallery.h"
#include "heft/c/model.h"
#include "heft/c/trust.h"

#ifdef __cplusplus
extern "C" {
#endif

// heft_files: what clients made, one file a modality, in any order; a modality that is absent
// counts as missing.
typedef struct heft_files heft_files;
HEFT_C_API heft_status heft_files_new(heft_files** files, heft_error** error);
HEFT_C_API void heft_files_free(heft_files* files);
HEFT_C_FREE_AT(files)
// Copies the bytes; `name` names them in errors.
HEFT_C_API heft_status heft_files_add(heft_files* files, heft_bytes bytes, const char* name,
                                      heft_error** error);

// heft_matcher: a model and the evaluation keys of one key set (Server), both copied.
// `enrolment_keys`: of a model whose profile has two rings, for enrolments and verifications; none
// for a server that only identifies.
HEFT_C_API heft_status heft_matcher_create(const heft_model* model, heft_bytes evaluation_keys,
                                           heft_bytes enrolment_keys, heft_matcher** matcher,
                                           heft_error** error);
// The same of key files; where FILE.expanded can be used, which heft_expand_keys makes, it is
// mapped instead of reading FILE. `enrolment_keys` may be NULL.
HEFT_C_API heft_status heft_matcher_open(const heft_model* model, const char* evaluation_keys,
                                         const char* enrolment_keys, heft_matcher** matcher,
                                         heft_error** error);
// Makes FILE.expanded, any number of makers at a time (ExpandedKeys::Make).
HEFT_C_API heft_status heft_expand_keys(const heft_model* model, const char* file,
                                        heft_error** error);
HEFT_C_API void heft_matcher_free(heft_matcher* matcher);
HEFT_C_FREE_AT(matcher)

// heft_matcher_enrol: fuses all samples of the files and brings them into the gallery's quarantine,
// all or none. The gallery is made if there is none. Options: "identity" (instead of the samples'
// labels), "all_pairs", "average" (flags), "authorisation" (bytes; heft_authorise), "metadata"
// (texts "key=value", added), "expires" (Unix seconds), "idempotency_key" (text). `trust` lists the
// registrars of an authorisation; NULL without one. Result: brought, waiting, templates, blocks,
// repeated.
HEFT_C_API heft_status heft_matcher_enrol(const heft_matcher* matcher, const char* gallery,
                                          const heft_files* files, const heft_options* options,
                                          const heft_trust* trust, heft_monitor monitor, void* user,
                                          heft_result** result, heft_error** error);
// heft_answer_request: the key owner's answer to a request for admission (heft_key_owner_admit), as
// a buffer that the caller frees. It must not throw or jump out.
typedef heft_status (*heft_answer_request)(void* user, heft_bytes request, heft_buffer** admission);
// heft_enrol_many: a whole gallery from feature vectors in one call, for who is client and server
// at once (EnrolMany): row i of all `count` modalities under labels[i]. Where there is `admit`,
// each batch is admitted before the next one comes; its error ends the call, and an error after the
// first batch says from which row to go on. `trust`: whose admissions; NULL: whoever signed.
// Options: "metadata" (texts, added), "expires", "from" (the first row that is looked at). Result:
// brought, admitted, rejected, waiting, templates, blocks.
HEFT_C_API heft_status heft_enrol_many(const heft_client* client, const heft_matcher* matcher,
                                       const char* gallery, const heft_rows* modalities,
                                       size_t count, const char* const* labels,
                                       const heft_options* options, heft_answer_request admit,
                                       const heft_trust* trust, heft_monitor monitor, void* user,
                                       heft_result** result, heft_error** error);

// heft_matcher_pending: what waits, for heft_key_owner_admit: the first of it, up to so many
// templates and bytes; 0: no bound.
HEFT_C_API heft_status heft_matcher_pending(const heft_matcher* matcher,
                                            const heft_gallery* gallery, uint64_t templates,
                                            uint64_t bytes, heft_buffer** request,
                                            heft_error** error);
// heft_matcher_admit: what a key owner of `trust` answered. Result: admitted, rejected, waiting,
// templates, blocks.
HEFT_C_API heft_status heft_matcher_admit(const heft_matcher* matcher, const char* gallery,
                                          heft_bytes admission, const heft_trust* trust,
                                          heft_monitor monitor, void* user, heft_result** result,
                                          heft_error** error);
// heft_matcher_fold: what was admitted last joins the blocks; re-keying needs it.
HEFT_C_API heft_status heft_matcher_fold(const heft_matcher* matcher, const char* gallery,
                                         heft_error** error);

// heft_matcher_identify: the encrypted scores of a probe against all templates, for the key owner.
// Options: "row" (which sample of the files, from 0), "average" (flag: all samples are one
// person's), "with_identities", "relinearise" (flags, both set unless told otherwise), "where"
// (conditions, added: "site=berlin", "list=a|b", "age=18..30"; heft/metadata.h).
HEFT_C_API heft_status heft_matcher_identify(const heft_matcher* matcher,
                                             const heft_gallery* gallery, const heft_files* files,
                                             const heft_options* options, heft_monitor monitor,
                                             void* user, heft_buffer** reply, heft_error** error);
// heft_take_reply takes the reply to a row, whose bytes are good until it returns; anything but
// HEFT_OK ends the call, which returns it. It must not throw or jump out.
typedef heft_status (*heft_take_reply)(void* user, size_t row, heft_bytes reply);
// heft_matcher_identify_all: every sample of the files, the gallery read once for up to 64 of them;
// `take` gets the replies in the order of the rows. Options: as above but for "row" and "average".
HEFT_C_API heft_status heft_matcher_identify_all(const heft_matcher* matcher,
                                                 const heft_gallery* gallery,
                                                 const heft_files* files,
                                                 const heft_options* options, heft_take_reply take,
                                                 heft_monitor monitor, void* user,
                                                 heft_error** error);
// heft_matcher_identify_together: `count` probes that came together, options[i] (or options NULL)
// of each. Of each the reply stands in replies[i], or NULL and why in statuses[i] and errors[i]
// (errors may be NULL; its elements are as `error` of other calls). HEFT_OK where all were tried.
HEFT_C_API heft_status heft_matcher_identify_together(
    const heft_matcher* matcher, const heft_gallery* gallery, const heft_files* const* probes,
    const heft_options* const* options, size_t count, heft_buffer** replies, heft_status* statuses,
    heft_error** errors, heft_error** error);
// heft_matcher_verify: the encrypted scores against the claimed identity's templates and no other.
// Options: "row", "average". heft_matcher_verify_all: every sample, as heft_matcher_identify_all.
HEFT_C_API heft_status heft_matcher_verify(const heft_matcher* matcher, const heft_gallery* gallery,
                                           const heft_files* files, const char* identity,
                                           const heft_options* options, heft_buffer** reply,
                                           heft_error** error);
HEFT_C_API heft_status heft_matcher_verify_all(const heft_matcher* matcher,
                                               const heft_gallery* gallery, const heft_files* files,
                                               const char* identity, heft_take_reply take,
                                               heft_monitor monitor, void* user,
                                               heft_error** error);

// heft_request: what a reply is to say of the files that it answers.
typedef struct heft_request heft_request;
// HEFT_ALL_ROWS: instead of a row, for probes of "average" and calls that answer every row.
#define HEFT_ALL_ROWS UINT64_MAX
// heft_request_read: ReadRequest. Where `trust` (may be NULL) lists clients or registrars, each
// file must be signed by one of them, for the server whose public key is `server` or for anybody.
HEFT_C_API heft_status heft_request_read(const heft_files* files, const heft_trust* trust,
                                         const char* server, heft_request** request,
                                         heft_error** error);
HEFT_C_API void heft_request_free(heft_request* request);
HEFT_C_FREE_AT(request)
// RememberRequest: HEFT_FAILED_PRECONDITION where it was answered before.
HEFT_C_API heft_status heft_request_remember(const heft_request* request, const char* gallery,
                                             uint64_t row, heft_error** error);
// heft_gallery_signer: the key that a gallery's server signs with, FOLDER/server.key, made where
// there is none.
HEFT_C_API heft_status heft_gallery_signer(const char* gallery, heft_signing_key** key,
                                           heft_error** error);
// heft_sign_reply: SignReply. `request`: NULL where nobody signed it; `audience`: the key owner's
// public key, NULL: anybody; good for `life` seconds, 0 for ever.
HEFT_C_API heft_status heft_sign_reply(const heft_signing_key* key, const heft_gallery* gallery,
                                       const heft_request* request, uint64_t row,
                                       const char* audience, heft_bytes reply, uint64_t life,
                                       heft_buffer** signed_reply, heft_error** error);

#ifdef __cplusplus
}
#endif

#endif  // HEFT_C_MATCHER_H_
