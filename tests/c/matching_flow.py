# SPDX-License-Identifier: Apache-2.0
"""Probes, replies, decisions, the budget."""
import json
import subprocess
import threading

import heft_ctypes as h
from world import HEFT_TOOL, SAMPLES, SERVER_TOOL, Case, ask, galleries, heft, rows, text, world

# Encrypted scores are within this of each other (tests/workplace.h), rounded to 0.001.
NOISE = 2 * 4e-3 + 1e-3


class Matching(Case):
    def test_identification(self):
        gallery = world.open(galleries.big)
        reply = world.identify(galleries.big, 4 * SAMPLES + 2)
        at = ask("heft_key_owner_threshold", world.owner, reply, "reply", heft.options(score=0.5))
        self.assertEqual(at["score"], 0.5)
        opened = world.scores(reply)
        self.assertEqual(opened["kind"], "identification")
        self.assertEqual(opened["searched"], ask("heft_gallery_describe", gallery)["templates"])
        self.assertEqual(opened["candidates"][0]["identity"], "person 4")
        self.refused("FAILED_PRECONDITION", ".", "heft_key_owner_open", world.owner, reply, "reply", None)

    def test_decision(self):
        reply = world.identify(galleries.big, 3 * SAMPLES + 1)
        decision = ask("heft_key_owner_decide", world.owner, reply, "reply",
                       heft.options(score=0.5, likelihood=True))
        self.assertEqual(decision["accepted"], True)
        self.assertEqual(decision["identity"], "person 3")
        self.assertIn(decision["likelihood"], ["weak", "moderate", "strong"])
        stranger = world.identify(galleries.big, 23 * SAMPLES)
        decision = ask("heft_key_owner_decide", world.owner, stranger, "reply", heft.options(score=0.99))
        self.assertEqual((decision["accepted"], decision["identity"]), (False, ""))

    def test_restricted(self):
        reply = world.identify(galleries.big, 2 * SAMPLES + 1, where=["site=berlin"])
        opened = world.scores(reply)
        self.assertEqual(opened["where"], ["site=berlin"])
        self.assertEqual(opened["searched"], 2)
        self.refused("INVALID_ARGUMENT", ".", "heft_matcher_identify", world.matcher,
                     world.open(galleries.big), world.encrypt([1], "identification", False),
                     heft.options(where=["site"]), None, None, None)

    def test_batches(self):
        gallery, which = world.open(galleries.big), [1, SAMPLES + 1, 2 * SAMPLES + 1]
        taken = []
        take = h.TAKE(lambda user, row, reply: taken.append(
            (row, h.c.string_at(reply.data, reply.size))) or 0)
        heft.call("heft_matcher_identify_all", world.matcher, gallery,
                  world.encrypt(which, "identification", False), None, None, take, None, None)
        self.assertEqual([row for row, _ in taken], [0, 1, 2])
        best = [world.scores(reply)["candidates"][0]["identity"] for _, reply in taken]
        self.assertEqual(best, ["person 0", "person 1", "person 2"])
        taken.clear()
        heft.call("heft_matcher_verify_all", world.matcher, gallery, world.encrypt(which), "person 1",
                  None, None, take, None, None)
        decisions = [ask("heft_key_owner_decide", world.owner, reply, "reply",
                         heft.options(score=0.6))["accepted"] for _, reply in taken]
        self.assertEqual(decisions, [False, True, False])

    def test_together(self):
        gallery = world.open(galleries.big)
        good = world.encrypt([SAMPLES + 2], "identification", False)
        empty = heft.call("heft_files_new")
        probes = (h.c.c_void_p * 2)(good.pointer, empty.pointer)
        replies, statuses = (h.c.c_void_p * 2)(), (h.c.c_int * 2)()
        errors, error = (h.c.c_void_p * 2)(), h.c.c_void_p()
        status = heft.function("heft_matcher_identify_together")(
            world.matcher.pointer, gallery.pointer, probes, None, 2, None, replies,
            statuses, errors, h.c.byref(error))
        self.assertEqual(status, 0, heft.function("heft_error_message")(error))
        self.assertEqual(list(statuses), [0, 3])
        reply = h.Handle("buffer", replies[0])
        self.assertEqual(world.scores(reply)["candidates"][0]["identity"], "person 1")
        self.assertIsNone(replies[1])
        self.assertTrue(heft.function("heft_error_message")(errors[1]))
        heft.function("heft_error_free")(errors[1])

    def test_verification(self):
        gallery, files = world.open(galleries.big), world.encrypt([SAMPLES + 3])
        for claimed, accepted in [("person 1", True), ("person 2", False)]:
            reply = heft.call("heft_matcher_verify", world.matcher, gallery, files, claimed, None, None)
            opened = world.scores(reply)
            self.assertEqual(opened["claimed"], claimed)
            self.assertEqual(opened["candidates"][0]["score"] > 0.6, accepted)

    def test_signed_replies(self):
        owner = world.load_owner()
        server = heft.call("heft_gallery_signer", galleries.big)
        public = heft.call("heft_signing_key_public", server).decode()
        files = world.encrypt([2 * SAMPLES + 4], "identification", False)
        signed = self.sign_as_client(public)
        trust = heft.call("heft_trust_new")
        heft.call("heft_trust_add", trust, "client", "door", signed["public"])
        gallery = world.open(galleries.big)
        options = heft.options(audience=ask("heft_key_owner_describe", owner)["signer"], life=600)
        ask_for = ("heft_matcher_identify", world.matcher, gallery)
        self.refused("FAILED_PRECONDITION", "not signed", *ask_for, files, options, trust, None, None)
        world.activate(galleries.big)  # no one is pending: the owner signs the state as it is
        signed_reply = heft.call(*ask_for, signed["files"], options, trust, None, None)
        self.refused("FAILED_PRECONDITION", "taken before", *ask_for, signed["files"], options, trust,
                     None, None)
        reply = heft.call(*ask_for, files, heft.options(sign=False), None, None, None)
        heft.call("heft_trust_add", trust, "server", "matcher", public)
        heft.call("heft_key_owner_require_signed", owner, trust)
        heft.call("heft_key_owner_require_signed_gallery", owner)
        self.refused("FAILED_PRECONDITION", "sign", "heft_key_owner_decide", owner, reply, "reply",
                     heft.options(score=0.5))
        decision = ask("heft_key_owner_decide", owner, signed_reply, "reply", heft.options(score=0.5))
        self.assertEqual(decision["identity"], "person 2")
        clients = [c["client"] for c in ask("heft_key_owner_budget", owner)["clients"]]
        self.assertIn(signed["public"], clients)

    def sign_as_client(self, server):
        """The samples of a probe once more, each signed for the server."""
        key = heft.call("heft_signing_key_generate")
        signed = world.encrypt([2 * SAMPLES + 4], "identification", False,
                               signing=(key, {"role": "client", "audience": server}))
        return {"files": signed, "public": heft.call("heft_signing_key_public", key).decode()}

    def test_flooding_and_budget(self):
        owner = world.owner
        use = ask("heft_key_owner_budget", owner)
        heft.call("heft_key_owner_set_budget", owner, heft.options(scores=1000, client_bits=1 << 30))
        after = ask("heft_key_owner_budget", owner)
        self.assertEqual(after["limits"]["scores"], 1000)
        self.assertEqual(after["limits"]["decisions"], use["limits"]["decisions"])
        heft.call("heft_key_owner_set_budget", owner, heft.options(scores=1000, decisions=1000))
        heft.call("heft_key_owner_restart_journal", owner, "a test says so")
        self.assertEqual(ask("heft_key_owner_budget", owner)["restarts"][-1]["reason"], "a test says so")

    def test_canaries(self):
        owner = world.load_owner()
        canaries, file = heft.call("heft_key_owner_make_canaries", owner, 1,
                                   heft.options(names=["ida", "jon", "kay"]))
        described = text(canaries)
        self.assertEqual([one["label"] for one in described["people"]], ["ida", "jon", "kay"])
        self.assertEqual(described["modalities"], ["face", "voice"])
        self.assertEqual([len(described[k]) for k in ["people", "probes"]], [3, 1])
        self.assertEqual([len(v) for v in described["people"][0]["vectors"]], [24, 16])
        heft.call("heft_key_owner_require_canaries", owner, file, "canaries", 0)
        opened = ask("heft_key_owner_open", owner, world.identify(galleries.big, 1), "reply", None)
        self.assertTrue(opened["refusal"])  # the gallery does not hold them

    def test_agrees_with_the_tools(self):
        """The tools read what C has made, and the scores are the same."""
        files = []
        for m, vectors in world.vectors.items():
            files.append(f"{m}.ct")
            heft.call("heft_file_write", files[-1], heft.call(
                "heft_client_encrypt", world.client, [rows(m, [vectors[5 * SAMPLES + 1]])], None,
                heft.options(use="identification")))
        request = heft.call("heft_files_new")
        for name in files:
            heft.call("heft_files_add", request, heft.call("heft_file_read", name, "samples"), name)
        ours = world.scores(heft.call("heft_matcher_identify", world.matcher,
                                      world.open(galleries.big), request, None, None, None, None))
        with open("words", "w") as words:
            words.write("secret words\n")
        run = lambda *args: json.loads(subprocess.run(args, check=True, capture_output=True).stdout)
        run(SERVER_TOOL, "identify", "--model", "model.heft", "--keys", "keys/evaluation.keys",
            "--gallery", galleries.big, "--in", *files, "--out", "tool.ct", "--unchecked", "--json")
        theirs = run(HEFT_TOOL, "decrypt", "--model", "model.heft", "--secret-key", "keys/secret.key",
                     "--passphrase-file", "words", "--in", "tool.ct", "--unchecked", "--scores", "--json")
        score = lambda opened: {c["identity"]: c["score"] for c in opened["candidates"]}
        self.assertEqual(score(ours).keys(), score(theirs).keys())
        for identity, value in score(ours).items():
            self.assertAlmostEqual(value, score(theirs)[identity], delta=NOISE)
        self.assertEqual(theirs["candidates"][0]["identity"], "person 5")

    def test_two_threads(self):
        """One object, several threads, and errors that do not mix."""
        failures = []

        def work(person):
            try:
                for _ in range(3):
                    reply = world.identify(galleries.big, person * SAMPLES + 2)
                    best = world.scores(reply)["candidates"][0]["identity"]
                    if best != f"person {person}":
                        failures.append(best)
                    try:
                        heft.call("heft_gallery_open", f"nowhere {person}")
                    except h.HeftError as error:
                        if f"nowhere {person}" not in error.message:
                            failures.append(error.message)
            except Exception as error:  # noqa: BLE001: told below
                failures.append(repr(error))

        threads = [threading.Thread(target=work, args=(person,)) for person in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(failures, [])
