# SPDX-License-Identifier: Apache-2.0
"""Scores, studies, and the mathematics of models and decisions."""
import json
import math

import heft_ctypes as h
from world import PEOPLE, SAMPLES, Case, ask, heft, rows, text, world


def table(count=6):
    """Comparisons of three people: each third is genuine."""
    pairs = (h.ScorePair * count)()
    for i in range(count):
        pairs[i].enrolled, pairs[i].probe = i % 3, 0
        pairs[i].genuine = i % 3 == 0
        pairs[i].score = 0.9 - 0.1 * (i % 3)
    return heft.call("heft_scores_make", pairs, count, ["ann", "bob", "cy"], 3, None, 0, None, 0, 0)


class Measuring(Case):
    def test_scores(self):
        scores = table()
        said = ask("heft_scores_describe", scores)
        self.assertEqual((said["comparisons"], said["failures"], said["named"], said["with_plain"]),
                         (6, 0, True, False))
        self.assertEqual((said["subjects"], said["labels"], said["splits"]), (["ann", "bob", "cy"], [""], [""]))
        pairs, count = heft.call("heft_scores_pairs", scores)
        self.assertEqual([pairs[i].enrolled for i in range(count)], [0, 1, 2] * 2)
        self.assertTrue(math.isnan(pairs[0].plain))
        written = bytes(heft.call("heft_scores_format", scores, "csv")).decode()
        with open("scores.csv", "w") as file:
            file.write(written)
        for again in (heft.call("heft_scores_parse", written, None, 0),
                      heft.call("heft_scores_read", "scores.csv", None, 0),
                      heft.call("heft_scores_select", scores, "")):
            self.assertEqual(bytes(heft.call("heft_scores_format", again, "csv")).decode(), written)
        self.assertEqual(bytes(heft.call("heft_scores_format", scores, "impostor")).decode().count("\n"), 4)
        lists = heft.call("heft_scores_parse", "3\n", "2\n0\n1\n", 1)
        self.assertEqual(ask("heft_scores_describe", lists)["comparisons"], 4)
        self.refused("INVALID_ARGUMENT", "form must be", "heft_scores_format", scores, "xml")
        self.refused("NOT_FOUND", ".", "heft_scores_select", scores, "dev")
        self.refused("INVALID_ARGUMENT", "beyond the names", "heft_scores_make",
                     (h.ScorePair * 1)(h.ScorePair(1, 0)), 1, ["ann"], 1, None, 0, None, 0, 0)
        self.refused("INVALID_ARGUMENT", "at least one", "heft_scores_make", (h.ScorePair * 1)(), 0, None, 0,
                     None, 0, None, 0, 0)

    def test_measures(self):
        scores, told = table(30), []
        monitor = h.MONITOR(lambda user, what, done, total, note: told.append(what) or 0)
        systems = (h.c.c_void_p * 2)(scores.pointer, scores.pointer)
        report = ask("heft_scores_measure", systems, ["one", "two"], 2,
                     heft.options(replicates=10, fmrs=[0.1], seed=2, curve=True), monitor, None)
        self.assertIn("two", report["text"])
        self.assertEqual(report["results"]["systems"][0]["auroc"]["value"], 1)
        self.assertEqual((report["page"], report["pictures"]), ("", {}))

    def test_a_study(self):
        models = (h.c.c_void_p * 1)(world.model.pointer)
        result, scores = heft.call("heft_evaluate", "evaluation", world.data, models, None, 1, None, None,
                                   heft.options(split="test", replicates=10, scores=True), None, None)
        said = ask("heft_scores_describe", scores)
        rows = len(said["subjects"]) * SAMPLES
        self.assertEqual((said["comparisons"], said["with_plain"]), (rows * (rows - 1) // 2, True))
        self.assertIn("systems", text(result)["results"])
        for study, models, count, why in (("x", models, 1, "give evaluation, folds"),
                                          ("evaluation", models, 0, "one model"),
                                          ("gallery", models, 1, "distractors is NULL")):
            self.refused("INVALID_ARGUMENT", why, "heft_evaluate", study, world.data, models, None, count,
                         None, None, None, None, None)

    def test_folds(self):
        models = heft.call("heft_learn_folds", world.data, 3, 1, heft.options(gamma=8, epochs=1), None, None)
        made = [heft.call("heft_models_get", models, fold) for fold in range(3)]
        self.refused("INVALID_ARGUMENT", "there are 3", "heft_models_get", models, 3)
        for fold, model in enumerate(made):
            path = bytes(heft.call("heft_fold_file", ".", fold)).decode()
            heft.call("heft_file_write", path, heft.call("heft_model_serialize", model))
        again = heft.call("heft_load_folds", ".", world.data, 3, 1)
        self.assertEqual(ask("heft_model_describe", heft.call("heft_models_get", again, 2))["model_id"],
                         ask("heft_model_describe", made[2])["model_id"])
        self.refused("FAILED_PRECONDITION", "fold seed", "heft_load_folds", ".", world.data, 3, 2)
        array = (h.c.c_void_p * 3)(*[model.pointer for model in made])
        result, _ = heft.call("heft_evaluate", "folds", world.data, array, ["a"] * 3, 3, None, None,
                              heft.options(folds=3, encrypted=False, replicates=10), None, None)
        self.assertIn("systems", text(result)["results"])

    def test_drawing(self):
        curve = heft.options(epochs=[0.0, 1.0], train_auroc=[0.8, 0.9], val_auroc=[0.7, 0.8], best_epoch=1)
        try:
            heft.call("heft_check_drawing")
        except h.HeftError as error:
            self.assertEqual(error.status, "UNAVAILABLE")
            self.refused("UNAVAILABLE", ".", "heft_draw_learning_curve", curve)
            return
        self.assertIn(b"<svg", bytes(heft.call("heft_draw_learning_curve", curve)))
        self.refused("INVALID_ARGUMENT", "for each epoch", "heft_draw_learning_curve", heft.options(epochs=[0.0]))


class Mathematics(Case):
    def test_a_model_in_numbers(self):
        values, rows, columns = heft.call("heft_model_projection", world.model, 0)
        self.assertEqual((rows, columns), (16, 40))
        self.assertTrue(any(values[i] for i in range(rows * columns)))
        self.assertEqual(heft.call("heft_model_projection", world.model, 1)[1:], (0, 0))
        self.assertEqual(ask("heft_model_names_of", world.model, 2), ["voice"])
        tables = ask("heft_model_tables", world.model)
        self.assertEqual(tables[0], ask("heft_model_table", world.model, heft.options(modalities=["voice", "face"])))
        said = ask("heft_model_describe_training", world.model)
        self.assertEqual(said["split_seed"], 3)
        self.assertIsInstance(said["warnings"], list)
        numbers = (h.c.c_float * (PEOPLE * SAMPLES * 16))()
        heft.call("heft_dataset_vectors", world.data, 1, numbers, len(numbers))
        self.assertEqual(numbers[7 * 16], h.c.c_float(world.vectors["voice"][7][0]).value)
        for modality, size in ((2, len(numbers)), (1, 3)):
            self.refused("INVALID_ARGUMENT", ".", "heft_dataset_vectors", world.data, modality, numbers, size)

    def test_fusion_without_encryption(self):
        both = [rows(name, world.vectors[name][:3]) for name in ("face", "voice")]
        fused = (h.c.c_float * (3 * 16))()
        self.assertEqual(heft.call("heft_model_fuse", world.model, both, 2, fused, len(fused)), 0)
        for row in range(3):
            self.assertAlmostEqual(sum(x * x for x in fused[16 * row:16 * row + 16]), 1, delta=0.3)
        alone = (h.c.c_float * 16)()
        heft.call("heft_model_fuse", world.model, [rows("face", world.vectors["face"][:1])], 1, alone, 16)
        self.assertNotEqual(list(alone), fused[:16])
        self.refused("INVALID_ARGUMENT", "the templates have 48", "heft_model_fuse", world.model, both, 2, fused, 16)
        self.refused("INVALID_ARGUMENT", "no modality", "heft_model_fuse", world.model, [], 0, fused, 48)

    def test_polynomials(self):
        fitted = ask("heft_approximation_fit", 2, 0.4, 2.2, "minimax")
        self.assertEqual((fitted["degree"], fitted["interval"]), (2, [0.4, 2.2]))
        (stage,) = fitted["stages"]
        value, slope = heft.call("heft_approximation_at", json.dumps(fitted["stages"]), 1.0)
        self.assertAlmostEqual(value, 1, delta=fitted["max_relative_error"])
        self.assertAlmostEqual(value, sum(stage["plain"]))
        self.assertLess(slope, 0)
        twice, _ = heft.call("heft_approximation_at", json.dumps(2 * fitted["stages"]), 1.0)
        self.assertAlmostEqual(twice, heft.call("heft_approximation_at", json.dumps([stage]), value)[0])
        for wrong in ("{", "{}", "[1]", '[{"coefficients": ["x"]}]', '[{"coefficients": [1]}]'):
            self.refused("INVALID_ARGUMENT", "stages", "heft_approximation_at", wrong, 1.0)
        self.refused("INVALID_ARGUMENT", ".", "heft_approximation_fit", 32, 0.4, 2.2, "minimax")

    def test_decisions(self):
        def number(what, **record):
            return heft.call("heft_decision_number", what, heft.options(**record))

        self.assertEqual(number("supported", fmr=0.01, impostor_pairs=2999), 0)
        self.assertEqual(number("supported", fmr=0.01, impostor_pairs=3000), 1)
        self.assertEqual(number("log_likelihood_ratio", slope=2.0, intercept=-1.0, score=0.5), 0)
        tail = {"start": 0.3, "rate": 0.01, "scale": 0.05, "shape": 0.0, "evenness": 2.0}
        self.assertAlmostEqual(number("rate_at", threshold=0.3, **tail), 0.01)
        at = number("threshold_for", fpir=0.01, people=1000, **tail)
        self.assertAlmostEqual(number("fpir", threshold=at, people=1000, **tail), 0.01, places=6)
        for what, record, why in (("x", {}, "give supported"), ("fpir", tail, "threshold.* is missing"),
                                  ("supported", {"fmr": 0.1, "impostor_pairs": -1.0}, "number of comparisons")):
            self.refused("INVALID_ARGUMENT", why, "heft_decision_number", what, heft.options(**record))
