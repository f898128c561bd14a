// SPDX-License-Identifier: Apache-2.0
// HEFT: start here. Fuses and matches biometric templates that stay encrypted. Four roles share a
// model and exchange bytes only; a program includes the headers of the roles that it plays:
//
//   role        include            it has                                 link
//   learning    heft/train.h       vectors of people who agreed to it     heft::heft
//   client      heft/client.h      the encryption key                     heft::server
//   server      heft/server.h      the evaluation keys, a gallery         heft::server
//   key owner   heft/key_owner.h   the secret key, a query budget         heft::heft
//
// heft::heft is all of HEFT; heft::server is the part that cannot decrypt. A program links one.
//
// heft/model.h     what all of them share: projection, normalisation, thresholds, calibration
// heft/decisions.h what a score means: thresholds for a comparison and for a search, evidence
// heft/calibrate.h thresholds for a model from people who did not train it
// heft/gallery.h   enrolled templates in a folder; re-keying without decrypting them
// heft/removal.h   people leave a gallery for good; blocks are renewed and compacted
// heft/gallery_admin.h   what is in galleries, whether they are intact; snapshots, and the return
// heft/pending.h   what waits to be admitted, in requests of bounded size
// heft/enrol_many.h   a whole gallery from feature vectors, in one call
// heft/metadata.h  what stands beside a template, and conditions that restrict a search
// heft/key_set.h   the key owner's files: made, renewed, sealed under a passphrase
// heft/workspace.h all roles on one machine, in folders that can move to their machines
// heft/openings.h   whether replies answer what was asked; what comes of them, as JSON and in words
// heft/expanded_keys.h, heft/loaded_keys.h   a server's keys, expanded once and mapped later
// heft/serving.h, heft/answering.h   a request, from what came to what is signed: for who serves
// heft/audit.h     checking a server: its replies once more, bit for bit
// heft/audit_log.h whether an audit log of the services holds together
// heft/trust.h     signatures: who made a file, for whom, for how long, and whom to believe
// heft/shards.h, heft/sharded_gallery.h   galleries in buckets, on one machine or several
// heft/deduplicate.h, heft/duplicates.h   each of N against all: the server's half, the key owner's
// heft/outside_signer.h, heft/authorisation.h   keys that sign elsewhere; what a registrar allowed
// heft/vectors.h, heft/dataset.h   vectors and data sets from files
// heft/files.h, heft/json.h   whole files in and out, JSON
// heft/results.h, heft/described.h   results as JSON and in words
// heft/inspect.h   what a file is, and what its parameters protect
// heft/evaluate.h, heft/study.h, heft/benchmark.h   what a model is worth on people's data; times
// heft/score_files.h   scores of comparisons, as others read and write them
// heft/seal.h, heft/seal_key_owner.h   exchange with Microsoft SEAL
// heft/fit.h       polynomials near 1/sqrt(s), for a projection that was learned elsewhere
// heft/approximation.h, heft/progress.h   types that the others use
// heft/thread_memory.h   what a thread keeps, given back
// heft/status.h    short forms for who passes errors on
// heft/runtime.h   threads, vector instructions and memory for secrets of this process
//
// examples/roles.cc shows all roles on one page; heft/model.h, client.h, server.h and key_owner.h
// are all that enrolment and identification need. The tools (cli/) are programs of these headers
// too.
//
// Errors are values (absl::Status); the message says what was wrong and what to do:
//
//   kInvalidArgument     the caller's value is wrong (dimension, NaN, unknown name)
//   kDataLoss            bytes that are not what they claim to be (truncated, flipped, wrong magic)
//   kFailedPrecondition  good objects that do not belong together (other key, model, parameters)
//   kNotFound            an identity, file or key that is not there
//   kAlreadyExists       a file that would be overwritten and must not be
//   kResourceExhausted   the query budget is spent
//   kUnavailable         the operating system refused (disk full, permission), or another process
//                        changes the same gallery
//   kCancelled           a monitor ended the call (heft/progress.h)
//
// On error, outputs, objects and files are as they were. Nothing prints or throws but
// std::bad_alloc, and one thing aborts: an operating system without randomness. Objects may be
// shared by threads as far as they are const, and calls use all cores.
#ifndef HEFT_HEFT_H_
#define HEFT_HEFT_H_

#include "heft/model.h"  // IWYU pragma: export

#endif  // HEFT_HEFT_H_
