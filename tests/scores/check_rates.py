#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds heft evaluate against NumPy's own computation of AUROC, EER and DET, form by form.

    check_rates.py HEFT

Scores are made up, with ties, and written in every form that heft evaluate reads; those that it writes are
read again. Nothing of HEFT's code computes what is expected here.
"""
import csv
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np


def rates(genuine, impostor, thresholds):
    """FMR and FNMR of accepting what reaches a threshold, counted one threshold at a time."""
    fmr = np.array([(impostor >= t).mean() for t in thresholds])
    fnmr = np.array([(genuine < t).mean() for t in thresholds])
    return fmr, fnmr


def auroc(genuine, impostor):
    """The share of all pairs of a genuine and an impostor score that are in order, ties half."""
    order = np.sign(genuine[:, None] - impostor[None, :])
    return (order.mean() + 1) / 2


def eer(genuine, impostor):
    """Where FMR = FNMR, on the line between the two points of the ROC around it."""
    thresholds = np.unique(np.concatenate([genuine, impostor]))[::-1]
    fmr, fnmr = rates(genuine, impostor, thresholds)
    fmr, fnmr = np.concatenate([[0], fmr]), np.concatenate([[1], fnmr])
    at = int(np.argmax(fmr >= fnmr))
    gap0, gap1 = fmr[at - 1] - fnmr[at - 1], fmr[at] - fnmr[at]
    return fmr[at - 1] + (fmr[at] - fmr[at - 1]) * -gap0 / (gap1 - gap0)


def value(number):
    return number["value"] if isinstance(number, dict) else number


class Checker:
    def __init__(self, heft, folder):
        self.heft, self.folder, self.checked = heft, folder, 0

    def run(self, *arguments):
        done = subprocess.run([self.heft, "evaluate", *map(str, arguments), "--json", "--all-points",
                               "--quiet", "--replicates", "20"],
                              capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def equal(self, what, seen, expected, tolerance=1e-12):
        assert np.allclose(seen, expected, rtol=0, atol=tolerance), (what, seen, expected)
        self.checked += 1

    def system(self, system, genuine, impostor):
        """One system of a result against the scores that were in the file."""
        assert system["genuine_comparisons"] == len(genuine)
        assert system["impostor_comparisons"] == len(impostor)
        self.equal("AUROC", value(system["auroc"]), auroc(genuine, impostor))
        self.equal("EER", value(system["eer"]), eer(genuine, impostor))
        curve = np.array(system["curve"])
        thresholds = np.unique(np.concatenate([genuine, impostor]))[::-1]
        self.equal("thresholds", curve[:, 0], thresholds, 0)
        fmr, fnmr = rates(genuine, impostor, thresholds)
        self.equal("FMR", curve[:, 1], fmr)
        self.equal("FNMR", curve[:, 2], fnmr)
        for point in system["points"]:
            kept = fmr <= point["asked"]
            assert point["reached"] == bool(kept.any()), point
            if not kept.any():
                continue
            at = np.flatnonzero(kept)[-1]  # thresholds fall
            self.equal("threshold", point["threshold"], thresholds[at], 0)
            self.equal("FMR there", value(point["fmr"]), fmr[at])
            self.equal("FNMR there", value(point["fnmr"]), fnmr[at])
            if isinstance(point["fmr"], dict):
                for rate in (point["fmr"], point["fnmr"]):
                    assert rate["lo"] <= rate["value"] <= rate["hi"], point


def make_pairs(random, people=40, samples=3):
    """All comparisons of people's samples: names, kinds, plain and encrypted scores."""
    rows = []
    who = [(f"p{k}", s) for k in range(people) for s in range(samples)]
    for i, (probe, probe_row) in enumerate(who):
        for enrolled, enrolled_row in who[i + 1:]:
            same = probe == enrolled
            plain = round(float(random.normal(0.6 if same else 0.0, 0.25)), 2)  # so there are ties
            encrypted = plain + float(random.normal(0, 1e-4))
            rows.append((enrolled, enrolled_row, probe, probe_row, same, plain, encrypted))
    return rows


