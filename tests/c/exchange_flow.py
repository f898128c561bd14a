# SPDX-License-Identifier: Apache-2.0
"""The exchange with SEAL, workspaces, passphrases that are asked for, and decisions on opened scores."""
import json

import heft_ctypes as h
from world import DIMENSIONS, SAMPLES, Case, ask, galleries, heft, rows, text, world

ASK = h.c.CFUNCTYPE(h.c.c_ssize_t, h.c.c_void_p, h.c.c_void_p, h.c.c_size_t)


class Passphrase(h.c.Structure):
    """heft_passphrase."""

    _fields_ = [("ask", ASK), ("user", h.c.c_void_p)]


def asked(answer):
    """heft_asked of a function that returns bytes, or a length that is wrong."""
    def write(_, place, room):
        said = answer()
        if isinstance(said, int):
            return said + (room if said > 0 else 0)
        h.c.memmove(place, said, len(said))
        return len(said)

    made = Passphrase(ASK(write))
    keep.append(made)
    return h.Bytes(h.c.addressof(made), h.c.c_size_t(-1).value)


keep = []  # what C reads during the tests


def files(*given):
    made = heft.call("heft_files_new")
    for i, file in enumerate(given):
        heft.call("heft_files_add", made, file, f"file {i}")
    return made


class Exchange(Case):
    def test_a_passphrase_is_asked_for_when_it_is_needed(self):
        times = []
        words = lambda: times.append(1) or b"asked words"
        load = "heft_key_owner_load"
        heft.call("heft_key_set_make", world.model, "asked", asked(words), None, None)
        self.assertEqual(len(times), 1)
        heft.call(load, world.model, "asked", asked(words))  # a folder
        self.assertEqual(len(times), 2)
        key = heft.call("heft_signing_key_generate")
        heft.call("heft_signing_key_save", key, "clear.key", None)
        heft.call("heft_signing_key_load", "clear.key", asked(lambda: self.fail("nobody needs it")))
        for answer, status in ((-1, "CANCELLED"), (1, "INVALID_ARGUMENT"), (b"", "FAILED_PRECONDITION"),
                               (b"other", "INVALID_ARGUMENT")):
            self.refused(status, "passphrase", load, world.model, "asked", asked(lambda a=answer: a))
        self.refused("INVALID_ARGUMENT", "more than any memory", "heft_model_parse", asked(words), "model")

    def test_decisions_on_scores(self):
        self.assertEqual(ask("heft_default_limits", world.model)["decisions"], 256)
        opened = heft.call("heft_key_owner_open", world.owner, world.identify(galleries.big, 1), "reply", None)
        scores = heft.call("heft_result_json", opened)
        best = text(opened)["candidates"][0]
        decide = lambda at: ask("heft_scores_decide", scores, json.dumps(at))
        accepted = decide(best["score"])
        self.assertEqual((accepted["accepted"], accepted["identity"]), (True, best["identity"]))
        self.assertEqual(accepted["gallery_id"], text(opened)["gallery_id"])
        self.assertFalse(decide(best["score"] + 0.001)["accepted"])
        threshold = {**accepted["threshold"], "score": 0.1, "of": "comparisons", "rate": 0.01}
        refused = decide(threshold)
        self.assertEqual((refused["accepted"], refused["threshold"]), (False, threshold))
        self.assertIn("search", refused["refusal"])
        for wrong in (("{", "0.5"), ("{}", "0.5"), (scores, "{}"), (scores, "null")):
            self.refused("INVALID_ARGUMENT", ".", "heft_scores_decide", *wrong)

    def test_seal(self):
        model, owner = world.model, heft.call("heft_key_owner_generate", world.model)
        parameters = ask("heft_seal_export_parameters", model, heft.options(ring="enrolment"))
        self.assertEqual((parameters["ring"], parameters["rotation_steps"]), ("enrolment", []))
        self.refused("INVALID_ARGUMENT", "zstd", "heft_seal_export_parameters", model,
                     heft.options(compression="x"))
        key = heft.call("heft_key_owner_encryption_key", owner)
        for ring in ("matching", "enrolment"):
            heft.call("heft_seal_export_secret_key", owner, f"{ring}.seal", heft.options(ring=ring), None, None)
        public = [heft.call("heft_seal_export_encryption_key", model, key, "key", heft.options(ring=ring))
                  for ring in ("matching", "enrolment")]
        key_id = ask("heft_seal_new_key_id")["key_id"]
        heft.call("heft_seal_import_secret_key", model, key_id, "matching.seal", "back.key", "enrolment.seal",
                  b"words", None, None)
        again = heft.call("heft_key_owner_load", model, "back.key", b"words")
        self.assertEqual(ask("heft_key_owner_describe", again)["key_id"], key_id)
        imported = heft.call("heft_seal_import_encryption_key", model, key_id, files(*public))
        self.refused("INVALID_ARGUMENT", ".", "heft_seal_import_encryption_key", model, key_id, files(public[0]))
        self.refused("INVALID_ARGUMENT", "key_id", "heft_seal_import_encryption_key", model, "x", files(*public))
        relinearisation, galois, told = heft.call("heft_seal_export_evaluation_keys", again, None, None, None)
        evaluation, used = heft.call("heft_seal_import_evaluation_keys", model, key_id,
                                     files(galois, relinearisation), None, None)
        self.assertEqual(text(used), text(told))
        matcher = heft.call("heft_matcher_create", model, evaluation,
                            heft.call("heft_key_owner_enrolment_keys", again, None, None))
        client = heft.call("heft_client_create", model, imported, "key")
        self.enrol(matcher, client, again, key_id)

    def enrol(self, matcher, client, owner, key_id):
        """Enrols samples that went to SEAL's form and back, and opens the scores of one."""
        people = [0, SAMPLES, 2 * SAMPLES]
        back = []
        for m in DIMENSIONS:
            file = heft.call("heft_client_encrypt", client, [rows(m, [world.vectors[m][i] for i in people])],
                             ["ann", "bob", "cy"], None)
            joined, told = heft.call("heft_seal_export_samples", world.model, file, m, None, None, None)
            told, joined = text(told), bytes(joined)
            self.assertEqual((told["labels"], told["bulk"]), (["ann", "bob", "cy"], False))
            ends = [sum(told["sizes"][:i + 1]) for i in range(3)]
            self.assertEqual(ends[-1], len(joined))
            one = files(*[joined[end - size:end] for end, size in zip(ends, told["sizes"])])
            back.append(heft.call("heft_seal_import_samples", world.model, m, key_id, one,
                                  heft.options(labels=told["labels"]), None, None))
        ask("heft_matcher_enrol", matcher, "from seal", files(*back), None, None, None, None)
        request = heft.call("heft_matcher_pending", matcher, heft.call("heft_gallery_open", "from seal"), None)
        admission, _ = heft.call("heft_key_owner_approve", owner, request, "request", None)
        trust = heft.call("heft_trust_new")
        heft.call("heft_trust_add", trust, "key-owner", "owner", ask("heft_key_owner_describe", owner)["signer"])
        ask("heft_matcher_activate", matcher, "from seal", admission, trust, None, None)
        probe = files(*[heft.call("heft_client_encrypt", client, [rows(m, [world.vectors[m][SAMPLES + 1]])], None,
                                  heft.options(use="identification")) for m in DIMENSIONS])
        reply = heft.call("heft_matcher_identify", matcher, heft.call("heft_gallery_open", "from seal"), probe,
                          None, None, None, None)
        self.assertEqual(ask("heft_key_owner_decide", owner, reply, "reply", heft.options(score=0.5))["identity"],
                         "bob")
        joined, factors, told = heft.call("heft_seal_export_scores", world.model, reply, "reply", None)
        told = text(told)
        self.assertEqual((told["kind"], told["templates"], len(told["replies"])), ("identification", 3, 1))
        self.assertEqual(sum(told["sizes"]), len(bytes(joined)))
        self.assertEqual((len(told["sizes"]), len(bytes(factors)) % 8), (3, 0))


