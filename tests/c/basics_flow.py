# SPDX-License-Identifier: Apache-2.0
"""Versions, options, results, each kind of error; learning."""
import array
import json
import pathlib
import threading
import unittest

import heft_ctypes as h
from world import DIMENSIONS, PEOPLE, SAMPLES, Case, ask, floats, galleries, heft, rows, text, world


class Basics(Case):
    def test_versions(self):
        self.assertEqual(heft.call("heft_abi"), 1)
        self.assertRegex(heft.call("heft_version").decode(), r"^\d+\.\d+\.\d+$")
        self.assertEqual(heft.status_name(15), "DATA_LOSS")
        self.assertEqual(heft.status_name(77), "UNKNOWN")

    def test_process(self):
        before = heft.call("heft_thread_count")
        heft.call("heft_set_thread_count", 2)
        self.assertEqual(heft.call("heft_thread_count"), 2)
        heft.call("heft_set_thread_count", 0)
        self.assertEqual(heft.call("heft_thread_count"), before)
        self.assertIn(heft.call("heft_instruction_set").decode(), ask("heft_instruction_sets"))
        thread = threading.Thread(target=heft.call, args=["heft_give_way"])  # only of that thread
        thread.start()
        thread.join()
        try:
            heft.call("heft_secure_memory")
        except h.HeftError as error:  # where little memory may be locked
            self.assertEqual(error.status, "UNAVAILABLE")
        heft.call("heft_disable_core_dumps")

    def test_options(self):
        options = heft.options(gamma=8, epochs=1.5)
        self.refused("INVALID_ARGUMENT", "epochs.* is an integer", "heft_learn", world.data, options,
                     None, None)
        self.refused("INVALID_ARGUMENT", "\"gama\" is not one of this call's options: gamma, ", "heft_learn",
                     world.data, heft.options(gama=8), None, None)
        self.refused("INVALID_ARGUMENT", "gamma.* is 1099511627776: it must be in .*, 2147483647", "heft_learn",
                     world.data, heft.options(gamma=1 << 40), None, None)
        self.refused("INVALID_ARGUMENT", "seed.* is -1: it must be in", "heft_learn", world.data,
                     heft.options(seed=-1), None, None)
        people = heft.options(identities=3, samples=1)
        heft.call("heft_options_set_unsigned", people, "seed", (1 << 64) - 1)
        heft.call("heft_dataset_synthesise", people)
        for dimensions in [[], [8]]:  # an empty list is one, to which can be added
            heft.call("heft_options_set_empty_list", people, "dimensions")
            for dimension in dimensions:
                heft.call("heft_options_add_number", people, "dimensions", dimension)
            if dimensions:
                heft.call("heft_dataset_synthesise", people)
            else:
                self.refused("INVALID_ARGUMENT", "1 dimension", "heft_dataset_synthesise", people)
        self.refused("INVALID_ARGUMENT", "is not a list", "heft_options_add_text", options,
                     "gamma", "x")

    def test_results(self):
        result = heft.call("heft_model_describe", world.model)
        described = text(result)
        self.assertEqual([m["name"] for m in described["modalities"]], ["face", "voice"])
        self.assertEqual(heft.call("heft_result_text", result, "/modalities/1/name"), "voice")
        self.assertEqual(heft.call("heft_result_integer", result, "/gamma"), 16)
        self.assertEqual(heft.call("heft_result_number", result, "/interval/0"),
                         described["interval"][0])
        self.assertEqual(heft.call("heft_result_size", result, "/modalities"), 2)
        self.assertEqual(heft.call("heft_result_size", result, ""), len(described))
        for member in ["/nobody", "gamma", "/modalities/2", "/modalities/-1", "/gamma/x"]:
            self.refused("NOT_FOUND", "has no member", "heft_result_text", result, member)
        for kind in ["text", "number", "integer", "flag"]:
            self.refused("INVALID_ARGUMENT", "is not of type", f"heft_result_{kind}", result,
                         "/modalities")

    def test_error_object_is_used_again(self):
        error = h.c.c_void_p()
        load = heft.function("heft_model_load")
        model = h.c.c_void_p()
        for path in [b"nowhere", b"elsewhere"]:
            self.assertEqual(load(path, h.c.byref(model), h.c.byref(error)), 5)
            first = error.value
            self.assertIn(path, heft.function("heft_error_message")(error))
        self.assertEqual(error.value, first)
        self.assertEqual(load(b"nowhere", h.c.byref(model), None), 5)  # the text is not wanted
        self.assertIsNone(model.value)
        heft.function("heft_error_free")(error)
        self.assertEqual(heft.function("heft_error_message")(None), b"")


