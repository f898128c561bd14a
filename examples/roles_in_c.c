// SPDX-License-Identifier: Apache-2.0
// Key owner, client and server on one page, in C; roles.cc says what travels between them.
//   roles_in_c MODEL    a model for 64 numbers of a "face"; keys and gallery come to this folder
#include <heft.h>
#include <stdio.h>

int main(int argc, char** argv) {
  float values[3 * 64];  // made-up vectors of three people: in the field, a network makes them
  for (int i = 0; i < 3 * 64; ++i) values[i] = (float)(i * 7919 % 1009 - 504);
  const heft_rows all = {"face", values, 3, 64}, bob = {"face", values + 64, 1, 64};
  const char *const names[] = {"ann", "bob", "cleo"}, *who = NULL;
  int accepted = 0;
  // All objects, each freed where this block ends. Calls answer 0, which is HEFT_OK, or why not.
  HEFT_AUTO(error)* error = NULL;
  HEFT_AUTO(model)* model = NULL;
  HEFT_AUTO(key_owner)* owner = NULL;
  HEFT_AUTO(trust)* trust = NULL;
  HEFT_AUTO(client)* client = NULL;
  HEFT_AUTO(matcher)* matcher = NULL;
  HEFT_AUTO(gallery)* pending = NULL, *gallery = NULL;
  HEFT_AUTO(options)* as = NULL, *rule = NULL;
  HEFT_AUTO(files)* in = NULL, *one = NULL;
  HEFT_AUTO(result)* keys = NULL, *enrolled = NULL, *activated = NULL, *decision = NULL;
  HEFT_AUTO(buffer)* key = NULL, *file = NULL, *face = NULL;
  HEFT_AUTO(buffer)* asked = NULL, *admission = NULL, *reply = NULL;
  if (heft_model_load(argc == 2 ? argv[1] : NULL, &model, &error) ||
      // Key owner: makes keys. -> encryption.key to clients, the evaluation's to servers
      heft_key_set_make(model, "keys", (heft_bytes){NULL, 0}, NULL, NULL, &keys, &error) ||
      heft_key_owner_load(model, "keys/secret.key", (heft_bytes){NULL, 0}, &owner, &error) ||
      // Client: encrypts them to be enrolled, and Bob's as a probe. -> files to the server
      heft_file_read("keys/encryption.key", "keys", &key, &error) ||
      heft_client_create(model, heft_buffer_bytes(key), "encryption.key", &client, &error) ||
      heft_client_encrypt(client, &all, names, NULL, &file, &error) ||
      heft_options_new(&as, &error) || heft_options_set_text(as, "use", "identification", &error) ||
      heft_client_encrypt(client, &bob, NULL, as, &face, &error) ||
      // Server: enrols them, and can read none. -> proofs of their norms to the key owner
      heft_matcher_open(model, "keys/evaluation.keys", "keys/enrolment.keys", &matcher, &error) ||
      heft_files_new(&in, &error) || heft_files_add(in, heft_buffer_bytes(file), "file", &error) ||
      heft_matcher_enrol(matcher, "gallery", in, NULL, NULL, NULL, NULL, &enrolled, &error) ||
      heft_gallery_open("gallery", &pending, &error) ||
      heft_matcher_pending(matcher, pending, NULL, &asked, &error) ||
      // Key owner: approves the pending templates if their norms are right. -> back to the server
      heft_key_owner_approve(owner, heft_buffer_bytes(asked), "request", NULL, &admission, NULL,
                             &error) ||
      // Server: checks the key owner's signature, and matches the probe. -> reply to the key owner
      heft_trust_load("keys/trust.heft", &trust, &error) ||
      heft_matcher_activate(matcher, "gallery", heft_buffer_bytes(admission), trust, NULL, NULL,
                            &activated, &error) ||
      heft_gallery_open("gallery", &gallery, &error) || heft_files_new(&one, &error) ||
      heft_files_add(one, heft_buffer_bytes(face), "probe", &error) ||
      heft_matcher_identify(matcher, gallery, one, NULL, NULL, NULL, NULL, &reply, &error) ||
      // Key owner: decides.
      heft_options_new(&rule, &error) || heft_options_set_number(rule, "score", 0.9, &error) ||
      heft_key_owner_decide(owner, heft_buffer_bytes(reply), "reply", rule, &decision, &error) ||
      heft_result_flag(decision, "/accepted", &accepted, &error) ||
      heft_result_text(decision, "/identity", &who, &error))
    fprintf(stderr, "%s\n", heft_error_message(error));
  else
    printf("%s: %s\n", accepted ? "accept" : "reject", who);
  return accepted && who[0] == 'b' ? 0 : 1;
}
