// SPDX-License-Identifier: Apache-2.0
// Models and files (heft/model.h, heft/inspect.h): for all roles.
#ifndef HEFT_C_MODEL_H_
#define HEFT_C_MODEL_H_

#include "heft/c/base.h"

#ifdef __cplusplus
extern "C" {
#endif

// heft_model: the parameters that client, server and key owner share. Public: no template and no
// key.
typedef struct heft_model heft_model;
HEFT_C_API heft_status heft_model_load(const char* path, heft_model** model, heft_error** error);
// `what` names the bytes in errors.
HEFT_C_API heft_status heft_model_parse(heft_bytes bytes, const char* what, heft_model** model,
                                        heft_error** error);
HEFT_C_API void heft_model_free(heft_model* model);
HEFT_C_FREE_AT(model)
// The bytes of a model file.
HEFT_C_API heft_status heft_model_serialize(const heft_model* model, heft_buffer** bytes,
                                            heft_error** error);
// An object with these members:
//
//    model_id, decision_id, modalities [{name, dimension}], gamma, profile, interval [lo, hi]
//    tables [{modalities [name], searches [{templates, people, comparisons}],
//      thresholds [{fmr, score, fnmr, impostor_pairs, interval}],
//      calibration {slope, intercept} or null}]
//    sample_agreement or null, training (the trainer's summary)
HEFT_C_API heft_status heft_model_describe(const heft_model* model, heft_result** result,
                                           heft_error** error);
// Model::ThresholdFor and ThresholdForSearch: the record ChosenThreshold. For `people` in the
// gallery, with at most `templates` each. Option "modalities": names of the probe's modalities;
// default: all of the model.
HEFT_C_API heft_status heft_model_threshold(const heft_model* model, double fmr,
                                            const heft_options* options, heft_result** result,
                                            heft_error** error);
HEFT_C_API heft_status heft_model_search_threshold(const heft_model* model, double fpir,
                                                   uint64_t people, uint32_t templates,
                                                   const heft_options* options,
                                                   heft_result** result, heft_error** error);

// InspectFile, for any HEFT file: kind, name, version, bytes; params_id and key_id if
// the file states them.
HEFT_C_API heft_status heft_inspect(heft_bytes bytes, const char* what, heft_result** result,
                                    heft_error** error);

// Training a model from feature vectors of people who agreed to it (heft/dataset.h, heft/train.h):
// no cryptography and no keys. In heft_c, not in heft_c_server.

// heft_dataset: vectors of one or more modalities, with identities and a split by identity.
typedef struct heft_dataset heft_dataset;
// TrainingData::FromRows: row i of every modality belongs to labels[i]; all have equally many rows.
// `split`: "train", "val" or "test" for each row; NULL: drawn by `split_seed`. TrainingData::Load:
// a folder without labels.txt is only for heft_learn's "method" "pca" and "none".
HEFT_C_API heft_status heft_dataset_from_rows(const heft_rows* modalities, size_t count,
                                              const char* const* labels, const char* const* split,
                                              uint64_t split_seed, heft_dataset** dataset,
                                              heft_error** error);
HEFT_C_API heft_status heft_dataset_load(const char* folder, uint64_t split_seed,
                                         heft_dataset** dataset, heft_error** error);
// TrainingData::Synthesise: synthetic people. Options: "identities", "samples_per_identity", "seed"
// (integers), "dimensions" (numbers, one added for each modality).
HEFT_C_API heft_status heft_dataset_synthesise(const heft_options* options, heft_dataset** dataset,
                                               heft_error** error);
HEFT_C_API void heft_dataset_free(heft_dataset* dataset);
HEFT_C_FREE_AT(dataset)
HEFT_C_API heft_status heft_dataset_write(const heft_dataset* dataset, const char* folder,
                                          heft_error** error);
// rows, modalities [{name, dimension}], labels [text], left_out [file names].
HEFT_C_API heft_status heft_dataset_describe(const heft_dataset* dataset, heft_result** result,
                                             heft_error** error);
// heft_dataset_vector: copies a row of a modality, both from 0, into `values`, which has room for
// exactly `dimension` numbers.
HEFT_C_API heft_status heft_dataset_vector(const heft_dataset* dataset, size_t modality, size_t row,
                                           float* values, size_t dimension, heft_error** error);

// heft_learn: Learn. Options are members of LearnOptions.
//
//    integers  "gamma", "degree", "epochs", "patience", "seed"
//    numbers   "lambda", "margin", "learning_rate", "weight_decay", "shrinkage", "drop_modality"
//    text      "method", "recipe", "fit", "profile", "checkpoint"
//    flags     "grid_search", "against_wolves", "with_exact"
//    added     "modality_weights" (numbers, one for each modality)
HEFT_C_API heft_status heft_learn(const heft_dataset* dataset, const heft_options* options,
                                  heft_monitor monitor, void* user, heft_model** model,
                                  heft_error** error);

// heft_calibrate: Calibrate: `calibrated` is `model` with decision tables fitted to the people of
// `dataset`, who must not have trained it. The member "training" of heft_model_describe summarises
// the calibration.
HEFT_C_API heft_status heft_calibrate(const heft_model* model, const heft_dataset* dataset,
                                      uint64_t seed, heft_monitor monitor, void* user,
                                      heft_model** calibrated, heft_error** error);

#ifdef __cplusplus
}
#endif

#endif  // HEFT_C_MODEL_H_
