# SPDX-License-Identifier: Apache-2.0
"""Keys, encryption, signatures."""
import os

import heft_ctypes as h
from world import Case, ask, floats, galleries, heft, rows, text, world


class Keys(Case):
    def test_key_owner(self):
        described = ask("heft_key_owner_describe", world.owner)
        self.assertEqual(described["key_id"], world.keys["key_id"])
        self.assertTrue(described["journal"].endswith("secret.key.journal"))
        self.assertIn("encryption_key",
                      ask("heft_key_set_make_public", world.owner, "public", None, None))

    def test_encryption(self):
        one = [rows("face", world.vectors["face"][:1])]
        both = [rows(m, v[:1]) for m, v in world.vectors.items()]
        sizes = {}
        for who, role in [(world.client, "client"), (world.owner, "key_owner")]:
            for verb, inputs in [("encrypt", (one,)), ("encrypt_fused", (both, 2))]:
                file = heft.call(f"heft_{role}_{verb}", who, *inputs, ["ann"], None)
                sizes[role, verb] = len(bytes(file))
                self.assertIn(ask("heft_inspect", file, "file")["kind"], ["CTXT", "CTXF"])
        self.assertLess(sizes["key_owner", "encrypt"], sizes["client", "encrypt"])
        wrong = h.Rows(b"face", floats([1.0] * 48), 1, 48)
        self.refused("INVALID_ARGUMENT", "48 numbers, the model's have 24", "heft_client_encrypt",
                     world.client, [wrong], None, None)
        self.refused("INVALID_ARGUMENT", "enrolment", "heft_client_encrypt", world.client, one, None,
                     heft.options(use="nothing"))
        infinite = h.Rows(b"face", floats([float("inf")] * 24), 1, 24)
        self.refused("INVALID_ARGUMENT", ".", "heft_client_encrypt", world.client, [infinite], None, None)

    def test_expanded_keys(self):
        heft.call("heft_expand_keys", world.model, world.keys["evaluation_keys"])
        self.assertTrue(os.path.exists(world.keys["evaluation_keys"] + ".expanded"))
        matcher = heft.call("heft_matcher_open", world.model, world.keys["evaluation_keys"], None)
        reply = heft.call("heft_matcher_identify", matcher, world.open(galleries.big),
                          world.encrypt([11], "identification", False), None, None, None, None)
        self.assertEqual(world.scores(reply)["candidates"][0]["identity"], "person 2")

    def test_signatures(self):
        key = heft.call("heft_signing_key_generate")
        heft.call("heft_signing_key_save", key, "client.key", b"words")
        self.refused("ALREADY_EXISTS", ".", "heft_signing_key_save", key, "client.key", None)
        self.refused("INVALID_ARGUMENT", "passphrase is empty", "heft_signing_key_save", key,
                     "empty.key", b"")
        self.assertFalse(os.path.exists("empty.key"))
        loaded = heft.call("heft_signing_key_load", "client.key", b"words")
        public = heft.call("heft_signing_key_public", loaded).decode()
        self.assertEqual(public, heft.call("heft_signing_key_public", key).decode())
        data = bytes(heft.call("heft_model_serialize", world.model))
        signed = heft.call("heft_signing_key_sign", loaded, data,
                           heft.options(role="trainer", life=600))
        trust = heft.call("heft_trust_new")
        self.refused("FAILED_PRECONDITION", ".", "heft_open_signed", signed, trust, None, "model")
        heft.call("heft_trust_add", trust, "trainer", "tim", public)
        file, statement = heft.call("heft_open_signed", signed, trust,
                                    heft.options(roles=["trainer"], kind="MODL"), "model")
        self.assertEqual(bytes(file), data)
        self.assertEqual(text(statement)["signer_name"], "tim")
        file, statement = heft.call("heft_open_signed", signed, None, None, "model")
        self.assertEqual(text(statement)["signer"], public)
        heft.call("heft_trust_pin", trust, "ab" * 16, 3)
        heft.call("heft_trust_save", trust, "some.trust")
        described = ask("heft_trust_describe", heft.call("heft_trust_load", "some.trust"))
        self.assertEqual(described["keys"]["trainer"], [{"name": "tim", "key": public}])
        self.assertEqual(described["galleries"], [{"gallery_id": "ab" * 16, "generation": 3}])
        heft.call("heft_trust_revoke", trust, public)
        self.refused("FAILED_PRECONDITION", "revokes", "heft_open_signed", signed, trust, None, "model")

    def test_renewed_key_takes_the_gallery_along(self):
        model = world.model
        heft.call("heft_key_set_make", model, "old", None, None, None)
        old = heft.call("heft_key_owner_load", model, "old/secret.key", None)
        matcher = heft.call("heft_matcher_open", model, "old/evaluation.keys", "old/enrolment.keys")
        key = heft.call("heft_file_read", "old/encryption.key", 0)
        one = heft.call("heft_files_new")
        client = heft.call("heft_client_create", model, key)
        heft.call("heft_files_add", one, heft.call(
            "heft_client_encrypt", client, [rows("face", world.vectors["face"][:1])], ["ann"], None), "f")
        heft.call("heft_matcher_enrol", matcher, "moves", one, None, None, None, None)
        request = heft.call("heft_matcher_pending", matcher, world.open("moves"), 0, 0)
        admission, _ = heft.call("heft_key_owner_approve", old, request, None)
        trust = heft.call("heft_trust_load", "old/trust.heft")
        heft.call("heft_matcher_activate", matcher, "moves", admission, trust, None, None)
        heft.call("heft_matcher_fold", matcher, "moves")
        renewed = ask("heft_key_set_renew", old, "new", b"words", None, None)
        gallery = world.open("moves")
        key = heft.call("heft_file_read", renewed["rekeying_key"], 0)
        done = ask("heft_gallery_rekey", gallery, model, key, None, None)
        self.assertEqual(done["to"], renewed["key_id"])
        described = ask("heft_gallery_describe", world.open("moves"))
        self.assertEqual(described["key_id"], renewed["key_id"])
        self.assertEqual(described["revoked_keys"], [done["from"]])