class Kinds(Case):
    """Each kind of error at least once."""

    def test_cancelled(self):
        stop = h.MONITOR(lambda user, what, done, total, note: 1)
        small = heft.options(iterations=1, templates=16, dimensions=[8.0, 8.0], gammas=[8.0],
                             skip_large=True, large_templates=16)
        self.refused("CANCELLED", ".", "heft_run_benchmark", small, stop, None)
        with self.assertRaises(h.HeftError):  # another kind without gnuplot
            heft.call("heft_run_sweep", small, stop, None)
        self.refused("CANCELLED", ".", "heft_learn", world.data, heft.options(gamma=8), stop, None)

    def test_not_found(self):
        self.refused("NOT_FOUND", "nowhere", "heft_gallery_open", "nowhere")

    def test_already_exists(self):
        self.refused("ALREADY_EXISTS", ".", "heft_key_set_make", world.model, "keys", None, None, None)

    def test_resource_exhausted(self):
        owner = heft.call("heft_key_owner_generate", world.model)
        matcher = heft.call("heft_matcher_create", world.model,
                            heft.call("heft_key_owner_evaluation_keys", owner, None, None),
                            heft.call("heft_key_owner_enrolment_keys", owner, None, None))
        files = heft.call("heft_files_new")
        one = [rows("face", world.vectors["face"][:1])]
        key = heft.call("heft_key_owner_encryption_key", owner)
        client = heft.call("heft_client_create", world.model, key, "key")
        heft.call("heft_files_add", files, heft.call("heft_client_encrypt", client, one, ["ann"], None),
                  "face")
        heft.call("heft_matcher_enrol", matcher, "small", files, None, None, None, None)
        trust = heft.call("heft_trust_new")
        signer = heft.call("heft_key_owner_signer", owner)
        heft.call("heft_trust_add", trust, "key-owner", "owner",
                  heft.call("heft_signing_key_public", signer).decode())
        request = heft.call("heft_matcher_pending", matcher, world.open("small"), None)
        admission, _ = heft.call("heft_key_owner_approve", owner, request, "request", None)
        heft.call("heft_matcher_activate", matcher, "small", admission, trust, None, None)
        reply = heft.call("heft_matcher_verify", matcher, world.open("small"), files, "ann", None, None)
        self.refused("RESOURCE_EXHAUSTED", "no score of a person", "heft_key_owner_open", owner, reply,
                     "r", None)
        heft.call("heft_key_owner_set_budget", owner, heft.options(decisions=2, client_bits=1))
        rule = heft.options(score=0.5)
        for status in ["OK", "RESOURCE_EXHAUSTED"]:
            reply = heft.call("heft_matcher_verify", matcher, world.open("small"), files, "ann", None, None)
            if status == "OK":
                self.assertEqual(ask("heft_key_owner_decide", owner, reply, "r", rule)["accepted"], True)
            else:
                self.refused(status, ".", "heft_key_owner_decide", owner, reply, "r", rule)

    def test_failed_precondition(self):
        self.refused("FAILED_PRECONDITION", "passphrase", "heft_key_owner_load", world.model,
                     "keys/secret.key", None)
        # No text has a secret in it.
        self.refused("INVALID_ARGUMENT", "^(?!.*other words).*passphrase", "heft_key_owner_load",
                     world.model, "keys/secret.key", b"other words")

    def test_out_of_range(self):
        self.refused("OUT_OF_RANGE", ".", "heft_model_threshold", world.model, 1e-9, None)

    def test_unavailable(self):
        self.refused("UNAVAILABLE", ".", "heft_file_write", "/dev/full", b"x" * 100000)

    def test_data_loss(self):
        self.refused("DATA_LOSS", "junk", "heft_model_parse", b"no model", "junk")

    def test_out_of_memory(self):
        options, error = heft.options(), h.c.c_void_p()
        status = heft.function("heft_options_set_bytes")(
            options.pointer, b"authorisation", h.Bytes(1, 1 << 62), h.c.byref(error))
        self.assertEqual(heft.status_name(status), "OUT_OF_MEMORY")
        self.assertIn(b"out of memory", heft.function("heft_error_message")(error))
        heft.function("heft_error_free")(error)
        status = heft.function("heft_file_write")(b"x", h.Bytes(1, (1 << 64) - 1), None)
        self.assertEqual(heft.status_name(status), "INVALID_ARGUMENT")

    def test_internal(self):  # a callback's own status comes back as it is
        refuse = h.TAKE(lambda user, row, reply: 13)
        self.refused("INTERNAL", "refused", "heft_matcher_identify_all", world.matcher,
                     world.open(galleries.big), world.encrypt([1], "identification", False), None,
                     None, refuse, None, None)