class Workspaces(Case):
    def test_workspace(self):
        heft.call("heft_workspace_check_free", "people")
        self.refused("NOT_FOUND", ".", "heft_workspace_check_free", "no/where")
        heft.call("heft_workspace_create", "people", world.model, b"horse", None, None)
        self.refused("ALREADY_EXISTS", ".", "heft_workspace_check_free", "people")
        self.refused("INVALID_ARGUMENT", "passphrase", "heft_workspace_open", "people", b"cow")
        workspace = heft.call("heft_workspace_open", "people", asked(lambda: b"horse"))
        self.assertEqual(ask("heft_model_describe", heft.call("heft_workspace_model", workspace))["model_id"],
                         ask("heft_model_describe", world.model)["model_id"])
        self.assertTrue(ask("heft_workspace_describe", workspace)["gallery"].endswith("gallery"))
        added = ask("heft_workspace_add", workspace, self.rows([0, SAMPLES]), 2, ["ann", "bob"], None, None)
        self.assertEqual((added["added"], added["templates"], added["rejected"]), (2, 2, []))
        self.refused("ALREADY_EXISTS", ".", "heft_workspace_add", workspace, self.rows([0]), 2, ["ann"], None, None)
        probes = self.rows([1, SAMPLES + 1])
        taken = []
        take = h.TAKE(lambda user, row, data: taken.append(
            (row, json.loads(h.c.string_at(data.data, data.size)))) or 0)
        heft.call("heft_workspace_search", workspace, probes, 2, heft.options(score=0.5), take, None, None)
        self.assertEqual([(row, one["identity"]) for row, one in taken], [(0, "ann"), (1, "bob")])
        del taken[:]
        heft.call("heft_workspace_verify", workspace, probes, 2, "bob", heft.options(score=0.5), take, None, None)
        self.assertEqual([one["accepted"] for _, one in taken], [False, True])
        self.assertEqual(taken[0][1]["claimed"], "bob")
        stop = h.TAKE(lambda user, row, data: 5)
        self.refused("NOT_FOUND", "refused", "heft_workspace_search", workspace, probes, 2,
                     heft.options(score=0.5), stop, None, None)
        self.refused("INVALID_ARGUMENT", "fmr", "heft_workspace_search", workspace, probes, 2,
                     heft.options(fmr=0.5), take, None, None)
        removed = ask("heft_workspace_remove", workspace, heft.options(identities=["bob"]), None, None)
        self.assertEqual((removed["removed"], removed["templates"], removed["overwritten"]), (1, 1, True))
        workspace.free()
        heft.call("heft_workspace_export_role", "people", "device", "device")
        self.refused("FAILED_PRECONDITION", "device", "heft_workspace_open", "people", b"horse")

    @staticmethod
    def rows(which):
        return [rows(m, [vectors[i] for i in which]) for m, vectors in world.vectors.items()]
