// SPDX-License-Identifier: Apache-2.0
// The server's role (heft/server.h, heft/gallery_admin.h): it fuses, enrols and matches encrypted
// samples that it cannot read. Galleries are named FOLDER or FOLDER:NAME (heft/c/gallery.h).
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

// heft_files: files of clients, one for each modality, in any order; an absent file counts as a
// missing modality.
typedef struct heft_files heft_files;
HEFT_C_API heft_status heft_files_new(heft_files** files, heft_error** error);
HEFT_C_API void heft_files_free(heft_files* files);
HEFT_C_FREE_AT(files)
// Copies the bytes; `name` names them in errors.
HEFT_C_API heft_status heft_files_add(heft_files* files, heft_bytes bytes, const char* name,
                                      heft_error** error);

// RequestDigest: the hash, 32 bytes, that binds a reply to the files of a request, as they were
// sent, and to a row of them: "request" in the statement of the reply (heft_open_signed).
HEFT_C_API heft_status heft_request_digest(const heft_files* files, uint64_t row,
                                           heft_buffer** digest, heft_error** error);

// heft_expanded_keys: evaluation or enrolment keys in the form in which a matcher uses them, in a
// file that processes map and share (ExpandedKeys). heft_expanded_keys_make expands the key file
// `source` into the file `path`, which it replaces in one step, and opens it; several processes may
// do so at once. `path` NULL: SOURCE.expanded.
typedef struct heft_expanded_keys heft_expanded_keys;
HEFT_C_API heft_status heft_expanded_keys_make(const heft_model* model, const char* source,
                                               const char* path, heft_expanded_keys** keys,
                                               heft_error** error);
HEFT_C_API heft_status heft_expanded_keys_open(const char* source, const char* path,
                                               heft_expanded_keys** keys, heft_error** error);
HEFT_C_API void heft_expanded_keys_free(heft_expanded_keys* keys);
HEFT_C_FREE_AT(expanded_keys)
// Result: size, the bytes that a process maps.
HEFT_C_API heft_status heft_expanded_keys_describe(const heft_expanded_keys* keys,
                                                   heft_result** result, heft_error** error);
// Whether a key owner of `trust` signed the key file (ExpandedKeys::CheckSigned). `kind`: "EVAL",
// "ENRK" or "" for any. `statement`: as heft_open_signed's.
HEFT_C_API heft_status heft_expanded_keys_check(const heft_expanded_keys* keys,
                                                const heft_trust* trust, const char* kind,
                                                heft_result** statement, heft_error** error);

// heft_matcher: a model and the evaluation keys of one key set (Server), both copied.
// `enrolment_keys`: for enrolments and verifications with a model whose profile has two rings;
// empty for a server that only identifies. Replies and requests are for the signer of the keys,
// and for anybody if they are not signed.
HEFT_C_API heft_status heft_matcher_create(const heft_model* model, heft_bytes evaluation_keys,
                                           heft_bytes enrolment_keys, heft_matcher** matcher,
                                           heft_error** error);
// The same with keys that may be expanded: of each pair, the expanded ones are used unless they are
// NULL. If `trust` (may be NULL) is given, one key owner that it lists must have signed them
// (CheckKeys); without it, the signer of expanded keys is unknown. Options: "evaluation_name",
// "enrolment_name" (texts: the keys in errors).
HEFT_C_API heft_status heft_matcher_create_checked(
    const heft_model* model, heft_bytes evaluation_keys, heft_bytes enrolment_keys,
    const heft_expanded_keys* expanded_evaluation, const heft_expanded_keys* expanded_enrolment,
    const heft_options* options, const heft_trust* trust, heft_matcher** matcher,
    heft_error** error);
// The same from key files, without a check of signatures. If FILE.expanded can be used, it is
// mapped instead of reading FILE. `enrolment_keys` may be NULL.
HEFT_C_API heft_status heft_matcher_open(const heft_model* model, const char* evaluation_keys,
                                         const char* enrolment_keys, heft_matcher** matcher,
                                         heft_error** error);
