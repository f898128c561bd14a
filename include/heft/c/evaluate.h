// SPDX-License-Identifier: Apache-2.0
// Measuring (heft/evaluate.h): scores of comparisons, models on people, times. For the owner of the
// data, never for a server: it sees the scores of all pairs. In heft_c, not in heft_c_server.
#ifndef HEFT_C_EVALUATE_H_
#define HEFT_C_EVALUATE_H_

#include "heft/c/model.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- Scores of comparisons.

// heft_score_pair: ScorePair: one comparison of a probe with a template. Names are indices into
// lists of names.
typedef struct heft_score_pair {
  uint32_t enrolled, probe;              // of the subjects
  uint32_t enrolled_label, probe_label;  // of the labels
  uint32_t split;                        // of the splits
  uint8_t genuine;                       // 0: an impostor's
  double score;                          // NaN for a failed comparison
  double plain;                          // the same score without encryption
} heft_score_pair;

// heft_scores: ScoreTable: comparisons and the names in them.
typedef struct heft_scores heft_scores;
// heft_scores_make: a table of `count` comparisons. Each subject, label and split is given once.
// Without subjects, scores are only genuine or impostor. Without labels or splits, all have one
// that is empty. `with_plain` not 0: the comparisons have plain scores. HEFT_INVALID_ARGUMENT also
// for a name that would read as another one in a file.
HEFT_C_API heft_status heft_scores_make(const heft_score_pair* pairs, size_t count,
                                        const char* const* subjects, size_t subject_count,
                                        const char* const* labels, size_t label_count,
                                        const char* const* splits, size_t split_count,
                                        int with_plain, heft_scores** scores, heft_error** error);
// ReadScores; with `impostor`, the path of the impostors' scores, ReadScoreLists.
HEFT_C_API heft_status heft_scores_read(const char* path, const char* impostor, int histogram,
                                        heft_scores** scores, heft_error** error);
// The same of texts: ParseScores, ParseScoreLists.
HEFT_C_API heft_status heft_scores_parse(const char* text, const char* impostor, int histogram,
                                         heft_scores** scores, heft_error** error);
HEFT_C_API void heft_scores_free(heft_scores* scores);
HEFT_C_FREE_AT(scores)
// comparisons, failures, named, with_plain, subjects [text], labels [text], splits [text].
HEFT_C_API heft_status heft_scores_describe(const heft_scores* scores, heft_result** result,
                                            heft_error** error);
// heft_scores_pairs: a view of all comparisons, valid until the table is freed.
HEFT_C_API heft_status heft_scores_pairs(const heft_scores* scores, const heft_score_pair** pairs,
                                         size_t* count, heft_error** error);
// heft_scores_select: SelectSplit.
HEFT_C_API heft_status heft_scores_select(const heft_scores* scores, const char* split,
                                          heft_scores** selected, heft_error** error);
// heft_scores_format: the text of a file. `form`: "csv", "bob4", "bob5" (FormatScores), "genuine"
// or "impostor" (FormatScoreLists).
HEFT_C_API heft_status heft_scores_format(const heft_scores* scores, const char* form,
                                          heft_buffer** text, heft_error** error);

// ---- Reports: results (all numbers), text, page, pictures {file name: SVG}, warnings [text].

// heft_scores_measure: MeasureScores of `count` systems and their names. Options are members of
// ScoreOptions: "fmrs" (numbers, added), "replicates", "seed" (integers), "curve", "page",
// "pictures" (flags), "command" (text).
HEFT_C_API heft_status heft_scores_measure(const heft_scores* const* systems,
                                           const char* const* names, size_t count,
                                           const heft_options* options, heft_monitor monitor,
                                           void* user, heft_result** result, heft_error** error);

// heft_evaluate: measures models on the people of `dataset`. Models with equal
// `names` are a set; `names` NULL: one set without a name. Options are members of the study's
// options in heft/evaluate.h.
//
//    study         models           call                 options
//    "evaluation"  one              Evaluate             EvaluationOptions
//    "folds"       sets, by fold    EvaluateFolds        FoldOptions
//    "choices"     none             CompareChoices       FoldOptions
//    "samples"     one per fold     EvaluateSamples      SampleStudyOptions
//    "protection"  one              EvaluateProtection   ProtectionOptions
//    "searches"    one or all       EvaluateSearches     SearchStudyOptions
//    "gallery"     one              EvaluateGallery      GalleryOptions
//    "protocol"    one              EvaluateProtocol     ProtocolOptions, "folder", "names" (texts)
//
// `distractors` are for "gallery", and so are `strangers`, which may be NULL. `scores` has no
// comparisons unless option "scores" asks for them.
HEFT_C_API heft_status heft_evaluate(const char* study, const heft_dataset* dataset,
                                     const heft_model* const* models, const char* const* names,
                                     size_t count, const heft_dataset* distractors,
                                     const heft_dataset* strangers,
                                     const heft_options* study_options, heft_monitor monitor,
                                     void* user, heft_result** result, heft_scores** scores,
                                     heft_error** error);

// heft_draw_learning_curve: DrawLearningCurve of the epochs of heft_learn's `curve`. Options:
// "epochs", "train_auroc", "val_auroc" (numbers, one added for each epoch), "best_epoch" (integer).
HEFT_C_API heft_status heft_draw_learning_curve(const heft_options* options, heft_buffer** picture,
                                                heft_error** error);
HEFT_C_API heft_status heft_check_drawing(heft_error** error);

// ---- Times.

// RunBenchmark: times of all operations on this machine: machine, profile, operations, dimensions.
// RunSweep: how they grow: result, and pictures, the text of an SVG by its file name. Both take
// minutes. Options are members of BenchmarkOptions:
//
//    integers  "iterations", "templates", "degree", "large_templates", "batch"
//    text      "profile"
//    flags     "skip_large"
//    added     "dimensions", "gammas" (numbers)
HEFT_C_API heft_status heft_run_benchmark(const heft_options* options, heft_monitor monitor,
                                          void* user, heft_result** result, heft_error** error);
HEFT_C_API heft_status heft_run_sweep(const heft_options* options, heft_monitor monitor, void* user,
                                      heft_result** result, heft_error** error);

#ifdef __cplusplus
}
#endif

#endif  // HEFT_C_EVALUATE_H_
