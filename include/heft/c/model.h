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
// Model::ThresholdFor and ThresholdForSearch: threshold, rate, interval [lo, hi], warning (empty:
// reliable). For `people` in the gallery, with at most `templates` each. Option "modalities": names
// of the probe's modalities; default: all of the model.
HEFT_C_API heft_status heft_model_threshold(const heft_model* model, double fmr,
                                            const heft_options* options, heft_result** result,
                                            heft_error** error);
HEFT_C_API heft_status heft_model_search_threshold(const heft_model* model, double fpir,
                                                   uint64_t people, uint32_t templates,
                                                   const heft_options* options,
                                                   heft_result** result, heft_error** error);

// InspectFile, for any HEFT file: kind, name, version, bytes; params_id and key_id except for
// models.
HEFT_C_API heft_status heft_inspect(heft_bytes bytes, const char* what, heft_result** result,
                                    heft_error** error);

#ifdef __cplusplus
}
#endif

#endif  // HEFT_C_MODEL_H_
