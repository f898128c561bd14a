# SPDX-License-Identifier: Apache-2.0
"""One of each role, for the tests of the C interface; in the present folder."""
import json
import random
import sys
import unittest

import heft_ctypes as h

HEFT_TOOL, SERVER_TOOL = sys.argv[1:3]
heft = h.Library()
PEOPLE, SAMPLES, DIMENSIONS = 24, 5, {"face": 24, "voice": 16}


def floats(values):
    return (h.c.c_float * len(values))(*values)


def rows(modality, vectors):
    flat = [x for vector in vectors for x in vector]
    return h.Rows(modality.encode(), floats(flat), len(vectors), DIMENSIONS[modality])


def text(result):
    return json.loads(heft.call("heft_result_json", result))


def ask(name, *inputs):
    """A call whose one output is a result, as Python's values."""
    return text(heft.call(name, *inputs))


def people():
    """Vectors by modality: SAMPLES of each person, one after the other."""
    chance = random.Random(7)
    vectors = {}
    for modality, dimension in DIMENSIONS.items():
        centres = [[chance.gauss(0, 1) for _ in range(dimension)] for _ in range(PEOPLE)]
        vectors[modality] = [[x + chance.gauss(0, 0.3) for x in centres[i // SAMPLES]]
                             for i in range(PEOPLE * SAMPLES)]
    return vectors


class World:
    """One of each role. The folder is the present one."""

    def __init__(self):
        self.vectors = people()
        self.labels = [f"person {i // SAMPLES}" for i in range(PEOPLE * SAMPLES)]
        self.data = heft.call("heft_dataset_from_rows", self.all_rows(), len(DIMENSIONS),
                              self.labels, None, 1)
        options = heft.options(gamma=16, epochs=4, seed=3)
        self.steps = []
        self.monitor = h.MONITOR(lambda user, what, done, total, note: self.steps.append(what) or 0)
        self.model, _ = heft.call("heft_learn", self.data, options, self.monitor, None)
        heft.call("heft_file_write", "model.heft", heft.call("heft_model_serialize", self.model))
        self.keys = ask("heft_key_set_make", self.model, "keys", b"secret words", None, None)
        self.owner = self.load_owner()
        self.client = heft.call("heft_client_create", self.model, self.file("encryption_key"), "key")
        self.matcher = heft.call("heft_matcher_open", self.model, self.keys["evaluation_keys"],
                                 self.keys["enrolment_keys"])
        self.trust = heft.call("heft_trust_load", self.keys["trust"])

    def all_rows(self):
        return [rows(m, v) for m, v in self.vectors.items()]

    def load_owner(self, folder="keys"):
        return heft.call("heft_key_owner_load", self.model, f"{folder}/secret.key", b"secret words")

    def file(self, which):
        return heft.call("heft_file_read", self.keys[which], "keys")

    def encrypt(self, which, use="enrolment", labelled=True, signing=None, **more):
        """Samples `which` of all modalities as files of a request; `signing`: a key, and options."""
        files = heft.call("heft_files_new")
        for m, vectors in self.vectors.items():
            labels = [self.labels[i] for i in which] if labelled else None
            file = heft.call("heft_client_encrypt", self.client, [rows(m, [vectors[i] for i in which])],
                             labels, heft.options(use=use, **more))
            if signing:
                file = heft.call("heft_signing_key_sign", signing[0], file,
                                 heft.options(life=600, **signing[1]))
            heft.call("heft_files_add", files, file, m)
        return files

    def enrol(self, gallery, which, **options):
        return ask("heft_matcher_enrol", self.matcher, gallery, self.encrypt(which),
                   heft.options(**options), None, None, None)

    def pending(self, gallery):
        return heft.call("heft_matcher_pending", self.matcher, self.open(gallery), None)

    def activate(self, gallery, **policy):
        admission, result = heft.call("heft_key_owner_approve", self.owner, self.pending(gallery), "request",
                                      heft.options(**policy))
        done = ask("heft_matcher_activate", self.matcher, gallery, admission, self.trust, None, None)
        return done, text(result)

    def open(self, gallery):
        return heft.call("heft_gallery_open", gallery)

    def gallery(self, name, count=6):
        """A gallery with the first sample of `count` people."""
        self.enrol(name, range(0, count * SAMPLES, SAMPLES))
        self.activate(name)
        return name

    def identify(self, gallery, row, **options):
        return heft.call("heft_matcher_identify", self.matcher, self.open(gallery),
                         self.encrypt([row], "identification", labelled=False),
                         heft.options(**options), None, None, None)

    def scores(self, reply, **options):
        return ask("heft_key_owner_open", self.owner, reply, "reply", heft.options(**options))


class Galleries:
    """Those that tests read; tests that change one make their own."""

    def __init__(self):
        self.big = world.gallery("big", 8)
        world.enrol("big", range(8 * SAMPLES, 10 * SAMPLES, SAMPLES), metadata=["site=berlin"])
        world.activate("big")


def one_of_each():
    """An object of each type."""
    files = heft.call("heft_files_new")
    made = {"model": world.model, "client": world.client, "matcher": world.matcher,
            "key_owner": world.owner, "trust": world.trust, "dataset": world.data, "files": files,
            "gallery": world.open(galleries.big), "options": heft.options(),
            "buffer": heft.call("heft_model_serialize", world.model),
            "result": heft.call("heft_model_describe", world.model),
            "signing_key": heft.call("heft_signing_key_generate")}
    made["models"] = heft.call("heft_learn_folds", world.data, 3, 1, heft.options(gamma=8, epochs=1), None,
                               None)
    made["scores"] = heft.call("heft_scores_parse", "0.5\n", "0.25\n", 0)
    made["expanded_keys"] = heft.call("heft_expanded_keys_make", world.model,
                                      world.keys["enrolment_keys"], "one.expanded")
    heft.call("heft_workspace_create", "one of each", world.model, None, None, None)
    made["workspace"] = heft.call("heft_workspace_open", "one of each", None)
    made["shards"] = heft.call("heft_shards_make", "crowd", ["01" * 16, "02" * 16], 2)
    return made


class Case(unittest.TestCase):
    def refused(self, status, pattern, name, *inputs):
        with self.assertRaises(h.HeftError) as caught:
            heft.call(name, *inputs)
        self.assertEqual(caught.exception.status, status, caught.exception)
        self.assertRegex(caught.exception.message, pattern)


# A test that changes a gallery while it reads it waits as long.
heft.call("heft_set_writer_wait", 2)
world = World()
galleries = Galleries()
heft.call("heft_key_owner_set_budget", world.owner,
          heft.options(scores=1000, decisions=1000, client_bits=1 << 30,
                       rejections=1000))
objects = one_of_each()