HEFT_C_API void heft_matcher_free(heft_matcher* matcher);
HEFT_C_FREE_AT(matcher)

// heft_matcher_enrol: fuses all samples of the files and adds them as pending templates, all or
// none. Creates the gallery if it does not exist. Options: "identity" (instead of the samples'
// labels), "all_pairs", "average" (flags), "authorisation" (bytes; heft_authorise), "metadata"
// (texts "key=value", added), "expires" (an integer), "idempotency_key" (text), "client" (text:
// the key, 64 digits, of who sent files that are not signed; the key owner is shown it, and pending
// enrolments are limited by it). If `trust` (may be NULL) lists clients or registrars, one of them
// must have signed each file, and a signed request is answered once; it also lists the registrars
// of an authorisation. Result: the record EnrolResult.
HEFT_C_API heft_status heft_matcher_enrol(const heft_matcher* matcher, const char* gallery,
                                          const heft_files* files, const heft_options* options,
                                          const heft_trust* trust, heft_monitor monitor, void* user,
                                          heft_result** result, heft_error** error);
// heft_answer_request: returns the key owner's answer to a request for admission
// (heft_key_owner_approve), as a buffer that the caller frees. It must not throw or jump out.
typedef heft_status (*heft_answer_request)(void* user, heft_bytes request, heft_buffer** admission);
// heft_enrol_many: a whole gallery from feature vectors in one call, for programs that are client
// and server at once (EnrolMany). Row i of all `count` modalities is enrolled under labels[i]. With
// `approve`, each batch is activated before the next one; an error of `approve` ends the call. An
// error after the first batch states the row to continue from. `trust`: the accepted key owners;
// NULL: any signer. Options: "metadata" (texts, added), "expires", "start" (the first row to
// enrol). Result: the record EnrolManyResult. `next` (may be NULL): the row to continue from, also
// if the call fails.
HEFT_C_API heft_status heft_enrol_many(const heft_client* client, const heft_matcher* matcher,
                                       const char* gallery, const heft_rows* modalities,
                                       size_t count, const char* const* labels,
                                       const heft_options* options, heft_answer_request approve,
                                       const heft_trust* trust, heft_monitor monitor, void* user,
                                       size_t* next, heft_result** result, heft_error** error);

// heft_matcher_pending: pending templates, oldest first, for heft_key_owner_approve. Options:
// "templates" (at most so many; 0, the default: all), "bytes" (with "templates": also at most so
// many bytes, by default 64 MiB; 0: no limit), "sign" (as heft_gallery_ask_renewal's).
HEFT_C_API heft_status heft_matcher_pending(const heft_matcher* matcher,
                                            const heft_gallery* gallery,
                                            const heft_options* options, heft_buffer** request,
                                            heft_error** error);
// heft_matcher_activate: applies an admission of a key owner of `trust`. Result: the record
// ActivateResult.
HEFT_C_API heft_status heft_matcher_activate(const heft_matcher* matcher, const char* gallery,
                                             heft_bytes admission, const heft_trust* trust,
                                             heft_monitor monitor, void* user, heft_result** result,
                                             heft_error** error);
// heft_matcher_fold: moves templates from the journal into the blocks; re-keying requires it.
HEFT_C_API heft_status heft_matcher_fold(const heft_matcher* matcher, const char* gallery,
                                         heft_error** error);

// heft_matcher_identify: the encrypted scores of a probe against all templates of the gallery's
// newest generation, signed for the key owner (Desk). If `trust` (may be NULL) lists clients or
// registrars, one of them must have signed each file, and a signed request is answered once.
// Options: "row" (of the files, from 0; needed if they hold several), "average" (flag: all samples
// are of one person), "identities", "relinearise" (flags, set by default), "where"
// (conditions, added: "site=berlin", "list=a|b", "age=18..30"; heft/c/gallery.h), "complete"
// (flag: an error instead of a reply without the templates of a damaged block), "audience" (text:
// the key owner's public key; default: the signer of the matcher's keys), "life" (seconds, 0:
// without end), "sign" (flag, set by default; otherwise the reply has no signature, for roles in
// one process).
HEFT_C_API heft_status heft_matcher_identify(const heft_matcher* matcher,
                                             const heft_gallery* gallery, const heft_files* files,
                                             const heft_options* options, const heft_trust* trust,
                                             heft_monitor monitor, void* user, heft_buffer** reply,
                                             heft_error** error);
