// SPDX-License-Identifier: Apache-2.0
// The key owner's role (heft/key_owner.h, heft/key_set.h): it creates the keys, opens the server's
// replies and decides. Every opening is first recorded and charged to a budget. In heft_c, not in
// heft_c_server. Passphrases: {NULL, 0} for none, or heft_asked; HEFT wipes its copies.
#ifndef HEFT_C_KEY_OWNER_H_
#define HEFT_C_KEY_OWNER_H_

#include "heft/c/base.h"
#include "heft/c/matcher.h"
#include "heft/c/model.h"
#include "heft/c/trust.h"

#ifdef __cplusplus
extern "C" {
#endif

// heft_key_owner: a model and a secret key, in locked memory if the system permits it.
typedef struct heft_key_owner heft_key_owner;

// ---- Keys.

// heft_key_set_make: a new secret key in `folder`, sealed if there is a passphrase, with its public
// keys (MakeKeySet). Result: the record KeySet.
HEFT_C_API heft_status heft_key_set_make(const heft_model* model, const char* folder,
                                         heft_bytes passphrase, heft_monitor monitor, void* user,
                                         heft_result** result, heft_error** error);
// MakePublicKeys: new public keys for an existing secret key.
HEFT_C_API heft_status heft_key_set_make_public(const heft_key_owner* owner, const char* folder,
                                                heft_monitor monitor, void* user,
                                                heft_result** result, heft_error** error);
// RenewKey: a set for a new secret key, and the key that moves galleries to it; revokes `old`.
HEFT_C_API heft_status heft_key_set_renew(const heft_key_owner* old, const char* folder,
                                          heft_bytes passphrase, heft_monitor monitor, void* user,
                                          heft_result** result, heft_error** error);

// Creates a new secret key in memory, which also counts its openings there; or loads one from a
// file, or from a folder of heft_key_set_make.
HEFT_C_API heft_status heft_key_owner_generate(const heft_model* model, heft_key_owner** owner,
                                               heft_error** error);
HEFT_C_API heft_status heft_key_owner_load(const heft_model* model, const char* secret_key,
                                           heft_bytes passphrase, heft_key_owner** owner,
                                           heft_error** error);
HEFT_C_API void heft_key_owner_free(heft_key_owner* owner);
HEFT_C_FREE_AT(key_owner)
// key_id, signer (public key), journal (file; empty: in memory), shared: the record SharedKey, or
// null for a whole key.
HEFT_C_API heft_status heft_key_owner_describe(const heft_key_owner* owner, heft_result** result,
                                               heft_error** error);
// The keys for clients, for the server, and for the server's enrolments if the profile has two
// rings (otherwise empty).
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

// ---- Accepted signers. No other call may use the object at the same time.

// The signing key of this owner.
HEFT_C_API heft_status heft_key_owner_signer(const heft_key_owner* owner, heft_signing_key** key,
                                             heft_error** error);
// From now on accepts only replies that a server of `trust` signed (RequireSigned). Until then no
// signature is checked: unlike the tools, this interface does not read a trust.heft beside the key.
HEFT_C_API heft_status heft_key_owner_require_signed(heft_key_owner* owner, const heft_trust* trust,
                                                     heft_error** error);
// From now on accepts only replies of the latest state of a gallery that this owner signed.
HEFT_C_API heft_status heft_key_owner_require_signed_gallery(heft_key_owner* owner,
                                                             heft_error** error);
// MakeCanaries: people [{label, vectors [[number]]}], probes [the same], modalities [name of each
// vector]. Options: "names"
// (identities of all of them, added; none: random ones). Pass `file` to
// heft_key_owner_require_canaries, which then checks replies to these probes; `keep`: not 0: also
// stores them in PATH.canaries, for every program that loads this key.
HEFT_C_API heft_status heft_key_owner_make_canaries(const heft_key_owner* owner, size_t triples,
                                                    const heft_options* options,
                                                    heft_result** people, heft_buffer** file,
                                                    heft_error** error);
HEFT_C_API heft_status heft_key_owner_require_canaries(heft_key_owner* owner, heft_bytes file,
                                                       const char* what, int keep,
                                                       heft_error** error);

// ---- Requests of a server; `what` names one in errors.

// heft_key_owner_inquiry: the pending enrolments in a request; opens and signs nothing
// (ReadInquiry). Result: the record AdmissionInquiry.
HEFT_C_API heft_status heft_key_owner_inquiry(const heft_key_owner* owner, heft_bytes request,
                                              const char* what, heft_result** result,
                                              heft_error** error);
// heft_key_owner_approve: opens the proofs of the norms of all pending templates, and decides.
// Options: "only", "reject" (identities, added), "entries", "reject_entries", "hold" (of an
// inquiry, added), "new_identities_only", "put_back" (flags; ApprovalPolicy), "shards" (text: the
// shard list, if the gallery is a bucket). `admission` is for heft_matcher_activate. `result` (may
// be NULL): approved (a number), and members of the record Admissions: verdicts, rejected (those
// that reject), groups, contested.
HEFT_C_API heft_status heft_key_owner_approve(const heft_key_owner* owner, heft_bytes request,
                                              const char* what, const heft_options* options,
                                              heft_buffer** admission, heft_result** result,
                                              heft_error** error);
// heft_key_owner_renew: encrypts blocks again, without removed templates. `renewal` is for
// heft_gallery_renew. `result` (may be NULL): blocks, templates.
HEFT_C_API heft_status heft_key_owner_renew(const heft_key_owner* owner, heft_bytes request,
                                            const char* what, heft_buffer** renewal,
                                            heft_result** result, heft_error** error);

// ---- Replies; each can be opened once.

// heft_key_owner_decide: decides on a reply. Options: "score", "fmr", "fpir" (numbers, one of them
// required; DecisionRule), "likelihood", "others" (flags), "security_bits", "openings" (Flooding;
// 0 bits, the default: no noise). `what` names the reply in errors. Result: the record Decision.
HEFT_C_API heft_status heft_key_owner_decide(const heft_key_owner* owner, heft_bytes reply,
                                             const char* what, const heft_options* options,
                                             heft_result** result, heft_error** error);
// heft_key_owner_open: publishes scores, which reveal information about templates; each identity
// has a limited number of scores for ever (heft_key_owner_budget): what training measured, mostly
// 0, until heft_key_owner_set_budget. HEFT_RESOURCE_EXHAUSTED beyond. Result: the record
// OpenedScores. Options: "publish" (candidates, default 10), "security_bits", "openings".
HEFT_C_API heft_status heft_key_owner_open(const heft_key_owner* owner, heft_bytes reply,
                                           const char* what, const heft_options* options,
                                           heft_result** result, heft_error** error);
// heft_key_owner_threshold: the threshold of a rule for this reply; opens and charges nothing.
// Options: "score", "fmr", "fpir", "others". Result: the record ChosenThreshold.
HEFT_C_API heft_status heft_key_owner_threshold(const heft_key_owner* owner, heft_bytes reply,
                                                const char* what, const heft_options* options,
                                                heft_result** result, heft_error** error);

// heft_scores_decide: decides on the scores of heft_key_owner_open (OpenedScores::Decide).
// `scores`: the record as heft_result_json gives it. `threshold`: the record of
// heft_key_owner_threshold in the same form, or a number, "0.5". Result: the record Decision.
HEFT_C_API heft_status heft_scores_decide(const char* scores, const char* threshold,
                                          heft_result** result, heft_error** error);

// The same for several replies: of a gallery in buckets, and with a shared key. `replies`
// (heft_files_add, in any order): without `shards` (NULL) one reply. With it they are one search of
// all buckets, charged once: signed, complete, and all to one request; an identification needs one
// reply of each bucket, a verification only that of the claimed identity's bucket. `parts`: the
// other owners' parts (below); NULL for a whole key. HEFT_FAILED_PRECONDITION for anything else,
// before it is decrypted or charged.
HEFT_C_API heft_status heft_key_owner_open_replies(
    const heft_key_owner* owner, const heft_files* replies, const heft_shards* shards,
    const heft_files* parts, const heft_options* options, heft_result** result, heft_error** error);
HEFT_C_API heft_status heft_key_owner_decide_replies(
    const heft_key_owner* owner, const heft_files* replies, const heft_shards* shards,
    const heft_files* parts, const heft_options* options, heft_result** result, heft_error** error);
HEFT_C_API heft_status heft_key_owner_threshold_replies(const heft_key_owner* owner,
                                                        const heft_files* replies,
                                                        const heft_shards* shards,
                                                        const heft_options* options,
                                                        heft_result** result, heft_error** error);

// ---- Shared keys: an opening takes several owners (heft/key_set.h, docs/owners.md).

// heft_shared_key_set_make: deals the shares of a new secret key, which it wipes
// (MakeSharedKeySet). `passphrases`: `given` of them, one for each owner's share; 0: none is
// sealed. The model has profile "flooded". Result: the record SharedKeySet.
HEFT_C_API heft_status heft_shared_key_set_make(const heft_model* model, const char* folder,
                                                uint32_t owners, uint32_t threshold,
                                                const heft_bytes* passphrases, size_t given,
                                                heft_monitor monitor, void* user,
                                                heft_result** result, heft_error** error);
// heft_key_set_join: one step of a ceremony without a dealer, for a key that all 2 or 3 `owners`
// open together (JoinKeySet). Begin without messages in a folder without keys; later `owners` may
// be 0. `messages`: `count` paths of all owners' messages of one round, until round 6. Result: the
// record JoinStep.
HEFT_C_API heft_status heft_key_set_join(const heft_model* model, const char* folder,
                                         uint32_t owners, const char* const* messages, size_t count,
                                         heft_bytes passphrase, heft_monitor monitor, void* user,
                                         heft_result** result, heft_error** error);
// Checks this share, and the public keys in a folder, against the ceremony's record
// (CheckCeremony). Result: the record CeremonyCheck.
HEFT_C_API heft_status heft_key_owner_check_ceremony(const heft_key_owner* owner,
                                                     const char* folder, heft_result** result,
                                                     heft_error** error);
// This owner's signed part, which one other owner passes to heft_key_owner_open_replies,
// heft_key_owner_decide_replies or heft_key_owner_approve_parts, as `parts`.
// Options: those of that call, and "owners" (numbers, added): all that open together. It checks,
// charges and records like that call. Valid for seven days.
HEFT_C_API heft_status heft_key_owner_open_part(const heft_key_owner* owner,
                                                const heft_files* replies,
                                                const heft_shards* shards,
                                                const heft_options* options, heft_buffer** part,
                                                heft_error** error);
HEFT_C_API heft_status heft_key_owner_decide_part(const heft_key_owner* owner,
                                                  const heft_files* replies,
                                                  const heft_shards* shards,
                                                  const heft_options* options, heft_buffer** part,
                                                  heft_error** error);
HEFT_C_API heft_status heft_key_owner_approve_part(const heft_key_owner* owner, heft_bytes request,
                                                   const char* what, const heft_options* options,
                                                   heft_buffer** part, heft_error** error);
// heft_key_owner_approve with the other owners' parts.
HEFT_C_API heft_status heft_key_owner_approve_parts(const heft_key_owner* owner, heft_bytes request,
                                                    const char* what, const heft_files* parts,
                                                    const heft_options* options,
                                                    heft_buffer** admission, heft_result** result,
                                                    heft_error** error);
// The same for a server's request to renew blocks (RenewPart): given once for each request.
// Options: "owners" (numbers, added). The part is for heft_key_owner_renew_parts of one other
// owner.
HEFT_C_API heft_status heft_key_owner_renew_part(const heft_key_owner* owner, heft_bytes request,
                                                 const char* what, const heft_options* options,
                                                 heft_buffer** part, heft_error** error);
// heft_key_owner_renew with the other owners' parts.
HEFT_C_API heft_status heft_key_owner_renew_parts(const heft_key_owner* owner, heft_bytes request,
                                                  const char* what, const heft_files* parts,
                                                  heft_buffer** renewal, heft_result** result,
                                                  heft_error** error);
// heft_key_owner_give_shares: this owner's message for new shares of the same key (GiveNewShares).
// Options: "owners" (numbers, added): those who give one; "replace" (the number of an owner) and
// "newcomer" (the public key of its successor), both or neither.
HEFT_C_API heft_status heft_key_owner_give_shares(const heft_key_owner* owner,
                                                  const heft_options* options,
                                                  heft_buffer** message, heft_error** error);
// heft_key_owner_take_share: writes this owner's new share, made from all messages, to a new file
// (TakeNewShare). Once all owners have theirs, it takes the old one's place.
HEFT_C_API heft_status heft_key_owner_take_share(const heft_key_owner* owner,
                                                 const heft_files* messages, const char* path,
                                                 heft_bytes passphrase, heft_error** error);
// heft_blank_share_make: for the successor of `owner`: a share of nothing yet (MakeBlankShare), to
// be loaded for heft_key_owner_take_share. `record`: the ceremony's file. Result: signer (public
// key).
HEFT_C_API heft_status heft_blank_share_make(const heft_model* model, heft_bytes record,
                                             uint32_t owner, const char* path,
                                             heft_bytes passphrase, heft_result** result,
                                             heft_error** error);
// A gallery moves to another shared key of the same model and threshold, in which every owner has
// its old number. heft_key_owner_give_rekeying_part writes the part of the owner of both shares,
// for the one other owner that calls heft_key_owner_combine_rekeying_key with all parts. It hands
// this owner's record of queries to the new share and revokes the old one (GiveRekeyingPart,
// CombineRekeyingKey). Options: "owners" (numbers, added). `path`: the file to write.
HEFT_C_API heft_status heft_key_owner_give_rekeying_part(const heft_key_owner* old,
                                                         const heft_key_owner* next,
                                                         const heft_options* options,
                                                         const char* path, heft_error** error);
HEFT_C_API heft_status heft_key_owner_combine_rekeying_key(const heft_key_owner* old,
                                                           const heft_key_owner* next,
                                                           const heft_files* parts,
                                                           const char* path, heft_error** error);

// ---- The budget (BudgetUse).

// heft_default_limits: the record BudgetLimits of a model's galleries until
// heft_key_owner_set_budget (DefaultLimits).
HEFT_C_API heft_status heft_default_limits(const heft_model* model, heft_result** result,
                                           heft_error** error);
// heft_key_owner_budget: the record BudgetUse.
HEFT_C_API heft_status heft_key_owner_budget(const heft_key_owner* owner, heft_result** result,
                                             heft_error** error);
// Options: "scores", "decisions", "client_bits", "rejections"; others stay unchanged.
HEFT_C_API heft_status heft_key_owner_set_budget(heft_key_owner* owner, const heft_options* options,
                                                 heft_error** error);
HEFT_C_API heft_status heft_key_owner_restart_journal(heft_key_owner* owner, const char* reason,
                                                      heft_error** error);

// ---- Keys of Microsoft SEAL (heft/seal_key_owner.h; heft/c/seal.h has the rest). Files that hold
// a secret key of SEAL's are not sealed.

// heft_seal_import_secret_key: the secret key file `out`, from SEAL's SecretKey in the file
// `source`, and in the file `enrolment` if the model has two rings (otherwise NULL).
HEFT_C_API heft_status heft_seal_import_secret_key(const heft_model* model, const char* key_id,
                                                   const char* source, const char* out,
                                                   const char* enrolment, heft_bytes passphrase,
                                                   heft_monitor monitor, void* user,
                                                   heft_error** error);
// Options: "ring", as in heft/c/seal.h.
HEFT_C_API heft_status heft_seal_export_secret_key(const heft_key_owner* owner, const char* out,
                                                   const heft_options* options,
                                                   heft_monitor monitor, void* user,
                                                   heft_error** error);
// heft_seal_export_evaluation_keys: new relinearisation and Galois keys, all that the model needs
// in the matching ring. Options: "compression", as in heft/c/seal.h. Result: galois_keys (a
// number).
HEFT_C_API heft_status heft_seal_export_evaluation_keys(
    const heft_key_owner* owner, const heft_options* options, heft_monitor monitor, void* user,
    heft_buffer** relinearisation, heft_buffer** galois, heft_result** result, heft_error** error);

// ---- Workspaces: all roles on one machine, each in its own folder, which can move to its own
// machine later (heft/workspace.h): device/ encrypts, server/ matches, owner/ decides.

// heft_workspace_check_free: whether heft_workspace_create can make the folder; call it before a
// long training. HEFT_ALREADY_EXISTS; HEFT_NOT_FOUND if the folder above does not exist.
HEFT_C_API heft_status heft_workspace_check_free(const char* folder, heft_error** error);
// heft_workspace_create: makes the folder with the files of all roles, completely or not at all.
// `passphrase` seals the secret key: {NULL, 0} for none, or heft_asked; HEFT wipes its copies.
HEFT_C_API heft_status heft_workspace_create(const char* folder, const heft_model* model,
                                             heft_bytes passphrase, heft_monitor monitor,
                                             void* user, heft_error** error);
// heft_workspace_export_role: moves a role, "device", "server" or "owner", out of a workspace into
// a new folder, to be taken to its machine.
HEFT_C_API heft_status heft_workspace_export_role(const char* folder, const char* role,
                                                  const char* out, heft_error** error);

// heft_workspace: an open workspace. Calls that use one wait for each other.
typedef struct heft_workspace heft_workspace;
HEFT_C_API heft_status heft_workspace_open(const char* folder, heft_bytes passphrase,
                                           heft_workspace** workspace, heft_error** error);
HEFT_C_API void heft_workspace_free(heft_workspace* workspace);
HEFT_C_FREE_AT(workspace)
// The model of all roles, as an object of its own.
HEFT_C_API heft_status heft_workspace_model(const heft_workspace* workspace, heft_model** model,
                                            heft_error** error);
// gallery (its name for heft_gallery_open).
HEFT_C_API heft_status heft_workspace_describe(const heft_workspace* workspace,
                                               heft_result** result, heft_error** error);

// ---- Use of a workspace. `rows`: those of `count` modalities, with equally many rows.

// heft_workspace_add: encrypts, enrols and activates each row under its label. Result: the record
// WorkspaceAdded.
HEFT_C_API heft_status heft_workspace_add(heft_workspace* workspace, const heft_rows* rows,
                                          size_t count, const char* const* labels,
                                          heft_monitor monitor, void* user, heft_result** result,
                                          heft_error** error);
// heft_workspace_search: searches for the person of each row. `take` receives the record Decision
// as JSON text, row by row; the decisions before an error are made and charged. Options: "score",
// "fpir" (numbers; by default an FPIR of 0.01).
HEFT_C_API heft_status heft_workspace_search(heft_workspace* workspace, const heft_rows* rows,
                                             size_t count, const heft_options* options,
                                             heft_take_reply take, heft_monitor monitor, void* user,
                                             heft_error** error);
// heft_workspace_verify: compares each row with one claimed identity. Options: "score", "fmr"
// (numbers; by default an FMR of 0.001).
HEFT_C_API heft_status heft_workspace_verify(heft_workspace* workspace, const heft_rows* rows,
                                             size_t count, const char* identity,
                                             const heft_options* options, heft_take_reply take,
                                             heft_monitor monitor, void* user, heft_error** error);
// heft_workspace_remove: removes and erases people. Options: "identities" (added). Result: the
// record WorkspaceRemoved.
HEFT_C_API heft_status heft_workspace_remove(heft_workspace* workspace, const heft_options* options,
                                             heft_monitor monitor, void* user, heft_result** result,
                                             heft_error** error);

#ifdef __cplusplus
}
#endif

#endif  // HEFT_C_KEY_OWNER_H_
