// SPDX-License-Identifier: Apache-2.0
// Key owner, client and server on one page, in C; roles.cc says what travels between them.
//   roles_in_c MODEL    a model for 64 numbers of a "face"; keys and gallery come to this folder
#include <heft.h>
#include <stdio.h>
#include <stdlib.h>

static heft_error* error = NULL;
static void Must(heft_status status) {
  if (status == HEFT_OK) return;
  fprintf(stderr, "%s: %s\n", heft_status_name(status), heft_error_message(error));
  exit(1);
}

int main(int argc, char** argv) {
  // All objects: each is made by a call below, and freed at the end.
  heft_model* model = NULL;
  heft_result *keys = NULL, *enrolled = NULL, *admitted = NULL, *decision = NULL;
  heft_key_owner* owner = NULL;
  heft_trust* trust = NULL;
  heft_client* client = NULL;
  heft_matcher* matcher = NULL;
  heft_gallery* gallery = NULL;
  heft_options *for_probes = NULL, *rule = NULL;
  heft_files *faces = NULL, *probe = NULL;
  heft_buffer *key = NULL, *file = NULL, *bobs = NULL, *asked = NULL, *answer = NULL, *reply = NULL;
  // Made-up vectors of three people: in the field, a network makes them.
  float values[3 * 64];
  for (int i = 0; i < 3 * 64; ++i) values[i] = (float)(i * 7919 % 1009 - 504);
  const heft_rows all = {"face", values, 3, 64}, bob = {"face", values + 64, 1, 64};
  const char* const names[] = {"ann", "bob", "cleo"};
  if (argc != 2) return 2;

  // Key owner: makes the keys. -> encryption.key to clients, evaluation and enrolment.keys to
  // servers
  Must(heft_model_load(argv[1], &model, &error));
  Must(heft_key_set_make(model, "keys", (heft_bytes){NULL, 0}, NULL, NULL, &keys, &error));
  Must(heft_key_owner_load(model, "keys/secret.key", (heft_bytes){NULL, 0}, &owner, &error));
  // Client: encrypts them to be enrolled, and Bob's as a probe. -> files to the server
  Must(heft_file_read("keys/encryption.key", 0, &key, &error));
  Must(heft_client_create(model, heft_buffer_bytes(key), &client, &error));
  Must(heft_client_encrypt(client, &all, names, NULL, &file, &error));
  Must(heft_options_new(&for_probes, &error));
  Must(heft_options_set_text(for_probes, "use", "identification", &error));
  Must(heft_client_encrypt(client, &bob, NULL, for_probes, &bobs, &error));
  // Server: enrols them, can read nobody. -> proofs of their norms to the key owner
  Must(heft_matcher_open(model, "keys/evaluation.keys", "keys/enrolment.keys", &matcher, &error));
  Must(heft_files_new(&faces, &error));
  Must(heft_files_add(faces, heft_buffer_bytes(file), "faces", &error));
  Must(heft_matcher_enrol(matcher, "gallery", faces, NULL, NULL, NULL, NULL, &enrolled, &error));
  Must(heft_gallery_open("gallery", &gallery, &error));
  Must(heft_matcher_pending(matcher, gallery, 0, 0, &asked, &error));
  heft_gallery_free(gallery);
  // Key owner: admits who waits, if their norms are right. -> back to the server, which believes
  // him
  Must(heft_key_owner_admit(owner, heft_buffer_bytes(asked), NULL, &answer, NULL, &error));
  Must(heft_trust_load("keys/trust.heft", &trust, &error));
  Must(heft_matcher_admit(matcher, "gallery", heft_buffer_bytes(answer), trust, NULL, NULL,
                          &admitted, &error));
  // Server: matches the probe. -> reply to the key owner
  Must(heft_gallery_open("gallery", &gallery, &error));
  Must(heft_files_new(&probe, &error));
  Must(heft_files_add(probe, heft_buffer_bytes(bobs), "probe", &error));
  Must(heft_matcher_identify(matcher, gallery, probe, NULL, NULL, NULL, &reply, &error));
  // Key owner: decides.
  int accepted = 0;
  const char* who = NULL;
  Must(heft_options_new(&rule, &error));
  Must(heft_options_set_number(rule, "score", 0.9, &error));
  Must(heft_key_owner_decide(owner, heft_buffer_bytes(reply), "reply", rule, &decision, &error));
  Must(heft_result_flag(decision, "/accepted", &accepted, &error));
  Must(heft_result_text(decision, "/identity", &who, &error));
  printf("%s %s\n", accepted ? "this is" : "nobody", who);
  const int right = accepted && who[0] == 'b';
  heft_buffer* const buffers[] = {key, file, bobs, asked, answer, reply};
  for (size_t i = 0; i < sizeof(buffers) / sizeof(buffers[0]); ++i) heft_buffer_free(buffers[i]);
  heft_result* const results[] = {keys, enrolled, admitted, decision};
  for (size_t i = 0; i < sizeof(results) / sizeof(results[0]); ++i) heft_result_free(results[i]);
  heft_options_free(for_probes), heft_options_free(rule);
  heft_files_free(faces), heft_files_free(probe);
  heft_gallery_free(gallery);
  heft_matcher_free(matcher);
  heft_client_free(client);
  heft_trust_free(trust);
  heft_key_owner_free(owner);
  heft_model_free(model);
  heft_error_free(error);
  return right ? 0 : 1;
}
