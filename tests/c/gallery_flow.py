# SPDX-License-Identifier: Apache-2.0
"""Galleries: who comes, who leaves, copies."""
import base64

import heft_ctypes as h
from world import PEOPLE, SAMPLES, Case, ask, heft, rows, text, world


class Administration(Case):
    def test_enrolment(self):
        created = ask("heft_gallery_create", world.matcher, "desk", heft.options(retention_seconds=60))
        self.assertEqual(len(created["gallery_id"]), 32)
        self.refused("ALREADY_EXISTS", ".", "heft_gallery_create", world.matcher, "desk", None)
        self.assertEqual(world.enrol("desk", [0, SAMPLES], metadata=["site=bonn"], expires=1 << 40)
                         ["pending"], 2)
        (waiting,) = ask("heft_gallery_pending", "desk")
        self.assertEqual((waiting["identities"], waiting["client"]), (["person 0", "person 1"], ""))
        self.assertGreater(waiting["bytes"], 0)
        inquiry = ask("heft_key_owner_inquiry", world.owner, world.pending("desk"), "request")
        self.assertEqual(inquiry["gallery_id"], created["gallery_id"])
        entry = inquiry["enrolments"][0]["entry"]
        self.assertEqual((entry, inquiry["more"]), (waiting["entry"], 0))
        self.assertEqual([p["known"] for p in inquiry["enrolments"][0]["people"]], [False, False])
        done, answer = world.activate("desk", entries=[entry], reject=["person 1"])
        self.assertEqual((done["activated"], done["rejected"]), (1, 1))
        self.assertEqual((answer["approved"], len(answer["rejected"])), (1, 1))
        self.assertEqual(answer["groups"], [{"rejection": "REJECTED", "cause": "rejected by name",
                                             "remedy": "", "identities": ["person 1"]}])
        listed = ask("heft_gallery_list", "desk", heft.options(where=["site=bonn"]))
        self.assertEqual([t["identity"] for t in listed["templates"]], ["person 0"])
        self.assertEqual(listed["templates"][0]["metadata"], {"site": ["bonn"]})
        self.assertIsNone(listed["next"])
        self.assertEqual(len(ask("heft_gallery_person", "desk", "person 0")["templates"]), 1)
        self.assertEqual(ask("heft_gallery_names", "desk"), ["main"])
        stats = ask("heft_gallery_stats", "desk", world.model)
        self.assertEqual((stats["templates"], stats["pending"]), (1, 0))
        self.assertGreater(stats["noise_margin"], 0.5)

    def test_two_enrolments_of_one_name(self):
        world.enrol("rivals", [0], identity="carol", client="ab" * 32)
        world.enrol("rivals", [SAMPLES], identity="carol")
        done, answer = world.activate("rivals")
        self.assertEqual((done["activated"], done["pending"]), (0, 2))
        (contested,) = answer["contested"]
        self.assertEqual((contested["identity"], contested["elsewhere"]), ("carol", 0))
        entries = {claim["client"]: claim["entry"] for claim in contested["claims"]}
        self.assertEqual(set(entries), {"ab" * 32, ""})
        _, answer = world.activate("rivals", hold=[entries[""]])
        self.assertEqual(answer["contested"][0]["elsewhere"], 1)
        done, answer = world.activate("rivals", entries=[entries[""]])
        self.assertEqual((done["activated"], done["pending"], answer["contested"]), (1, 1, []))
        self.refused("INVALID_ARGUMENT", "64", "heft_matcher_enrol", world.matcher, "rivals",
                     world.encrypt([1]), heft.options(client="ann"), None, None, None)

    def test_second_template_needs_authorisation(self):
        world.gallery("known", 1)
        self.refused("FAILED_PRECONDITION", ".", "heft_matcher_enrol", world.matcher, "known",
                     world.encrypt([1]), None, None, None, None)
        registrar = heft.call("heft_signing_key_generate")
        trust = heft.call("heft_trust_new")
        heft.call("heft_trust_add", trust, "registrar", "rita",
                  heft.call("heft_signing_key_public", registrar).decode())
        gallery = ask("heft_gallery_describe", world.open("known"))["gallery_id"]
        word = heft.call("heft_authorise", registrar, gallery, "add", "person 0", 600)
        allowed = heft.options(authorisation=bytes(word))
        self.refused("FAILED_PRECONDITION", "not signed", "heft_matcher_enrol", world.matcher, "known",
                     world.encrypt([1]), allowed, trust, None, None)
        signed = world.encrypt([1], signing=(registrar, {"role": "registrar"}))
        done = ask("heft_matcher_enrol", world.matcher, "known", signed, allowed, trust, None, None)
        self.assertEqual(done["pending"], 1)
        self.refused("INVALID_ARGUMENT", "add", "heft_authorise", registrar, gallery, "hug", "p", 0)

    def test_a_whole_gallery(self):
        asked, goes_on = [], []

        def activate(user, request, admission):
            asked.append(h.c.string_at(request.data, request.size))
            answer, _ = heft.call("heft_key_owner_approve", world.owner, asked[-1], "request", None)
            admission[0], answer.pointer = answer.pointer, None  # the library frees it
            return 0

        which = range(0, PEOPLE * SAMPLES, SAMPLES)
        all_rows = [rows(m, [v[i] for i in which]) for m, v in world.vectors.items()]
        labels = [world.labels[i] for i in which]

        def enrol(name, answer):
            following, result = heft.call(
                "heft_enrol_many", world.client, world.matcher, name, all_rows, 2, labels,
                heft.options(metadata=["list=all"]), answer, None, None, None)
            goes_on.append(following)
            return text(result)

        done = enrol("many", h.ANSWER(activate))
        self.assertEqual((done["activated"], done["templates"]), (PEOPLE, PEOPLE))
        self.assertTrue(asked)
        best = world.scores(world.identify("many", 20 * SAMPLES + 1))["candidates"][0]["identity"]
        self.assertEqual(best, "person 20")
        self.assertEqual(enrol("waits", None)["pending"], PEOPLE)
        self.assertEqual(goes_on, [PEOPLE, PEOPLE])
        with self.assertRaises(h.HeftError) as caught:
            enrol("refused", h.ANSWER(lambda *_: 8))
        self.assertEqual(caught.exception.status, "RESOURCE_EXHAUSTED")

    def test_audit(self):
        name = world.gallery("audited", 3)
        heft.call("heft_audit_key_make", name)
        server = heft.call("heft_gallery_signer", name)
        public = heft.call("heft_signing_key_public", server).decode()
        files = world.encrypt([SAMPLES + 1], "identification", False)
        gallery = world.open(name)
        signed = heft.call("heft_matcher_identify", world.matcher, gallery, files, None, None, None,
                           None)
        seed = heft.call("heft_audit_reveal", name, public, signed)
        trust = heft.call("heft_trust_load", world.keys["trust"])
        heft.call("heft_trust_add", trust, "server", "matcher", public)
        requests = (h.c.c_void_p * 1)(files.pointer)
        finding = ask("heft_audit_reply", world.matcher, gallery, trust, signed, seed, requests, 1)
        self.assertEqual(finding, {"right": True, "reason": ""})
        world.activate(name)  # no one is pending: the owner signs the state as it is
        state = heft.call("heft_file_read", f"{name}/state.heft", "")
        self.refused("INVALID_ARGUMENT", "no kind", "heft_file_read", f"{name}/state.heft", "photo")
        self.assertEqual(ask("heft_gallery_describe", world.open(name))["state_file"], f"{name}/state.heft")
        for given in (state, None):
            finding = ask("heft_audit_gallery", world.matcher, world.open(name), given, trust)
            self.assertEqual(finding, {"right": True, "reason": ""})

    def test_what_auditors_choose_and_read(self):
        chosen = ask("heft_audit_choose", 100, 10)
        self.assertEqual((len(chosen), sorted(set(chosen))), (10, chosen))
        with open("audit.log", "w") as log:
            log.write("no log\n")
        self.refused("DATA_LOSS", "audit.log", "heft_audit_verify_logs", ["audit.log"], 1, None)
        self.refused("INVALID_ARGUMENT", "noted", "heft_audit_verify_logs", ["audit.log"], 1,
                     heft.options(noted="no head"))

    def test_an_unread_gallery_keeps_nothing(self):
        world.gallery("free", 2)
        gallery = heft.call("heft_gallery_unread", world.open("free"))
        self.refused("FAILED_PRECONDITION", "newest", "heft_gallery_identities", gallery)
        done = ask("heft_gallery_remove", world.matcher, "free", ["person 0"], 1, None, None)
        self.assertTrue(done["overwritten"])
        self.assertEqual(ask("heft_gallery_erasure_remains", "free"), "")
        newest = heft.call("heft_gallery_newest", gallery)
        self.assertEqual(ask("heft_gallery_identities", newest), ["", "person 1"])

    def test_removal(self):
        world.gallery("leave", 5)
        gallery = world.open("leave")
        generation = ask("heft_gallery_describe", gallery)["generation"]
        done = ask("heft_gallery_remove", world.matcher, "leave", ["person 0"], 1, None, None)
        self.assertEqual((done["removed"], done["erased"], done["leaving"]), (1, 1, 0))
        gallery = heft.call("heft_gallery_newest", gallery)
        self.assertEqual(ask("heft_gallery_describe", gallery)["templates"], 4)
        del gallery  # a gallery that is read cannot be overwritten
        receipts = ask("heft_gallery_erase_remains", "leave") + done["receipts"]
        self.assertEqual(len(receipts), 1)
        self.assertEqual(ask("heft_gallery_receipts", "leave"), receipts)
        receipt = ask("heft_receipt_read", base64.b64decode(receipts[0]))
        self.assertEqual(receipt["persons"], done["persons"])
        self.refused("NOT_FOUND", ".", "heft_gallery_remove", world.matcher, "leave", ["person 0"], 1,
                     None, None)
        self.assertEqual(ask("heft_gallery_remove_expired", world.matcher, "leave")["removed"], 0)
        self.assertEqual(ask("heft_gallery_compact", world.matcher, "leave")["damaged"], [])
        self.assertGreater(ask("heft_gallery_describe", world.open("leave"))["generation"], generation)

    def test_pending_ones_are_deleted(self):
        world.enrol("rejects", [0])
        (waiting,) = ask("heft_gallery_pending", "rejects")
        self.refused("INVALID_ARGUMENT", "64", "heft_gallery_reject_pending", world.matcher, "rejects", ["x"], 1)
        done = ask("heft_gallery_reject_pending", world.matcher, "rejects", [waiting["entry"]], 1)
        self.assertEqual((done["rejected"], ask("heft_gallery_pending", "rejects")), (1, []))

    def test_roll_back(self):
        world.gallery("back", 2)
        generation = ask("heft_gallery_describe", world.open("back"))["generation"]
        world.enrol("back", [2 * SAMPLES])
        world.activate("back")
        self.assertEqual(ask("heft_gallery_roll_back", world.matcher, "back", generation)["removed"], 1)

    def test_renewal(self):
        heft.call("heft_gallery_create", world.matcher, "renew", heft.options(retention_seconds=0,
                                                                              retention_bytes=0))
        world.gallery("renew", 4)
        self.refused("NOT_FOUND", ".", "heft_gallery_ask_renewal", world.matcher, "renew", None, None, None)
        # Another change lets those go from the journal whose time there is over.
        heft.call("heft_matcher_fold", world.matcher, "renew")
        world.enrol("renew", [4 * SAMPLES])
        world.activate("renew")
        heft.call("heft_matcher_fold", world.matcher, "renew")
        done = ask("heft_gallery_remove", world.matcher, "renew", ["person 1"], 1, None, None)
        self.assertEqual((done["removed"], done["leaving"]), (1, 1))
        request = heft.call("heft_gallery_ask_renewal", world.matcher, "renew", None, None, None)
        answer, result = heft.call("heft_key_owner_renew", world.owner, request, "request")
        self.assertEqual(text(result)["blocks"], 1)
        done = ask("heft_gallery_renew", world.matcher, "renew", answer, world.trust)
        self.assertEqual((done["blocks"], done["erased"]), (1, 1))

    def test_copies(self):
        world.gallery("store", 2)
        heft.call("heft_gallery_remember", "store")
        self.assertTrue(ask("heft_gallery_verify", "store", world.model, None, None)["intact"])
        copies = ask("heft_gallery_snapshot", "store", "copy", 0, None, None)["galleries"]
        self.assertEqual([c["name"] for c in copies], ["main"])
        ask("heft_gallery_remove", world.matcher, "store", ["person 0"], 1, None, None)
        self.refused("FAILED_PRECONDITION", "older", "heft_gallery_restore", "copy", "store", None, None,
                     None, None, None)
        receipts = ask("heft_gallery_receipts", "store")
        self.refused("INVALID_ARGUMENT", "base64", "heft_gallery_restore", "copy", "store",
                     heft.options(receipts=["?"]), None, None, None, None)
        done = ask("heft_gallery_restore", "copy", "store", heft.options(accept_older=True, receipts=receipts),
                   world.matcher, None, None, None)
        self.assertTrue(done["older"])
        self.assertEqual(done["erased"] + done["leaving"], 1)  # erasure goes before restore
        exported = ask("heft_gallery_export", "store", "alone", None, None)
        imported = ask("heft_gallery_import", "alone", "other", None, None)
        self.assertEqual(exported["gallery_id"], imported["gallery_id"])