// heft_take_reply: receives the reply to a row; the bytes are valid until it returns. A result
// other than HEFT_OK ends the call, which returns it. It must not throw or jump out.
typedef heft_status (*heft_take_reply)(void* user, size_t row, heft_bytes reply);
// heft_matcher_identify_all: identifies every row of the files, reading the gallery once for up to
// 64 rows. `take` receives the replies in the order of the rows. Options: as above, without "row"
// and "average".
HEFT_C_API heft_status heft_matcher_identify_all(
    const heft_matcher* matcher, const heft_gallery* gallery, const heft_files* files,
    const heft_options* options, const heft_trust* trust, heft_take_reply take,
    heft_monitor monitor, void* user, heft_error** error);
// heft_matcher_identify_together: identifies `count` probes, probe i with options[i] (or `options`
// NULL). Its reply is in replies[i]; for a failed probe that is NULL, and statuses[i] and errors[i]
// give the reason (errors may be NULL; its elements are used as `error` of other calls). HEFT_OK if
// all probes were tried.
HEFT_C_API heft_status heft_matcher_identify_together(
    const heft_matcher* matcher, const heft_gallery* gallery, const heft_files* const* probes,
    const heft_options* const* options, size_t count, const heft_trust* trust,
    heft_buffer** replies, heft_status* statuses, heft_error** errors, heft_error** error);
// heft_matcher_verify: the encrypted scores against the templates of the claimed identity only.
// Options: those of heft_matcher_identify for any reply, "row", "average". heft_matcher_verify_all:
// every row, as heft_matcher_identify_all.
HEFT_C_API heft_status heft_matcher_verify(const heft_matcher* matcher, const heft_gallery* gallery,
                                           const heft_files* files, const char* identity,
                                           const heft_options* options, const heft_trust* trust,
                                           heft_buffer** reply, heft_error** error);
HEFT_C_API heft_status heft_matcher_verify_all(const heft_matcher* matcher,
                                               const heft_gallery* gallery, const heft_files* files,
                                               const char* identity, const heft_options* options,
                                               const heft_trust* trust, heft_take_reply take,
                                               heft_monitor monitor, void* user,
                                               heft_error** error);

// heft_gallery_signer: the signing key of a gallery's server, FOLDER/server.key, created if it does
// not exist.
HEFT_C_API heft_status heft_gallery_signer(const char* gallery, heft_signing_key** key,
                                           heft_error** error);

// Galleries in buckets (heft/shards.h, heft/shards.h): each bucket is an ordinary gallery,
// GALLERY.000 and so on, and the identity determines the bucket. A probe is matched against all
// buckets, and the key owner opens all replies as one search (heft_key_owner_open_replies).

// heft_shards: the shard list, which names the galleries that are the buckets (ShardList). The key
// owner must receive it from a trusted source.
typedef struct heft_shards heft_shards;
// Creates a list from `count` gallery ids in the order of the buckets, from a text, which `what`
// names in errors, or from a file. Saving replaces the file.
HEFT_C_API heft_status heft_shards_make(const char* gallery, const char* const* buckets,
                                        size_t count, heft_shards** shards, heft_error** error);
HEFT_C_API heft_status heft_shards_parse(heft_bytes text, const char* what, heft_shards** shards,
                                         heft_error** error);
HEFT_C_API heft_status heft_shards_load(const char* path, heft_shards** shards, heft_error** error);
HEFT_C_API heft_status heft_shards_save(const heft_shards* shards, const char* path,
                                        heft_error** error);
