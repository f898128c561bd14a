# SPDX-License-Identifier: Apache-2.0
"""A shared key: two of three owners approve and decide, no owner does so alone, and new shares."""
import shutil

import heft_ctypes as h
from world import DIMENSIONS, SAMPLES, Case, ask, heft, rows, text, world


def passphrases(*words):
    return (h.Bytes * len(words))(*[h.bytes_of(word, keep) if word else h.Bytes(None, 0) for word in words])


keep = []  # what C reads during the tests


class Shared(Case):
    @classmethod
    def setUpClass(cls):
        options = heft.options(gamma=16, epochs=4, seed=3, profile="flooded")
        cls.model, _ = heft.call("heft_learn", world.data, options, None, None)
        cls.set = ask("heft_shared_key_set_make", cls.model, "shared", 3, 2,
                      passphrases(None, b"of owner 2", None), 3, None, None)
        cls.owners = [cls.load(path, word) for path, word
                      in zip(cls.set["shares"], (None, b"of owner 2", None))]
        key = heft.call("heft_file_read", cls.set["keys"]["encryption_key"], "keys")
        cls.client = heft.call("heft_client_create", cls.model, key, "key")
        cls.matcher = heft.call("heft_matcher_open", cls.model, cls.set["keys"]["evaluation_keys"],
                                cls.set["keys"]["enrolment_keys"])
        cls.trust = heft.call("heft_trust_load", cls.set["keys"]["trust"])
        for person in range(3):
            cls.enrol("secret", person)
        cls.approve("secret")

    @classmethod
    def load(cls, path, word=None):
        return heft.call("heft_key_owner_load", cls.model, path, word)

    @classmethod
    def encrypt(cls, row, use):
        labels = [world.labels[row]] if use == "enrolment" else None
        return cls.files(*[heft.call("heft_client_encrypt", cls.client,
                                     [rows(m, world.vectors[m][row:row + 1])], labels, heft.options(use=use))
                           for m in DIMENSIONS], names=list(DIMENSIONS))

    @staticmethod
    def files(*given, names=None):
        files = heft.call("heft_files_new")
        for i, file in enumerate(given):
            heft.call("heft_files_add", files, file, names[i] if names else f"file {i}")
        return files

    @classmethod
    def enrol(cls, gallery, person):
        ask("heft_matcher_enrol", cls.matcher, gallery, cls.encrypt(person * SAMPLES, "enrolment"), None, None,
            None, None)

    @classmethod
    def approve(cls, gallery):
        one, _, three = cls.owners
        request = heft.call("heft_matcher_pending", cls.matcher, heft.call("heft_gallery_open", gallery), None)
        part = heft.call("heft_key_owner_approve_part", three, request, "request", heft.options(owners=[1.0, 3.0]))
        admission, result = heft.call("heft_key_owner_approve_parts", one, request, "request", cls.files(part), None)
        ask("heft_matcher_activate", cls.matcher, gallery, admission, cls.trust, None, None)
        return text(result)

    def search(self, row, gallery="secret"):
        return self.files(heft.call("heft_matcher_identify", self.matcher, heft.call("heft_gallery_open", gallery),
                                    self.encrypt(row, "identification"), None, None, None, None))

    def decide(self, owner, replies, part, score=0.6):
        return ask("heft_key_owner_decide_replies", owner, replies, None, part and self.files(part),
                   heft.options(score=score))

    def test_ceremony(self):
        self.assertEqual((self.set["threshold"], len(self.set["shares"])), (2, 3))
        checks = [ask("heft_key_owner_check_ceremony", owner, "shared") for owner in self.owners]
        self.assertEqual({check["digest"] for check in checks}, {checks[0]["digest"]})
        self.assertEqual(ask("heft_key_owner_describe", self.owners[1])["shared"],
                         {"owner": 2, "owners": 3, "threshold": 2, "renewal": 0})
        self.assertIsNone(ask("heft_key_owner_describe", world.owner)["shared"])
        for owners, threshold in ((2, 3), (9, 2), (0, 0)):
            self.refused("INVALID_ARGUMENT", ".", "heft_shared_key_set_make", self.model, "none", owners,
                         threshold, None, 0, None, None)
        self.refused("INVALID_ARGUMENT", "1 passphrases for 3 owners", "heft_shared_key_set_make", self.model,
                     "none", 3, 2, passphrases(b"one"), 1, None, None)
        self.refused("FAILED_PRECONDITION", "flooded", "heft_shared_key_set_make", world.model, "none", 3, 2,
                     None, 0, None, None)
        self.refused("FAILED_PRECONDITION", "whole key", "heft_key_owner_check_ceremony", world.owner, "shared")

    def test_two_of_three_decide(self):
        one, two, three = self.owners
        replies = self.search(SAMPLES + 1)
        self.refused("FAILED_PRECONDITION", "2 of 3 owners", "heft_key_owner_decide_replies", one, replies,
                     None, None, heft.options(score=0.6))
        for owners in ([1.0], [2.0, 3.0], [1.0, 4.0], [1.0, 2.5], [-1.0, 1.0]):
            self.refused("INVALID_ARGUMENT", ".", "heft_key_owner_decide_part", one, replies, None,
                         heft.options(score=0.6, owners=owners))
        part = heft.call("heft_key_owner_decide_part", two, replies, None,
                         heft.options(score=0.6, owners=[2.0, 3.0]))
        self.refused("FAILED_PRECONDITION", "another question", "heft_key_owner_decide_replies", three,
                     replies, None, self.files(part), heft.options(score=0.1))
        decision = self.decide(three, replies, part)
        self.assertEqual((decision["accepted"], decision["identity"]), (True, "person 1"))

    def test_two_of_three_open(self):
        one, two, _ = self.owners
        for owner in (one, two):
            heft.call("heft_key_owner_set_budget", owner,
                      heft.options(scores=1000, client_bits=1 << 30, rejections=1000))
        replies = self.search(1)
        part = heft.call("heft_key_owner_open_part", two, replies, None,
                         heft.options(publish=2, owners=[1.0, 2.0]))
        opened = ask("heft_key_owner_open_replies", one, replies, None, self.files(part),
                     heft.options(publish=2))
        self.assertEqual(opened["candidates"][0]["identity"], "person 0")

    def test_two_of_three_renew_blocks(self):
        one, two, _ = self.owners
        heft.call("heft_gallery_create", self.matcher, "renewed", heft.options(retention_seconds=0, retention_bytes=0))
        for person in range(3):
            self.enrol("renewed", person)
        self.approve("renewed")
        heft.call("heft_matcher_fold", self.matcher, "renewed")
        self.enrol("renewed", 3)
        self.approve("renewed")
        heft.call("heft_matcher_fold", self.matcher, "renewed")
        ask("heft_gallery_remove", self.matcher, "renewed", ["person 1"], 1, None, None)
        request = heft.call("heft_gallery_ask_renewal", self.matcher, "renewed", None, None, None)
        self.refused("FAILED_PRECONDITION", "2 of 3 owners", "heft_key_owner_renew", one, request, "request")
        self.refused("INVALID_ARGUMENT", ".", "heft_key_owner_renew_part", two, request, "request", heft.options(owners=[2.0]))
        part = heft.call("heft_key_owner_renew_part", two, request, "request", heft.options(owners=[1.0, 2.0]))
        answer, result = heft.call("heft_key_owner_renew_parts", one, request, "request", self.files(part))
        self.assertGreater(text(result)["blocks"], 0)
        self.assertEqual(ask("heft_gallery_renew", self.matcher, "renewed", answer, self.trust)["leaving"], 0)
        replies = self.search(2 * SAMPLES + 1, "renewed")
        part = heft.call("heft_key_owner_decide_part", two, replies, None, heft.options(score=0.6, owners=[1.0, 2.0]))
        self.assertEqual(self.decide(one, replies, part)["identity"], "person 2")

    def joined(self, name):
        """Two owners make a key in the folders NAME-1 and NAME-2: the last steps, and the shares."""
        folders = [f"{name}-1", f"{name}-2"]
        steps = [ask("heft_key_set_join", self.model, folder, 2, None, 0, None, None, None) for folder in folders]
        while steps[0]["round"] < 6:
            messages = [step["message"] for step in steps]
            self.refused("INVALID_ARGUMENT", ".", "heft_key_set_join", self.model, folders[0], 0, messages[1:], 1,
                         None, None, None)
            steps = [ask("heft_key_set_join", self.model, folder, 0, messages, 2, None, None, None)
                     for folder in folders]
        steps.sort(key=lambda step: step["owner"])
        return steps, [self.load(step["share"]) for step in steps]

    def test_without_a_dealer_and_on_to_another_key(self):
        steps, old = self.joined("joined")
        self.assertEqual(steps[0]["keys"]["key_id"], steps[1]["keys"]["key_id"])
        checks = [ask("heft_key_owner_check_ceremony", owner, "joined-1") for owner in old]
        self.assertEqual([check["joint"] for check in checks], [True, True])
        self.assertEqual(checks[0]["digest"], checks[1]["digest"])
        dealt = ask("heft_shared_key_set_make", self.model, "dealt", 2, 2, None, 0, None, None)
        new = [self.load(path) for path in dealt["shares"]]
        both = heft.options(owners=[1.0, 2.0])
        self.refused("FAILED_PRECONDITION", ".", "heft_key_owner_give_rekeying_part", old[1], self.owners[1], both,
                     "part")
        heft.call("heft_key_owner_give_rekeying_part", old[1], new[1], both, "part")
        self.refused("FAILED_PRECONDITION", "revoked", "heft_key_owner_give_rekeying_part", old[1], new[1], both,
                     "again")
        part = self.files(heft.call("heft_file_read", "part", "reply"))
        heft.call("heft_key_owner_combine_rekeying_key", old[0], new[0], part, "rekeying.key")
        self.assertGreater(len(bytes(heft.call("heft_file_read", "rekeying.key", "keys"))), 1000)

    def test_with_new_shares(self):  # the last: old shares open nothing afterwards
        one, two, _ = self.owners
        record = heft.call("heft_file_read", self.set["ceremony"], "ceremony")
        blank = ask("heft_blank_share_make", self.model, record, 3, "blank.key", b"new")
        successor = self.load("blank.key", b"new")
        self.assertEqual(ask("heft_key_owner_describe", successor)["signer"], blank["signer"])
        self.refused("INVALID_ARGUMENT", "both", "heft_key_owner_give_shares", one,
                     heft.options(owners=[1.0, 2.0], replace=3))
        messages = self.files(*[heft.call("heft_key_owner_give_shares", owner, heft.options(
            owners=[1.0, 2.0], replace=3, newcomer=blank["signer"])) for owner in (one, two)])
        new = []
        for number, owner in enumerate((one, successor), start=1):
            path = f"share-{number}.key"
            heft.call("heft_key_owner_take_share", owner, messages, path, None)
            self.refused("ALREADY_EXISTS", ".", "heft_key_owner_take_share", owner, messages, path, None)
            shutil.copy(ask("heft_key_owner_describe", owner)["journal"], f"{path}.journal")
            new.append(self.load(path))
        replies = self.search(2 * SAMPLES + 1)
        part = heft.call("heft_key_owner_decide_part", new[1], replies, None,
                         heft.options(score=0.6, owners=[1.0, 3.0]))
        self.assertEqual(self.decide(new[0], replies, part)["identity"], "person 2")
