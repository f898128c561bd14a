// SPDX-License-Identifier: Apache-2.0
// HEFT: start here. HEFT fuses and matches biometric templates that stay encrypted. Four roles
// share a model and exchange bytes only. A program includes the headers of its roles:
//
//    role        include            it has                                 link
//    learning    heft/train.h       vectors of people who agreed to it     heft::heft
//    client      heft/client.h      the encryption key                     heft::server
//    server      heft/server.h      the evaluation keys, a gallery         heft::server
//    key owner   heft/key_owner.h   the secret key, a query budget         heft::heft
//
// heft::heft is all of HEFT; heft::server is the part that cannot decrypt. A program links one of
// them.
//
//    heft/model.h           projection, normalisation, thresholds, calibration: shared by all roles
//    heft/decisions.h       the meaning of a score: thresholds, searches, evidence
//    heft/calibrate.h       thresholds for a model from people who did not train it
//    heft/gallery.h         enrolled templates in a folder; re-keying without decrypting them
//    heft/removal.h         erasing people from a gallery; renewing and compacting blocks
//    heft/gallery_admin.h   contents and integrity of galleries; snapshots and restoring them
//    heft/pending.h         pending templates, in requests of bounded size
//    heft/enrol_many.h      a whole gallery from feature vectors, in one call
//    heft/metadata.h        metadata of a template, and conditions that restrict a search
//    heft/key_set.h         the key owner's files: created, renewed, sealed under a passphrase
//    heft/shared_key.h      a key shared among owners, some of which open together
//    heft/workspace.h       all roles on one machine, in folders that can move to other machines
//    heft/openings.h        whether replies answer the request; decisions as JSON and in words
//    heft/expanded_keys.h, heft/loaded_keys.h     a server's keys, expanded once and then mapped
//    heft/serving.h, heft/desk.h                  a request from reading it to its signed reply
//    heft/audit.h           checking a server: its replies recomputed, bit for bit
//    heft/audit_log.h       checking the hash chain of the services' audit logs
//    heft/trust.h           signatures: signer, audience and validity of a file; trusted keys
//    heft/shards.h, heft/sharded_gallery.h        galleries in buckets, on one machine or several
//    heft/deduplicate.h, heft/duplicates.h        N against N: the server's part, the key owner's
//    heft/outside_signer.h, heft/authorisation.h  keys outside HEFT; a registrar's permission
//    heft/vectors.h, heft/dataset.h               vectors and data sets from files
//    heft/files.h, heft/json.h                    whole files, JSON
//    heft/results.h, heft/described.h             results as JSON and in words
//    heft/inspect.h         the kind of a file, and the security of its parameters
//    heft/evaluate.h, heft/study.h, heft/benchmark.h   accuracy of a model on people's data; times
//    heft/score_files.h     scores of comparisons, in formats of other tools
//    heft/seal.h, heft/seal_key_owner.h           exchange with Microsoft SEAL
//    heft/fit.h             polynomials near 1/sqrt(s), for a projection from another program
//    heft/approximation.h, heft/progress.h        types that the others use
//    heft/thread_memory.h   returning the memory that a thread keeps
//    heft/status.h          short forms for passing errors on
//    heft/runtime.h         threads, vector instructions and memory for secrets of this process
//
// examples/roles.cc shows all roles on one page. heft/model.h, client.h, server.h and key_owner.h
// are enough for enrolment and identification. The tools (cli/) use only these headers.
//
// Errors are values (absl::Status). The message states the problem and the remedy:
//
//    kInvalidArgument     a wrong value of the caller (dimension, NaN, unknown name)
//    kDataLoss            damaged bytes (truncated, flipped, wrong magic)
//    kFailedPrecondition  valid objects that do not belong together (other key, model, parameters)
//    kNotFound            an identity, file or key that does not exist
//    kAlreadyExists       a file that would be overwritten and must not be
//    kResourceExhausted   the query budget is spent
//    kUnavailable         the operating system refused (disk full, permission), or another process
//                         changes the same gallery
//    kCancelled           a monitor ended the call (heft/progress.h)
//
// On error, outputs, objects and files are unchanged. Nothing prints, and nothing throws except
// std::bad_alloc. Only one condition aborts: an operating system without randomness. Threads may
// share const objects, and calls use all cores.
#ifndef HEFT_HEFT_H_
#define HEFT_HEFT_H_

#include "heft/model.h"  // IWYU pragma: export

#endif  // HEFT_HEFT_H_
