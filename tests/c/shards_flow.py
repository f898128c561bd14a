# SPDX-License-Identifier: Apache-2.0
"""A gallery in buckets: each person into his own, a search of all of them, and of nothing less."""
import hashlib

import heft_ctypes as h
from world import SAMPLES, Case, ask, heft, text, world

BUCKETS, NAME = 3, "store:crowd"


class Shards(Case):
    @classmethod
    def setUpClass(cls):
        cls.list = heft.call("heft_shards_create", world.matcher, NAME, BUCKETS,
                             heft.options(retention_seconds=60))
        cls.ids = text(heft.call("heft_shards_describe", cls.list))["buckets"]
        cls.files = world.encrypt(range(0, 8 * SAMPLES, SAMPLES))
        cls.brought = cls.enrol()
        cls.owner = world.load_owner()
        cls.server = heft.call("heft_gallery_signer", NAME + ".000")
        for bucket in range(BUCKETS):
            world.activate(f"{NAME}.{bucket:03}", shards=cls.describe(cls.list)["text"])
        trust = heft.call("heft_trust_new")
        heft.call("heft_trust_add", trust, "server", "matcher",
                  heft.call("heft_signing_key_public", cls.server).decode())
        heft.call("heft_key_owner_require_signed", cls.owner, trust)
        cls.audience = ask("heft_key_owner_describe", cls.owner)["signer"]

    @classmethod
    def enrol(cls):
        return ask("heft_shards_enrol", cls.list, world.matcher, NAME, cls.files, None, None, None, None)

    @staticmethod
    def describe(shards):
        return text(heft.call("heft_shards_describe", shards))

    def search(self, row):
        """The signed replies of all buckets to one probe."""
        replies = []
        take = h.TAKE(lambda user, bucket, reply: replies.append(
            h.c.string_at(reply.data, reply.size)) or 0)
        heft.call("heft_shards_identify", self.list, world.matcher, NAME,
                  world.encrypt([row], "identification", False),
                  heft.options(audience=self.audience, life=600), None, take, None, None)
        self.assertEqual(len(replies), BUCKETS)
        return replies

    @staticmethod
    def together(replies):
        files = heft.call("heft_files_new")
        for i, reply in enumerate(replies):
            heft.call("heft_files_add", files, reply, f"reply {i}")
        return files

    def test_list(self):
        self.assertEqual(len(set(self.ids)), BUCKETS)
        described = self.describe(self.list)
        whole = hashlib.sha256(b"".join(map(bytes.fromhex, self.ids))).hexdigest()[:32]
        self.assertEqual((described["gallery"], described["gallery_id"]), ("crowd", whole))
        heft.call("heft_shards_save", self.list, "crowd.shards")
        for same in (heft.call("heft_shards_load", "crowd.shards"),
                     heft.call("heft_shards_parse", described["text"].encode(), "list"),
                     heft.call("heft_shards_make", "crowd", self.ids, BUCKETS)):
            self.assertEqual(self.describe(same), described)
        self.refused("DATA_LOSS", "no shard list", "heft_shards_parse", b"{}", "list")
        self.refused("INVALID_ARGUMENT", "twice", "heft_shards_make", "crowd", self.ids[:1] * 2, 2)
        self.refused("NOT_FOUND", "nowhere", "heft_shards_load", "nowhere")

    def test_each_into_his_own(self):
        self.assertEqual((self.brought["brought"], self.brought["repeated"]), (8, False))
        self.assertTrue(self.enrol()["repeated"])
        for person in range(8):
            name = f"person {person}"
            hashed = int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], "little")
            found = ask("heft_shards_find", self.list, NAME, name)
            self.assertEqual(found, {"bucket": hashed % BUCKETS, "gallery_id": self.ids[hashed % BUCKETS],
                                     "address": f"{NAME}.{hashed % BUCKETS:03}"})
            self.assertEqual(len(ask("heft_gallery_person", found["address"], name)["templates"]), 1)
            self.assertEqual(heft.call("heft_shards_number", self.list, found["gallery_id"]), found["bucket"])
            self.assertEqual(heft.call("heft_bucket_of", name, BUCKETS), found["bucket"])
            self.assertEqual(ask("heft_bucket_address", NAME, found["bucket"]), found["address"])
        self.assertEqual(heft.call("heft_shards_number", self.list, "0" * 32), -1)
        self.refused("INVALID_ARGUMENT", "one", "heft_bucket_of", "ann", 0)
        other = heft.call("heft_shards_make", "crowd", self.ids[::-1], BUCKETS)
        self.refused("FAILED_PRECONDITION", "shard list", "heft_shards_open", other, NAME, 0)
        self.refused("ALREADY_EXISTS", ".", "heft_shards_create", world.matcher, NAME, 2, None)

    def test_who_belongs_elsewhere_is_rejected(self):
        name = "person 20"
        wrong = (ask("heft_shards_find", self.list, NAME, name)["bucket"] + 1) % BUCKETS
        world.enrol(f"{NAME}.{wrong:03}", [20 * SAMPLES])
        _, answer = world.activate(f"{NAME}.{wrong:03}", shards=self.describe(self.list)["text"])
        self.assertEqual(answer["approved"], 0)
        self.assertIn("belongs into bucket", answer["rejected"][0]["reason"])

    def test_search_is_of_all(self):
        replies = self.search(4 * SAMPLES + 2)
        whole = self.together(replies[::-1])
        for part, why in ((replies[:-1], "no reply of 2"), (replies + replies[:1], "a second reply"),
                          (replies[:-1] + self.search(1)[-1:], "another request")):
            for call, options in (("open", {}), ("decide", {"score": 0.5})):
                self.refused("FAILED_PRECONDITION", why, f"heft_key_owner_{call}_replies", self.owner,
                             self.together(part), self.list, None, heft.options(**options))
        at = ask("heft_key_owner_threshold_replies", self.owner, whole, self.list, heft.options(score=0.5))
        self.assertEqual(at["score"], 0.5)
        before = ask("heft_key_owner_budget", self.owner)["openings"]
        opened = ask("heft_key_owner_open_replies", self.owner, whole, self.list, None, heft.options(publish=3))
        self.assertEqual(opened["searched"], 8)
        self.assertEqual(opened["candidates"][0]["identity"], "person 4")
        self.assertEqual(ask("heft_key_owner_budget", self.owner)["openings"], before + 1)
        self.refused("FAILED_PRECONDITION", "opened before", "heft_key_owner_open_replies", self.owner,
                     whole, self.list, None, None)

    def test_decision_and_claim(self):
        decision = ask("heft_key_owner_decide_replies", self.owner,
                       self.together(self.search(6 * SAMPLES + 1)), self.list, None, heft.options(score=0.5))
        self.assertEqual((decision["accepted"], decision["identity"]), (True, "person 6"))
        files, name = world.encrypt([3 * SAMPLES + 1]), "person 3"
        bucket = ask("heft_shards_find", self.list, NAME, name)["bucket"]
        reply = heft.call("heft_matcher_verify", world.matcher,
                          heft.call("heft_shards_open", self.list, NAME, bucket), files, name,
                          heft.options(audience=self.audience), None)
        claim = ask("heft_key_owner_decide_replies", self.owner, self.together([reply]), self.list, None,
                    heft.options(score=0.5))
        self.assertEqual((claim["accepted"], claim["identity"]), (True, name))
