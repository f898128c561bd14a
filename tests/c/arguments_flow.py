# SPDX-License-Identifier: Apache-2.0
"""What must not be NULL, and objects of another type."""
import heft_ctypes as h
from world import Case, ask, heft, objects, rows, world


class Arguments(Case):
    """Every pointer that must be there: NULL and objects of another type are refused, by name."""

    # By name, or function and name, of those that may be NULL.
    MAY_BE_NULL = {"options", "monitor", "user", "labels", "split", "audience", "request", "errors",
                   "enrolment_keys", "statement", "parts", "passphrases",
                   ("heft_key_owner_approve", "result"), ("heft_key_owner_approve_parts", "result"),
                   ("heft_key_owner_open_replies", "shards"), ("heft_key_owner_decide_replies", "shards"),
                   ("heft_key_owner_threshold_replies", "shards"), ("heft_key_owner_open_part", "shards"),
                   ("heft_key_owner_decide_part", "shards"),
                   ("heft_matcher_enrol", "trust"), ("heft_enrol_many", "trust"),
                   ("heft_shards_enrol", "trust"), ("heft_gallery_remove", "trust"),
                   ("heft_gallery_restore", "trust"), ("heft_gallery_restore", "matcher"),
                   ("heft_describe_file", "trust"),
                   ("heft_open_signed", "trust"), ("heft_matcher_identify", "trust"),
                   ("heft_matcher_identify_all", "trust"), ("heft_matcher_identify_together", "trust"),
                   ("heft_matcher_verify", "trust"), ("heft_matcher_verify_all", "trust"),
                   ("heft_shards_identify", "trust"),
                   ("heft_seal_import_secret_key", "enrolment"), ("heft_learn", "curve"), ("heft_model_open", "trust"), ("heft_scores_read", "impostor"), 
                   ("heft_scores_make", "subjects"), ("heft_scores_make", "labels"), ("heft_scores_make", "splits"),
                   ("heft_scores_parse", "impostor"),
                   ("heft_evaluate", "distractors"), ("heft_evaluate", "strangers"),
                   ("heft_evaluate", "names"), ("heft_evaluate", "study_options"),
                   ("heft_matcher_create_checked", "expanded_evaluation"),
                   ("heft_matcher_create_checked", "expanded_enrolment"),
                   ("heft_matcher_create_checked", "trust"), ("heft_expanded_keys_make", "path"),
                   ("heft_expanded_keys_open", "path"), ("heft_enrol_many", "next"),
                   ("heft_gallery_stats", "model"), ("heft_gallery_verify", "model"),
                   ("heft_key_owner_renew", "result"), ("heft_key_owner_renew_parts", "result"),
                   ("heft_matcher_identify_together", "options")}
    NEEDED_THERE = {("heft_enrol_many", "labels"),
                    ("heft_key_owner_approve", "request"), ("heft_key_owner_renew", "request"),
                    ("heft_key_owner_approve_part", "request"), ("heft_key_owner_approve_parts", "request"),
                    ("heft_key_owner_inquiry", "request"), ("heft_matcher_pending", "request"),
                    ("heft_key_owner_renew_part", "request"), ("heft_key_owner_renew_parts", "request"),
                    ("heft_gallery_ask_renewal", "request")}
    SETTERS = ("heft_options_set_", "heft_options_add_")

    def needed(self, function, name):
        if (function, name) in self.NEEDED_THERE:
            return True
        if function.startswith(self.SETTERS) or function == "heft_options_new":
            return name in ("options", "name", "value")
        return name not in self.MAY_BE_NULL and (function, name) not in self.MAY_BE_NULL

    def dummy(self, kind, keep):
        """Something of the type that is there."""
        handle = h.handle_of(kind)
        if handle and not kind.endswith("**") and "*const *" not in kind:
            return objects[handle].pointer
        if handle:
            keep.append((h.c.c_void_p * 2)())
            if "*const *" in kind:
                keep[-1][:] = [objects[handle].pointer] * 2
            return keep[-1]
        if kind == "const heft_rows *":
            keep.append((h.Rows * 1)(rows("face", world.vectors["face"][:1])))
            return keep[-1]
        if kind == "const heft_bytes *":
            keep.append((h.Bytes * 1)(h.Bytes(None, 0)))
            return keep[-1]
        if kind == "const heft_score_pair *":
            keep.append((h.ScorePair * 1)())
            return keep[-1]
        if kind == "const char *const *":
            keep.append((h.c.c_char_p * 1)(b"x"))
            return keep[-1]
        if kind in h.OUTPUTS or kind in ("float *", "heft_status *"):
            keep.append((h.OUTPUTS.get(kind, h.c.c_double) * 64)())
            return keep[-1]
        return {"const char *": b"x", "heft_bytes": h.Bytes(None, 0), "heft_monitor": h.MONITOR(),
                "heft_answer_request": h.ANSWER(), "heft_take_reply": h.TAKE(lambda *_: 0), "heft_sign": h.SIGN(lambda *_: 5), "void *": None}.get(kind, 1)

    def attempt(self, declared, index, value, others=()):
        keep, error = [], h.c.c_void_p()
        arguments = [self.dummy(kind, keep) for kind, _ in declared.parameters[:-1]]
        arguments[index] = value
        for other, its_value in others:
            arguments[other] = its_value
        status = heft.function(declared.name)(*arguments, h.c.byref(error))
        message = (heft.function("heft_error_message")(error) or b"").decode()
        heft.function("heft_error_free")(error)
        return heft.status_name(status), message

    def cases(self):
        for declared in heft.functions.values():
            if not declared.has_error():
                continue
            for index, (kind, name) in enumerate(declared.parameters[:-1]):
                yield declared, index, kind, name

    def test_null(self):
        tried = 0
        for declared, index, kind, name in self.cases():
            nothing = h.library.CALLBACKS[kind]() if kind in ("heft_take_reply", "heft_sign") else None
            if kind == "heft_bytes":
                nothing = h.Bytes(None, 5)
            elif h.handle_of(kind) is None and "*" not in kind and nothing is None:
                continue
            if kind != "heft_bytes" and not self.needed(declared.name, name):
                continue
            status, message = self.attempt(declared, index, nothing)
            self.assertEqual(status, "INVALID_ARGUMENT", f"{declared.name}({name})")
            self.assertIn(f"{name} is NULL", message, declared.name)
            tried += 1
        self.assertGreater(tried, 300)

    def test_another_type(self):
        tried = 0
        for declared, index, kind, name in self.cases():
            handle = h.handle_of(kind)
            if handle is None or kind.endswith("**") or "*const *" in kind:
                continue
            other = objects["client" if handle != "client" else "model"].pointer
            status, message = self.attempt(declared, index, other)
            self.assertEqual(status, "INVALID_ARGUMENT", f"{declared.name}({name})")
            self.assertIn(f"{name} is not a heft_{handle}", message, declared.name)
            tried += 1
        self.assertGreater(tried, 120)

    def test_free_takes_null_and_leaves_others_alone(self):
        for name in [n for n, of in heft.functions.items() if n.endswith("_free") and not of.has_error()]:
            heft.function(name)(None)
            kind = name[len("heft_"):-len("_free")]
            heft.function(name)(objects["model" if kind != "model" else "client"].pointer)
        self.assertEqual(ask("heft_model_describe", objects["model"])["gamma"], 16)
        self.assertIsNone(heft.function("heft_signing_key_public")(None))
        self.assertEqual(heft.function("heft_buffer_bytes")(None).size, 0)
