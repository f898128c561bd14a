// SPDX-License-Identifier: Apache-2.0
// All roles on one machine, each in its own folder, which can move to its own machine later
// (heft/workspace.h): device/ encrypts, server/ matches, owner/ decides. In heft_c, not in
// heft_c_server.
#ifndef HEFT_C_WORKSPACE_H_
#define HEFT_C_WORKSPACE_H_

#include "heft/c/base.h"
#include "heft/c/matcher.h"
#include "heft/c/model.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Making.

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

// ---- Use. `rows`: those of `count` modalities, with equally many rows.

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

#endif  // HEFT_C_WORKSPACE_H_