class Callbacks(unittest.TestCase):
    """What programs give the library."""

    def test_a_copy_of_bytes_is_a_buffer(self):
        self.assertEqual(bytes(heft.call("heft_buffer_copy", b"some bytes")), b"some bytes")
        self.assertEqual(bytes(heft.call("heft_buffer_copy", b"")), b"")

    def test_a_wait_ends_when_the_program_says_so(self):
        stop = h.INTERRUPTED(lambda: 1)
        heft.function("heft_set_interrupted_check")(stop)
        try:
            with self.assertRaisesRegex(h.HeftError, "CANCELLED"):
                heft.call("heft_file_write", "never", b"x")
        finally:
            heft.function("heft_set_interrupted_check")(h.INTERRUPTED())
        heft.call("heft_file_write", "written", b"x")


class Learning(Case):
    def test_data(self):
        described = ask("heft_dataset_describe", world.data)
        self.assertEqual(described["rows"], PEOPLE * SAMPLES)
        self.assertEqual(described["labels"], world.labels)
        room = floats([0] * DIMENSIONS["voice"])
        heft.call("heft_dataset_vector", world.data, 1, 7, room, DIMENSIONS["voice"])
        self.assertEqual(list(room), list(floats(world.vectors["voice"][7])))
        for modality, row, size in [(2, 0, 16), (1, 1000, 16), (1, 0, 15)]:
            self.refused("INVALID_ARGUMENT", ".", "heft_dataset_vector", world.data, modality, row,
                         room, size)
        heft.call("heft_dataset_write", world.data, "data")
        again = heft.call("heft_dataset_load", "data", heft.options(split_seed=1, labelled=True))
        self.assertEqual(ask("heft_dataset_describe", again)["labels"], world.labels)
        made = heft.call("heft_dataset_synthesise",
                         heft.options(identities=4, samples=2, dimensions=[3.0, 5.0]))
        self.assertEqual(ask("heft_dataset_describe", made)["rows"], 8)

    def test_rows_that_do_not_agree(self):
        short = [rows("face", world.vectors["face"]), rows("voice", world.vectors["voice"][1:])]
        self.refused("INVALID_ARGUMENT", "119 rows", "heft_dataset_from_rows", short, 2, world.labels,
                     None, 1)
        huge = h.Rows(b"face", floats([1]), 1 << 40, 1 << 40)
        self.refused("INVALID_ARGUMENT", "more than any memory", "heft_dataset_from_rows", [huge], 1,
                     ["a"], None, 1)

    def test_model(self):
        self.assertIn("AUROC", json.dumps(ask("heft_model_describe", world.model)).upper())
        self.assertTrue(world.steps)
        loaded = heft.call("heft_model_load", "model.heft")
        data = bytes(heft.call("heft_model_serialize", loaded))
        parsed = heft.call("heft_model_parse", data, "model")
        self.assertEqual(bytes(heft.call("heft_model_serialize", heft.call("heft_model_open", data, None, "model"))),
                         data)
        trust = heft.call("heft_trust_new")
        heft.call("heft_model_open", data, trust, "model")
        heft.call("heft_trust_add", trust, "trainer", "school", "ab" * 32)
        self.refused("FAILED_PRECONDITION", ".", "heft_model_open", data, trust, "model")
        self.assertEqual(ask("heft_model_describe", parsed), ask("heft_model_describe", world.model))
        at = ask("heft_model_threshold", world.model, 0.1, None)
        self.assertEqual((at["rate"], at["of"]), (0.1, "comparisons"))
        at = ask("heft_model_search_threshold", world.model, 0.2, 6, 1, None)
        self.assertEqual(at["of"], "searches")
        self.assertEqual(ask("heft_inspect", data, "model")["kind"], "MODL")
        described = ask("heft_describe_file", "model.heft", heft.options(plan=True), None)
        self.assertEqual(described["facts"]["kind"], "model")
        self.assertEqual(described["facts"]["plan"], ask("heft_describe_plan", world.model))

    def test_profiles(self):
        profile = ask("heft_describe_profile", "standard")
        self.assertIn("128", profile["security"])
        params_id = ask("heft_inspect", world.file("evaluation_keys"), "keys")["params_id"]
        self.assertEqual(ask("heft_profile_of", params_id)["name"], "standard")
        self.assertIsNone(ask("heft_profile_of", "00" * 16))
        self.refused("INVALID_ARGUMENT", "flooded", "heft_describe_profile", "thick")
        self.refused("INVALID_ARGUMENT", "32 hexadecimal", "heft_profile_of", "standard")

    def test_vectors_and_labels(self):
        pathlib.Path("rows.txt").write_text("1 2 3\n4 5 6\n")
        values, count, dimension = heft.call("heft_vectors_read", "rows.txt")
        self.assertEqual((count, dimension), (2, 3))
        self.assertEqual(list(array.array("f", bytes(values))), [1, 2, 3, 4, 5, 6])
        pathlib.Path("names.txt").write_text("ann\nbob\n")
        self.assertEqual(ask("heft_labels_read", "names.txt"), ["ann", "bob"])
        self.refused("NOT_FOUND", "nowhere", "heft_labels_read", "nowhere")

    def test_calibration(self):
        # These people trained the model.
        self.refused("FAILED_PRECONDITION", "trained the model", "heft_calibrate", world.model,
                     world.data, None, None, None)
        made = heft.call("heft_dataset_synthesise",
                         heft.options(identities=40, samples=4, seed=9,
                                      dimensions=[float(d) for d in DIMENSIONS.values()]))
        model = heft.call("heft_calibrate", world.model, made, heft.options(seed=1, against_wolves=False), None, None)
        said, before = ask("heft_model_describe", model), ask("heft_model_describe", world.model)
        self.assertEqual(said["model_id"], before["model_id"])
        self.assertGreaterEqual(said["training"]["calibration"]["people"], 10)
        self.assertNotIn("calibration", before["training"])

    def test_the_same_training_twice(self):
        again, curve = heft.call("heft_learn", world.data,
                                 heft.options(gamma=16, epochs=4, seed=3, with_curve=True), None, None)
        self.assertEqual([step["epoch"] for step in text(curve)][:2], [0, 1])
        self.assertEqual(ask("heft_model_describe", again)["model_id"],
                         ask("heft_model_describe", world.model)["model_id"])