HEFT_C_API void heft_shards_free(heft_shards* shards);
HEFT_C_FREE_AT(shards)
// gallery, gallery_id (of the whole, as in decisions), buckets [id], text (as saved).
HEFT_C_API heft_status heft_shards_describe(const heft_shards* shards, heft_result** result,
                                            heft_error** error);
// The bucket of an identity: bucket, gallery_id, address (the name that opens it, FOLDER:NAME.003
// for `gallery` FOLDER:NAME; BucketOf, BucketAddress).
HEFT_C_API heft_status heft_shards_find(const heft_shards* shards, const char* gallery,
                                        const char* identity, heft_result** result,
                                        heft_error** error);

// The bucket with that gallery id; -1 if there is none.
HEFT_C_API heft_status heft_shards_number(const heft_shards* shards, const char* gallery_id,
                                          int64_t* bucket, heft_error** error);
// The bucket of an identity among `buckets`, without a list (BucketOf), and the name of a bucket,
// as text (BucketAddress).
HEFT_C_API heft_status heft_bucket_of(const char* identity, uint32_t buckets, int64_t* bucket,
                                      heft_error** error);
HEFT_C_API heft_status heft_bucket_address(const char* gallery, uint32_t bucket,
                                           heft_result** result, heft_error** error);

// heft_shards_create: creates `buckets` empty galleries in one store, and their list
// (CreateShards). Options: "retention_seconds", "retention_bytes".
HEFT_C_API heft_status heft_shards_create(const heft_matcher* matcher, const char* gallery,
                                          uint32_t buckets, const heft_options* options,
                                          heft_shards** shards, heft_error** error);
// heft_shards_open: opens one bucket. HEFT_FAILED_PRECONDITION if the list has another id for the
// gallery of that name.
HEFT_C_API heft_status heft_shards_open(const heft_shards* shards, const char* gallery,
                                        uint32_t bucket, heft_gallery** opened, heft_error** error);
// heft_shards_enrol: enrols each sample into the bucket of its identity (EnrolInShards); in each
// bucket all or none. A repetition after a failure adds the missing samples. Options and result: as
// heft_matcher_enrol.
HEFT_C_API heft_status heft_shards_enrol(const heft_shards* shards, const heft_matcher* matcher,
                                         const char* gallery, const heft_files* files,
                                         const heft_options* options, const heft_trust* trust,
                                         heft_monitor monitor, void* user, heft_result** result,
                                         heft_error** error);
// heft_shards_identify: identifies one probe in all buckets (of one store), as one request that is
// answered once. `take` receives the reply of each bucket, by its number. Options: as
// heft_matcher_identify.
HEFT_C_API heft_status heft_shards_identify(const heft_shards* shards, const heft_matcher* matcher,
                                            const char* gallery, const heft_files* files,
                                            const heft_options* options, const heft_trust* trust,
                                            heft_take_reply take, heft_monitor monitor, void* user,
                                            heft_error** error);

// Checking a server (heft/audit.h): an auditor with a copy of a gallery, the evaluation keys and
// the files of a request computes a reply again and compares it bit for bit. An auditor cannot
// decrypt.

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
// admission that certifies it; empty: the copy's own file, FOLDER/state.heft. Result: right,
// reason.
HEFT_C_API heft_status heft_audit_gallery(const heft_matcher* matcher, const heft_gallery* copy,
                                          heft_bytes state, const heft_trust* trust,
                                          heft_result** result, heft_error** error);
// ChooseForAudit: indices of `replies`, in rising order: an array.
HEFT_C_API heft_status heft_audit_choose(uint64_t replies, uint64_t one_in, heft_result** result,
                                         heft_error** error);
// VerifyAuditLogs: checks `count` audit logs, oldest first, as one chain. Options: "noted", a head
// that must be on it, and "after", the head before its first line (LINES:HASH). Result: the record
// AuditHead.
HEFT_C_API heft_status heft_audit_verify_logs(const char* const* files, size_t count,
                                              const heft_options* options, heft_result** result,
                                              heft_error** error);

#ifdef __cplusplus
}
#endif

#endif  // HEFT_C_MATCHER_H_
