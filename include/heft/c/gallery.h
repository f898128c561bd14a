// SPDX-License-Identifier: Apache-2.0
// Galleries (heft/gallery.h), their administration (heft/gallery_admin.h), and removal
// (heft/gallery_admin.h). Galleries are named FOLDER, or FOLDER:NAME for one of several in a store.
// In results, signed receipts are hexadecimal digits.
#ifndef HEFT_C_GALLERY_H_
#define HEFT_C_GALLERY_H_

#include "heft/c/base.h"
#include "heft/c/model.h"
#include "heft/c/trust.h"

#ifdef __cplusplus
extern "C" {
#endif

// heft_matcher: the server (heft/c/matcher.h).
typedef struct heft_matcher heft_matcher;

// heft_gallery: one generation of a gallery, while the object exists.
typedef struct heft_gallery heft_gallery;
HEFT_C_API heft_status heft_gallery_open(const char* name, heft_gallery** gallery,
                                         heft_error** error);
// The newest generation, as a new object. Takes microseconds if nothing has changed.
HEFT_C_API heft_status heft_gallery_newest(const heft_gallery* gallery, heft_gallery** newest,
                                           heft_error** error);
// The same generation without keeping it from being erased (Gallery::Unread), for objects that live
// long. Calls for probes and heft_gallery_describe take the newest generation of it.
// HEFT_FAILED_PRECONDITION if it is given for its identities, for re-keying or for an audit: take
// heft_gallery_newest of it.
HEFT_C_API heft_status heft_gallery_unread(const heft_gallery* gallery, heft_gallery** unread,
                                           heft_error** error);
HEFT_C_API void heft_gallery_free(heft_gallery* gallery);
HEFT_C_FREE_AT(gallery)
// gallery_id, model_id, key_id, params_id, generation, templates, places, blocks, gamma,
// revoked_keys [id], damaged_blocks [{block, why}], damaged_records [text], state_file (StateFile).
HEFT_C_API heft_status heft_gallery_describe(const heft_gallery* gallery, heft_result** result,
                                             heft_error** error);
// The identity of each template, by position; empty for a free position: an array of texts.
HEFT_C_API heft_status heft_gallery_identities(const heft_gallery* gallery, heft_result** result,
                                               heft_error** error);
// Gallery::Rekey: moves all templates to another key without decrypting them (heft_key_set_renew
// creates `rekeying_key`). Result: from, to, overwritten, overwritten_error (text: why it is
// false). No other call may use the object at the same time.
HEFT_C_API heft_status heft_gallery_rekey(heft_gallery* gallery, const heft_model* model,
                                          heft_bytes rekeying_key, heft_monitor monitor, void* user,
                                          heft_result** result, heft_error** error);
// SetWriterWait: how many seconds a change of a gallery waits for another process's change.
HEFT_C_API void heft_set_writer_wait(int seconds);

// ParseExpiry: the Unix seconds of a date ("2027-01-31"), a time ("2027-01-31T12:30:00Z") or a
// duration from `now` ("90d"), for the option "expires"; `now` HEFT_NOW: the present.
#define HEFT_NOW UINT64_MAX
HEFT_C_API heft_status heft_parse_expiry(const char* text, uint64_t now, int64_t* time,
                                         heft_error** error);

// A condition on metadata, as calls take it in the option "where", is a text: "site=berlin",
// "list=a|b" or "age=18..30" (ParseCondition). As a JSON object {"key", "values", "at_least",
// "at_most"} it may have any values; a bound is a number, or a number's text. heft_condition_read:
// checks one, and returns these members, and text, the first form.
HEFT_C_API heft_status heft_condition_read(const char* condition, heft_result** result,
                                           heft_error** error);
// Fits: whether metadata meet all conditions: 1 or 0. Options: "metadata" (texts "key=value",
// added), "where" (conditions, added).
HEFT_C_API heft_status heft_fits(const heft_options* options, int* fits, heft_error** error);

// ---- Administration of galleries.

// CreateGallery: an empty gallery. Options: "retention_seconds", "retention_bytes". Result:
// gallery_id.
HEFT_C_API heft_status heft_gallery_create(const heft_matcher* matcher, const char* name,
                                           const heft_options* options, heft_result** result,
                                           heft_error** error);
// DescribeGallery: the record GalleryInfo. `model` may be NULL.
HEFT_C_API heft_status heft_gallery_stats(const char* name, const heft_model* model,
                                          heft_result** result, heft_error** error);
// The names of the galleries in a store's folder: an array.
HEFT_C_API heft_status heft_gallery_names(const char* folder, heft_result** result,
                                          heft_error** error);
// ListTemplates: templates [ListedTemplate], next (the position to continue from, or null).
// Options: "start", "count" (0: all), "where" (conditions, added), "pending" (a
// flag: also pending templates, which have identity and state alone).
HEFT_C_API heft_status heft_gallery_list(const char* name, const heft_options* options,
                                         heft_result** result, heft_error** error);
// DescribePerson: the record PersonInfo.
HEFT_C_API heft_status heft_gallery_person(const char* name, const char* identity,
                                           heft_result** result, heft_error** error);
// PendingEnrolments: an array of records PendingEnrolment.
HEFT_C_API heft_status heft_gallery_pending(const char* name, heft_result** result,
                                            heft_error** error);
// VerifyGallery: the record VerifyResult, with recorded_error (text: why `recorded` is false).
// `model` may be NULL.
HEFT_C_API heft_status heft_gallery_verify(const char* name, const heft_model* model,
                                           heft_monitor monitor, void* user, heft_result** result,
                                           heft_error** error);
// CompactGallery: the record CompactResult.
HEFT_C_API heft_status heft_gallery_compact(const heft_matcher* matcher, const char* name,
                                            heft_result** result, heft_error** error);
// Snapshot: copies the store into the new folder `out`: galleries [CopiedGallery].
// `with_keys`: not 0: also the server's secret keys.
HEFT_C_API heft_status heft_gallery_snapshot(const char* folder, const char* out, int with_keys,
                                             heft_monitor monitor, void* user, heft_result** result,
                                             heft_error** error);
// Restore: the record RestoreResult. Options: "accept_older", "without_receipts" (flags),
// "receipts" (texts, added: base64, as heft_gallery_receipts returns them). `matcher` removes again
// the people who were erased since the snapshot; `trust` is for receipts. Both may be NULL.
HEFT_C_API heft_status heft_gallery_restore(const char* snapshot, const char* folder,
                                            const heft_options* options,
                                            const heft_matcher* matcher, const heft_trust* trust,
                                            heft_monitor monitor, void* user, heft_result** result,
                                            heft_error** error);
// ExportGallery, ImportGallery: copies one gallery into a new folder, or from a folder. Result:
// the record CopiedGallery.
HEFT_C_API heft_status heft_gallery_export(const char* name, const char* out, heft_monitor monitor,
                                           void* user, heft_result** result, heft_error** error);
HEFT_C_API heft_status heft_gallery_import(const char* from, const char* name, heft_monitor monitor,
                                           void* user, heft_result** result, heft_error** error);
// RememberGeneration.
HEFT_C_API heft_status heft_gallery_remember(const char* name, heft_error** error);

// ---- Removal.

// heft_gallery_remove: removes all templates of `count` identities, all or none (Remove). Option:
// "authorisation" (bytes), required if `trust` (may be NULL) lists registrars. Result, also of
// RemoveExpired and RollBack: the record RemoveResult. Every record with `overwritten` has the
// member overwritten_error (text: why it is false) beside it.
HEFT_C_API heft_status heft_gallery_remove(const heft_matcher* matcher, const char* name,
                                           const char* const* identities, size_t count,
                                           const heft_options* options, const heft_trust* trust,
                                           heft_result** result, heft_error** error);
HEFT_C_API heft_status heft_gallery_remove_expired(const heft_matcher* matcher, const char* name,
                                                   heft_result** result, heft_error** error);
HEFT_C_API heft_status heft_gallery_roll_back(const heft_matcher* matcher, const char* name,
                                              uint64_t generation, heft_result** result,
                                              heft_error** error);
// RejectPending: deletes pending enrolments by their entries, 64 hexadecimal digits each.
HEFT_C_API heft_status heft_gallery_reject_pending(const heft_matcher* matcher, const char* name,
                                                   const char* const* entries, size_t count,
                                                   heft_result** result, heft_error** error);
// AskRenewal: a request for heft_key_owner_renew. Options: "compact" (flag: also merges sparse
// blocks), "sign" (flag, set by default; otherwise without a signature, for roles in one process).
HEFT_C_API heft_status heft_gallery_ask_renewal(const heft_matcher* matcher, const char* name,
                                                const heft_options* options, heft_monitor monitor,
                                                void* user, heft_buffer** request,
                                                heft_error** error);
// Renew: applies the answer of a key owner of `trust`. Result: the record RenewResult.
HEFT_C_API heft_status heft_gallery_renew(const heft_matcher* matcher, const char* name,
                                          heft_bytes answer, const heft_trust* trust,
                                          heft_result** result, heft_error** error);
// ErasureRemains: a sentence, as text.
HEFT_C_API heft_status heft_gallery_erasure_remains(const char* name, heft_result** result,
                                                    heft_error** error);
// EraseRemains, which returns the receipts that were due, and Receipts, which returns all: an
// array of base64 texts.
HEFT_C_API heft_status heft_gallery_erase_remains(const char* name, heft_result** result,
                                                  heft_error** error);
HEFT_C_API heft_status heft_gallery_receipts(const char* name, heft_result** result,
                                             heft_error** error);
// ReadReceipt: the record ErasureReceipt.
HEFT_C_API heft_status heft_receipt_read(heft_bytes receipt, heft_result** result,
                                         heft_error** error);

#ifdef __cplusplus
}
#endif

#endif  // HEFT_C_GALLERY_H_
