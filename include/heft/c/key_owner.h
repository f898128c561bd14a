// SPDX-License-Identifier: Apache-2.0
// The key owner's role (heft/key_owner.h, heft/key_set.h): it makes the keys, opens the server's
// replies and decides; every opening is recorded and charged to a budget first. In heft_c, not in
// heft_c_server. Passphrases: {NULL, 0} for none; HEFT wipes its copies.
#ifndef HEFT_C_KEY_OWNER_H_
#define HEFT_C_KEY_OWNER_H_

#include "heft/c/base.h"
#include "heft/c/matcher.h"
#include "heft/c/model.h"
#include "heft/c/shards.h"
#include "heft/c/trust.h"

#ifdef __cplusplus
extern "C" {
#endif

// heft_key_owner: a model and a secret key, in locked memory where the system grants it.
typedef struct heft_key_owner heft_key_owner;

// ---- Keys.

// heft_key_set_make: a new secret key in `folder`, sealed where there is a passphrase, with all
// that goes with it (MakeKeySet): key_id, parameters, security; secret_key, encryption_key,
// evaluation_keys, enrolment_keys, rekeying_key, trust: files, those that were written.
HEFT_C_API heft_status heft_key_set_make(const heft_model* model, const char* folder,
                                         heft_bytes passphrase, heft_monitor monitor, void* user,
                                         heft_result** result, heft_error** error);
// MakePublicKeys: new public keys for a secret key that is there.
HEFT_C_API heft_status heft_key_set_make_public(const heft_key_owner* owner, const char* folder,
                                                heft_monitor monitor, void* user,
                                                heft_result** result, heft_error** error);
// RenewKey: a set for a new secret key, and the key that moves galleries to it; `old` is revoked.
HEFT_C_API heft_status heft_key_set_renew(const heft_key_owner* old, const char* folder,
                                          heft_bytes passphrase, heft_monitor monitor, void* user,
                                          heft_result** result, heft_error** error);

// A new secret key in memory, whose openings are counted there; and that of a file.
HEFT_C_API heft_status heft_key_owner_generate(const heft_model* model, heft_key_owner** owner,
                                               heft_error** error);
HEFT_C_API heft_status heft_key_owner_load(const heft_model* model, const char* secret_key,
                                           heft_bytes passphrase, heft_key_owner** owner,
                                           heft_error** error);
HEFT_C_API void heft_key_owner_free(heft_key_owner* owner);
HEFT_C_FREE_AT(key_owner)
// key_id, signer (public key), journal (file; empty: in memory).
HEFT_C_API heft_status heft_key_owner_describe(const heft_key_owner* owner, heft_result** result,
                                               heft_error** error);
// For clients; for the server; for the server's enrolments where the profile has two rings (empty
// where one file serves all).
HEFT_C_API heft_status heft_key_owner_encryption_key(const heft_key_owner* owner, heft_buffer** key,
                                                     heft_error** error);
HEFT_C_API heft_status heft_key_owner_evaluation_keys(const heft_key_owner* owner,
                                                      heft_monitor monitor, void* user,
                                                      heft_buffer** keys, heft_error** error);
HEFT_C_API heft_status heft_key_owner_enrolment_keys(const heft_key_owner* owner,
                                                     heft_monitor monitor, void* user,
                                                     heft_buffer** keys, heft_error** error);
// heft_client_encrypt and heft_client_encrypt_fused with the secret key: half the bytes, less
// noise.
HEFT_C_API heft_status heft_key_owner_encrypt(const heft_key_owner* owner, const heft_rows* rows,
                                              const char* const* labels,
                                              const heft_options* options, heft_buffer** file,
                                              heft_error** error);
HEFT_C_API heft_status heft_key_owner_encrypt_fused(const heft_key_owner* owner,
                                                    const heft_rows* modalities, size_t count,
                                                    const char* const* labels,
                                                    const heft_options* options, heft_buffer** file,
                                                    heft_error** error);

// ---- Whom to believe. Not while others use the object.

// The key that this owner signs with.
HEFT_C_API heft_status heft_key_owner_signer(const heft_key_owner* owner, heft_signing_key** key,
                                             heft_error** error);
// From here on replies alone that a server of `trust` has signed (RequireSigned). Until then
// nobody's signature is asked for, other than in the tools: no trust.heft beside the key is looked
// for.
HEFT_C_API heft_status heft_key_owner_require_signed(heft_key_owner* owner, const heft_trust* trust,
                                                     heft_error** error);
// From here on replies alone of the state of a gallery that this owner has signed last.
HEFT_C_API heft_status heft_key_owner_require_signed_gallery(heft_key_owner* owner,
                                                             heft_error** error);
// MakeCanaries: people [{label, vectors [[number]]}], probes [the same]; `file` is for
// heft_key_owner_require_canaries, which holds replies to them from there on; `keep`: not 0: and
// keeps them in PATH.canaries, for all who load this key.
HEFT_C_API heft_status heft_key_owner_make_canaries(const heft_key_owner* owner, size_t triples,
                                                    heft_result** people, heft_buffer** file,
                                                    heft_error** error);
HEFT_C_API heft_status heft_key_owner_require_canaries(heft_key_owner* owner, heft_bytes file,
                                                       int keep, heft_error** error);

// ---- Requests of a server.

// heft_key_owner_inquiry: who waits in a request; opens and signs nothing (ReadInquiry):
// gallery_id, generation, enrolments [{entry (hex), authorised, people [{identity, known}]}].
HEFT_C_API heft_status heft_key_owner_inquiry(const heft_key_owner* owner, heft_bytes request,
                                              heft_result** result, heft_error** error);
// heft_key_owner_admit: opens the proofs of the norms of all who wait, and decides. Options:
// "only", "reject" (identities, added), "entries", "reject_entries" (of an inquiry, added),
// "new_identities_only", "put_back" (flags; AdmissionPolicy), "shards" (text: the shard list of
// which the gallery is a bucket). `admission` is for heft_matcher_admit. `result` (may be NULL):
// admitted (a number), rejected [{identity, rejection, reason}], groups [{rejection, cause, remedy,
// identities}], one for each cause of rejections (Admissions).
HEFT_C_API heft_status heft_key_owner_admit(const heft_key_owner* owner, heft_bytes request,
                                            const heft_options* options, heft_buffer** admission,
                                            heft_result** result, heft_error** error);
// heft_key_owner_renew: blocks anew, without those who are removed. `renewal` is for
// heft_gallery_renew. `result` (may be NULL): blocks, templates.
HEFT_C_API heft_status heft_key_owner_renew(const heft_key_owner* owner, heft_bytes request,
                                            heft_buffer** renewal, heft_result** result,
                                            heft_error** error);

// ---- Replies, each once.

// heft_key_owner_decide: kind ("identification" or "verification"), gallery (id of the one that
// answered), probe, modalities [name] (that the probe had), accepted, identity (empty: nobody),
// claimed (of a verification, accepted or not), refused (why; empty: it is not), likelihood ("",
// "weak", "moderate", "strong"), threshold, rate, rate_of ("nothing", "comparisons", "searches"),
// interval [lo, hi], warning, where [condition], key_warning. Options: "score", "fmr", "fpir" (numbers, one of
// them needed; DecisionRule), "likelihood", "others" (flags), "flood_bits", "flood_openings"
// (Flooding). `what` names the reply in errors.
HEFT_C_API heft_status heft_key_owner_decide(const heft_key_owner* owner, heft_bytes reply,
                                             const char* what, const heft_options* options,
                                             heft_result** result, heft_error** error);
// heft_key_owner_open: publishes scores, which give templates away and of which an identity has
// few, ever (heft_key_owner_budget). kind, gallery, probe, modalities, claimed, candidates
// [{identity, score, templates, scores_left (that it may still give this client),
// log_likelihood_ratio where the model is calibrated}], withheld, refused, searched, where, key_warning.
// Options: "publish" (candidates, 10 unless told otherwise), "flood_bits", "flood_openings".
HEFT_C_API heft_status heft_key_owner_open(const heft_key_owner* owner, heft_bytes reply,
                                           const char* what, const heft_options* options,
                                           heft_result** result, heft_error** error);
// heft_key_owner_threshold: what a rule means for this reply: opens nothing, charges nothing.
// Options: "score", "fmr", "fpir", "others". threshold, rate, rate_of, interval, warning.
HEFT_C_API heft_status heft_key_owner_threshold(const heft_key_owner* owner, heft_bytes reply,
                                                const char* what, const heft_options* options,
                                                heft_result** result, heft_error** error);

// The same of a gallery in buckets: one search of all of them, charged once. `replies`
// (heft_files_add, in any order) are signed ones and the whole: of an identification one of each
// bucket, of a verification that of the claimed identity's alone, all to one request; otherwise
// HEFT_FAILED_PRECONDITION, before anything is decrypted or charged.
HEFT_C_API heft_status heft_key_owner_open_shards(const heft_key_owner* owner,
                                                  const heft_shards* shards,
                                                  const heft_files* replies,
                                                  const heft_options* options, heft_result** result,
                                                  heft_error** error);
HEFT_C_API heft_status heft_key_owner_decide_shards(const heft_key_owner* owner,
                                                    const heft_shards* shards,
                                                    const heft_files* replies,
                                                    const heft_options* options,
                                                    heft_result** result, heft_error** error);
HEFT_C_API heft_status heft_key_owner_threshold_shards(const heft_key_owner* owner,
                                                       const heft_shards* shards,
                                                       const heft_files* replies,
                                                       const heft_options* options,
                                                       heft_result** result, heft_error** error);

// ---- The budget (BudgetUse).

// limits {scores, decisions, client_bits}, scores, decisions, inherited_scores, identifications,
// verifications, openings_under_key, key_bits, most_key_bits, identities, gallery (the key's own), reconstruction_cosine,
// clients [{client, openings, slots, bits_left, full_at}], restarts [{time, reason}],
// restart_count, entries, last_entry, revoked, successor (id, where it is revoked).
HEFT_C_API heft_status heft_key_owner_budget(const heft_key_owner* owner, heft_result** result,
                                             heft_error** error);
// Options: "scores", "decisions", "client_bits"; what is not given stays.
HEFT_C_API heft_status heft_key_owner_set_budget(heft_key_owner* owner, const heft_options* options,
                                                 heft_error** error);
HEFT_C_API heft_status heft_key_owner_restart_journal(heft_key_owner* owner, const char* reason,
                                                      heft_error** error);

#ifdef __cplusplus
}
#endif

#endif  // HEFT_C_KEY_OWNER_H_
