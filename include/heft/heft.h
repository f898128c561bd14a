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
//    heft/train.h           also calibration, and fits for a projection from another program
//    heft/gallery.h         enrolled templates in a folder, their metadata, re-keying
//    heft/gallery_admin.h   contents, integrity and snapshots of galleries, pending templates,
//                           erasing people, renewing and compacting blocks
//    heft/key_set.h         the key owner's files; keys shared among owners who open together
//    heft/workspace.h       all roles on one machine, in folders that can move to other machines
//    heft/openings.h        whether replies answer the request; decisions in words; duplicates
//    heft/desk.h            a request from reading it to its signed reply; a whole gallery at once
//    heft/audit.h           checking a server: its replies recomputed, its logs' hash chain
//    heft/trust.h           signatures: signer, audience and validity of a file; trusted keys
//    heft/shards.h          galleries in buckets, on one machine or several
//    heft/deduplicate.h     N against N, the server's part
//    heft/dataset.h         feature vectors and data sets from files
//    heft/files.h           whole files, JSON, results as JSON and in words
//    heft/results.h         every record that calls return, field by field; records as JSON
//    heft/inspect.h         the kind of a file, and the security of its parameters
//    heft/evaluate.h        accuracy of a model on people's data, score files, times
//    heft/seal.h, heft/seal_key_owner.h   exchange with Microsoft SEAL
//    heft/base.h            progress and cancellation; threads and memory; passing errors on
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
//    kCancelled           a monitor ended the call (heft/base.h)
//
// On error, outputs, objects and files are unchanged. Nothing prints, and nothing throws except
// std::bad_alloc. Only one condition aborts: an operating system without randomness. Threads may
// share const objects, and calls use all cores.
#ifndef HEFT_HEFT_H_
#define HEFT_HEFT_H_

#include "heft/model.h"  // IWYU pragma: export

#endif  // HEFT_HEFT_H_
