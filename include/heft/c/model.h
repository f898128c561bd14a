// SPDX-License-Identifier: Apache-2.0
// Models and files (heft/model.h, heft/inspect.h): for all roles.
#ifndef HEFT_C_MODEL_H_
#define HEFT_C_MODEL_H_

#include "heft/c/base.h"
#include "heft/c/trust.h"

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
// ReadTrustedModel: the same; if `trust` is not NULL and lists trainers, one of them must have
// signed the model.
HEFT_C_API heft_status heft_model_open(heft_bytes bytes, const heft_trust* trust, const char* what,
                                       heft_model** model, heft_error** error);
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
//    approximation: as of heft_approximation_fit
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

// heft_model_tables: the model's decision tables, an array of records DecisionTable.
// heft_model_table: Model::TableFor, with option "modalities" as above: a record DecisionTable.
// heft_model_names_of: Model::NamesOf, of a table's `modalities`: an array of texts.
HEFT_C_API heft_status heft_model_names_of(const heft_model* model, uint32_t set,
                                           heft_result** result, heft_error** error);
HEFT_C_API heft_status heft_model_tables(const heft_model* model, heft_result** result,
                                         heft_error** error);
HEFT_C_API heft_status heft_model_table(const heft_model* model, const heft_options* options,
                                        heft_result** result, heft_error** error);
// heft_model_projection: a view of Model::projection, or with `exact` of exact_projection, which
// may have no rows: `rows` x `columns` numbers, row by row, valid until the model is freed.
HEFT_C_API heft_status heft_model_projection(const heft_model* model, int exact,
                                             const double** values, size_t* rows, size_t* columns,
                                             heft_error** error);

// heft_model_fuse: FuseInClear: the templates of row i of all `count` modalities, without
// encryption, into `values`, which has room for exactly `size` numbers: rows x gamma. `outside`:
// how many rows are outside the approximation's interval.
HEFT_C_API heft_status heft_model_fuse(const heft_model* model, const heft_rows* modalities,
                                       size_t count, float* values, size_t size, size_t* outside,
                                       heft_error** error);

// heft_approximation_fit: Fit of 1/sqrt(s) on [lo, hi]; `kind`: "minimax" or "least_squares".
//
//    name, degree, interval [lo, hi], max_relative_error
//    stages [{coefficients, centre, half_width, degree, plain}]: polynomials; the first is applied
//      first. plain: the coefficients with centre 0 and half_width 1
HEFT_C_API heft_status heft_approximation_fit(int degree, double lo, double hi, const char* kind,
                                              heft_result** result, heft_error** error);
// heft_approximation_at: value and derivative of an Approximation at `s`. `stages`: that
// array as JSON; only coefficients, centre and half_width are read.
HEFT_C_API heft_status heft_approximation_at(const char* stages, double s, double* value,
                                             double* derivative, heft_error** error);
// heft_decision_number: a number that follows from a record of heft/decisions.h. `record` has the
// fields of the record and the arguments, as numbers:
//
//    "supported"             fmr, impostor_pairs: 1 or 0
//    "log_likelihood_ratio"  slope, intercept, score
//    "rate_at"               start, rate, scale, shape, evenness (of an ImpostorTail), threshold
//    "fpir"                  those of an ImpostorTail, threshold, people
//    "threshold_for"         those of an ImpostorTail, fpir, people
HEFT_C_API heft_status heft_decision_number(const char* what, const heft_options* record,
                                            double* number, heft_error** error);

// InspectFile, for any HEFT file: the record FileInfo.
HEFT_C_API heft_status heft_inspect(heft_bytes bytes, const char* what, heft_result** result,
                                    heft_error** error);
// DescribeFile: checks a file or a gallery and describes it: facts (an object) and text (the same
// in words). Option "plan" (flag): for a model, also heft_describe_plan. With `trust` (may be
// NULL), only a signed file whose signer it lists.
HEFT_C_API heft_status heft_describe_file(const char* path, const heft_options* options,
                                          const heft_trust* trust, heft_result** result,
                                          heft_error** error);
// DescribePlan: how a model is evaluated: rings, an array of objects.
HEFT_C_API heft_status heft_describe_plan(const heft_model* model, heft_result** result,
                                          heft_error** error);

// The record ProfileInfo: of a profile by its name, and of the profile with these parameters (32
// hexadecimal digits, params_id of heft_inspect): null if there is none.
HEFT_C_API heft_status heft_describe_profile(const char* name, heft_result** result,
                                             heft_error** error);
HEFT_C_API heft_status heft_profile_of(const char* params_id, heft_result** result,
                                       heft_error** error);

// Training a model from feature vectors of people who agreed to it (heft/dataset.h, heft/train.h):
// no cryptography and no keys. In heft_c, not in heft_c_server.