def by_kind(rows, column):
    scores = np.array([row[column] for row in rows])
    same = np.array([row[4] for row in rows])
    return scores[same], scores[~same]


def write_csv(path, rows):
    with open(path, "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["probe_subject_id", "probe_template_id", "bio_ref_subject_id",
                         "bio_ref_template_id", "score", "plain", "age"])
        for enrolled, enrolled_row, probe, probe_row, _, plain, encrypted in rows:
            writer.writerow([probe, probe_row, enrolled, enrolled_row, repr(encrypted), plain, 7])


def check_forms(check, rows):
    folder = check.folder
    write_csv(folder / "s.csv", rows)
    result = check.run(folder / "s.csv", "--fmr", "0.2", "0.01", "1e-6")
    check.system(result["systems"][0], *by_kind(rows, 6))
    check.system(result["systems"][1], *by_kind(rows, 5))
    change = result["encrypted_minus_plain"][0]
    differences = np.array([row[6] - row[5] for row in rows])
    check.equal("largest", change["max_score"], np.abs(differences).max())
    check.equal("rms", change["rms_score"], np.sqrt((differences ** 2).mean()))
    check.equal("change", value(change["auroc"]),
                auroc(*by_kind(rows, 6)) - auroc(*by_kind(rows, 5)))
    for form, columns in (("bob4", 4), ("bob5", 5)):
        check.run(folder / "s.csv", "--scores", f"{form}={folder / form}")
        lines = [line.split() for line in open(folder / form)]
        assert all(len(line) == columns for line in lines) and len(lines) == len(rows)
        same = np.array([line[0] == line[columns - 3] for line in lines])
        scores = np.array([float(line[-1]) for line in lines])
        check.equal(form, scores, np.array([row[6] for row in rows]), 0)
        check.system(check.run(folder / form)["systems"][0], scores[same], scores[~same])
    check.run(folder / "s.csv", "--scores", f"pyeer={folder / 'lists'}")
    lists = folder / "lists-genuine.txt", folder / "lists-impostor.txt"
    genuine, impostor = (np.loadtxt(path) for path in lists)
    check.equal("lists", np.sort(impostor), np.sort(by_kind(rows, 6)[1]), 0)
    check.system(check.run(f"genuine={lists[0]}", f"impostor={lists[1]}")["systems"][0],
                 genuine, impostor)


def check_histogram(check, random):
    genuine = random.integers(3, 12, 50).astype(float)
    counts = random.integers(0, 30, 8)
    np.savetxt(check.folder / "g.txt", genuine)
    np.savetxt(check.folder / "i.txt", counts, fmt="%d")
    result = check.run(f"genuine={check.folder / 'g.txt'}",
                       f"impostor-counts={check.folder / 'i.txt'}")
    check.system(result["systems"][0], genuine, np.repeat(np.arange(8.0), counts))


def main():
    random = np.random.default_rng(7)
    with tempfile.TemporaryDirectory() as folder:
        check = Checker(sys.argv[1], pathlib.Path(folder))
        check_forms(check, make_pairs(random))
        # Kinds apart, and kinds that are one: the ends of every rate.
        np.savetxt(check.folder / "high", [3, 4, 5, 5])
        np.savetxt(check.folder / "low", [1, 2, 2])
        for genuine, impostor in (("high", "low"), ("low", "high"), ("low", "low")):
            result = check.run(f"genuine={check.folder / genuine}",
                               f"impostor={check.folder / impostor}")
            check.system(result["systems"][0], np.loadtxt(check.folder / genuine),
                         np.loadtxt(check.folder / impostor))
        check_histogram(check, random)
    print(f"{check.checked} quantities agree with NumPy's")


if __name__ == "__main__":
    main()
