# SPDX-License-Identifier: Apache-2.0
"""Keys, encryption, signatures."""
import json
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
        self.refused("INVALID_ARGUMENT", "dimension 48, the model has 24", "heft_client_encrypt",
                     world.client, [wrong], None, None)
        self.refused("INVALID_ARGUMENT", "enrolment", "heft_client_encrypt", world.client, one, None,
                     heft.options(use="nothing"))
        infinite = h.Rows(b"face", floats([float("inf")] * 24), 1, 24)
        self.refused("INVALID_ARGUMENT", ".", "heft_client_encrypt", world.client, [infinite], None, None)

    def test_expanded_keys(self):
        file = world.keys["evaluation_keys"]
        made = heft.call("heft_expanded_keys_make", world.model, file, None)
        self.assertEqual(os.path.getsize(file + ".expanded") >> 20,
                         ask("heft_expanded_keys_describe", made)["size"] >> 20)
        keys = heft.call("heft_expanded_keys_open", file, None)
        signer = ask("heft_expanded_keys_check", keys, world.trust, "EVAL")["signer"]
        self.refused("FAILED_PRECONDITION", ".", "heft_expanded_keys_check", keys, world.trust, "ENRK")
        self.refused("NOT_FOUND", "nowhere", "heft_expanded_keys_open", file, "nowhere")
        make = lambda evaluation, expanded, trust: heft.call(
            "heft_matcher_create_checked", world.model, evaluation, b"", expanded, None,
            heft.options(evaluation_name=file), trust)
        self.refused("FAILED_PRECONDITION", file, "heft_matcher_create_checked", world.model, None, None, keys,
                     None, heft.options(evaluation_name=file), heft.call("heft_trust_new"))
        for matcher, audience in ((heft.call("heft_matcher_open", world.model, file, None), ""),
                                  (make(None, keys, world.trust), signer),
                                  (make(world.file("evaluation_keys"), None, None), signer)):
            reply = heft.call("heft_matcher_identify", matcher, world.open(galleries.big),
                              world.encrypt([11], "identification", False), None, None, None, None)
            _, statement = heft.call("heft_open_signed", reply, None, None, "reply")
            self.assertEqual(text(statement)["audience"], audience)
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

    def test_signatures_of_a_token(self):
        key = heft.call("heft_signing_key_generate")
        public = heft.call("heft_signing_key_public", key).decode()
        said = b"the token is out"

        def fails(user, message, signature, reason):
            h.c.memmove(reason, said, len(said))
            return 14
        fails, zeros = h.SIGN(fails), h.SIGN(lambda *_: 0)
        for sign, why in [(fails, "the token is out"), (zeros, ".")]:
            outside = heft.call("heft_signing_key_outside", public, sign, None)
            self.assertEqual(heft.call("heft_signing_key_public", outside).decode(), public)
            self.refused("UNAVAILABLE", why, "heft_signing_key_sign", outside,
                         bytes(heft.call("heft_model_serialize", world.model)), heft.options(role="trainer"))
        self.refused("INVALID_ARGUMENT", ".", "heft_signing_key_outside", "no key", fails, None)
        heft.call("heft_use_gallery_signer", "signed elsewhere", public, fails, None)
        self.refused("INVALID_ARGUMENT", ".", "heft_use_gallery_signer", "elsewhere", "no key", fails, None)

    def test_trust_as_text_and_authorisations(self):
        key = heft.call("heft_signing_key_generate")
        public = heft.call("heft_signing_key_public", key).decode()
        trust = heft.call("heft_trust_new")
        word = heft.call("heft_authorise", key, "ab" * 16, "remove", "ann", 60)
        self.assertEqual(heft.call("heft_is_signed", word), 1)
        self.assertEqual(heft.call("heft_is_signed", b"HEFT"), 0)
        asked = (word, trust, "remove", "ab" * 16, "ann")
        self.refused("FAILED_PRECONDITION", ".", "heft_check_authorised", *asked)
        heft.call("heft_trust_add", trust, "registrar", "office", public)
        heft.call("heft_check_authorised", *asked)
        self.refused("FAILED_PRECONDITION", ".", "heft_check_authorised", *asked[:-1], "bob")
        words = bytes(heft.call("heft_trust_text", trust))
        again = heft.call("heft_trust_parse", words, "words")
        self.assertEqual(ask("heft_trust_describe", again), ask("heft_trust_describe", trust))
        self.refused("DATA_LOSS", "words", "heft_trust_parse", b"no trust file", "words")
        heft.call("heft_trust_save", trust, "guarded.trust")
        os.chmod("guarded.trust", 0o600)
        heft.call("heft_trust_load_guarded", "guarded.trust")
        os.chmod("guarded.trust", 0o666)
        self.refused("FAILED_PRECONDITION", ".", "heft_trust_load_guarded", "guarded.trust")

    def test_a_reply_states_its_request(self):
        files = world.encrypt([11], "identification", False)
        reply = heft.call("heft_matcher_identify", world.matcher, world.open(galleries.big), files,
                          None, None, None, None)
        statement = text(heft.call("heft_open_signed", reply, None, None, "reply")[1])
        self.assertEqual(statement["request"], bytes(heft.call("heft_request_digest", files, 0)).hex())
        owner = ask("heft_key_owner_describe", world.owner)["signer"]
        self.assertEqual((len(statement["nonce"]), statement["audience"], statement["subject"]), (32, owner, ""))

    def test_conditions(self):
        odd = json.dumps({"key": "list", "values": ["a|b", "x..y"]})
        self.assertEqual(ask("heft_condition_read", odd)["values"], ["a|b", "x..y"])
        adult = ask("heft_condition_read", "age=18..")
        self.assertEqual((adult["at_least"], adult["at_most"], adult["text"]), (18, None, "age=18.."))
        for metadata, where, fits in [(["list=a|b", "age=30"], [odd, "age=18.."], 1), (["age=17"], ["age=18.."], 0),
                                      (["site=berlin", "site=paris"], ["site=paris"], 1)]:
            self.assertEqual(heft.call("heft_fits", heft.options(metadata=metadata, where=where)), fits)
        for wrong in ["site", '{"key": 5}', '{"key": "a", "values": [5]}', '{"key": "a", "at_most": "b"}', '{"a']:
            self.refused("INVALID_ARGUMENT", ".", "heft_condition_read", wrong)
        self.refused("INVALID_ARGUMENT", "finite", "heft_condition_read", '{"key": "a", "at_most": "nan"}')

    def test_expiry(self):
        self.assertEqual(heft.call("heft_parse_expiry", "2027-01-16", 1800000000), 1800057600)
        self.assertEqual(heft.call("heft_parse_expiry", "90d", 0), 90 * 86400)
        self.assertGreater(heft.call("heft_parse_expiry", "1y", 2**64 - 1), 1800000000)
        self.refused("INVALID_ARGUMENT", ".", "heft_parse_expiry", "90", 0)

    def test_renewed_key_takes_the_gallery_along(self):
        model = world.model
        heft.call("heft_key_set_make", model, "old", None, None, None)
        old = heft.call("heft_key_owner_load", model, "old/secret.key", None)
        matcher = heft.call("heft_matcher_open", model, "old/evaluation.keys", "old/enrolment.keys")
        key = heft.call("heft_file_read", "old/encryption.key", "keys")
        one = heft.call("heft_files_new")
        client = heft.call("heft_client_create", model, key, "key")
        heft.call("heft_files_add", one, heft.call(
            "heft_client_encrypt", client, [rows("face", world.vectors["face"][:1])], ["ann"], None), "f")
        heft.call("heft_matcher_enrol", matcher, "moves", one, None, None, None, None)
        request = heft.call("heft_matcher_pending", matcher, world.open("moves"), None)
        admission, _ = heft.call("heft_key_owner_approve", old, request, "request", None)
        trust = heft.call("heft_trust_load", "old/trust.heft")
        heft.call("heft_matcher_activate", matcher, "moves", admission, trust, None, None)
        heft.call("heft_matcher_fold", matcher, "moves")
        renewed = ask("heft_key_set_renew", old, "new", b"words", None, None)
        gallery = world.open("moves")
        key = heft.call("heft_file_read", renewed["rekeying_key"], "keys")
        done = ask("heft_gallery_rekey", gallery, model, key, None, None)
        self.assertEqual(done["to"], renewed["key_id"])
        described = ask("heft_gallery_describe", world.open("moves"))
        self.assertEqual(described["key_id"], renewed["key_id"])
        self.assertEqual(described["revoked_keys"], [done["from"]])