// heft_dataset: vectors of one or more modalities, with identities and a split by identity.
typedef struct heft_dataset heft_dataset;
// TrainingData::FromRows: row i of every modality belongs to labels[i]; all have equally many rows.
// `labels` NULL: each row has its own, as in a folder without labels.txt.
// `split`: "train", "val" or "test" for each row; NULL: drawn by `split_seed`.
HEFT_C_API heft_status heft_dataset_from_rows(const heft_rows* modalities, size_t count,
                                              const char* const* labels, const char* const* split,
                                              uint64_t split_seed, heft_dataset** dataset,
                                              heft_error** error);
// TrainingData::LoadUnlabelled, or with flag "labelled" Load: a folder without labels.txt is only
// for heft_learn's "method" "pca" and "none". Options: "labelled", "split_seed" (integer).
HEFT_C_API heft_status heft_dataset_load(const char* folder, const heft_options* options,
                                         heft_dataset** dataset, heft_error** error);
// TrainingData::Synthesise: synthetic people. Flag "papers_size" begins with PaperSize. Each of the
// last two lines chooses the factor model.
//
//    integers  "identities", "samples" (of each identity), "seed"
//    added     "dimensions", "all_pairs_of" (whole numbers, one for each modality)
//    integers  "rank_identity", "rank_within"
//    added     "jitter", "within", "noise" (numbers)
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

// heft_dataset_vectors: the same of all rows of a modality: `size` numbers, rows x dimension.
HEFT_C_API heft_status heft_dataset_vectors(const heft_dataset* dataset, size_t modality,
                                            float* values, size_t size, heft_error** error);
// heft_vectors_read: ReadVectors: `values` are rows x dimension numbers of type float.
// heft_labels_read: ReadLabels: an array of texts.
HEFT_C_API heft_status heft_vectors_read(const char* path, heft_buffer** values, size_t* rows,
                                         size_t* dimension, heft_error** error);
HEFT_C_API heft_status heft_labels_read(const char* path, heft_result** result, heft_error** error);

// heft_learn: Learn. Options are members of LearnOptions; "weight_of_pairs" is lambda. With flag
// "with_curve", `curve` is an array of records LearnEpoch, otherwise null; NULL: not wanted.
//
//    integers  "gamma", "degree", "epochs", "patience", "seed"
//    numbers   "weight_of_pairs", "margin", "learning_rate", "weight_decay", "shrinkage",
//              "drop_modality"
//    text      "method", "recipe", "fit", "profile", "checkpoint"
//    flags     "grid_search", "against_wolves", "with_exact", "with_curve"
//    added     "modality_weights" (numbers, one for each modality)
HEFT_C_API heft_status heft_learn(const heft_dataset* dataset, const heft_options* options,
                                  heft_monitor monitor, void* user, heft_model** model,
                                  heft_result** curve, heft_error** error);
// heft_model_describe_training: split_seed (SplitSeed), warnings (of DescribeTraining and
// DescribeCalibration, an array of texts).
HEFT_C_API heft_status heft_model_describe_training(const heft_model* model, heft_result** result,
                                                    heft_error** error);

// heft_models: one model for each fold of cross-validation.
typedef struct heft_models heft_models;
// heft_learn_folds: LearnFolds, with heft_learn's options except "checkpoint" and "with_curve".
HEFT_C_API heft_status heft_learn_folds(const heft_dataset* dataset, int folds, uint64_t fold_seed,
                                        const heft_options* options, heft_monitor monitor,
                                        void* user, heft_models** models, heft_error** error);
// heft_load_folds: LoadFolds: the models of a folder, each from the file of heft_fold_file.
HEFT_C_API heft_status heft_load_folds(const char* folder, const heft_dataset* dataset, int folds,
                                       uint64_t fold_seed, heft_models** models,
                                       heft_error** error);
// FoldFile: the path of a fold's model, from 0.
HEFT_C_API heft_status heft_fold_file(const char* folder, int fold, heft_buffer** path,
                                      heft_error** error);
// The model of a fold, from 0, as an object of its own.
HEFT_C_API heft_status heft_models_get(const heft_models* models, size_t index, heft_model** model,
                                       heft_error** error);
HEFT_C_API void heft_models_free(heft_models* models);
HEFT_C_FREE_AT(models)

// heft_calibrate: Calibrate: `calibrated` is `model` with decision tables fitted to the people of
// `dataset`, who must not have trained it. Options: "seed" (integer), "against_wolves" (flag). The
// member "training" of heft_model_describe summarises the calibration.
HEFT_C_API heft_status heft_calibrate(const heft_model* model, const heft_dataset* dataset,
                                      const heft_options* options, heft_monitor monitor, void* user,
                                      heft_model** calibrated, heft_error** error);

#ifdef __cplusplus
}
#endif

#endif  // HEFT_C_MODEL_H_
