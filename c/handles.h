// SPDX-License-Identifier: Apache-2.0
// The content of the C interface's opaque objects, except those of the key owner and of learning.
#ifndef HEFT_C_HANDLES_H_
#define HEFT_C_HANDLES_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/numeric/int128.h"
#include "c/call.h"
#include "heft/c/base.h"
#include "heft/c/client.h"
#include "heft/c/matcher.h"
#include "heft/client.h"
#include "heft/files.h"
#include "heft/gallery.h"
#include "heft/model.h"
#include "heft/server.h"
#include "heft/shards.h"
#include "heft/trust.h"

// HEFT_C_HANDLE: the tag and the name of a type. The tag contains letters that differ by type.
#define HEFT_C_HANDLE(type, letters)                                \
  static constexpr uint64_t kTag = 0x68656674'00000000 | (letters); \
  static constexpr const char* kType = #type

struct heft_error : heft::c::Handle<heft_error> {
  HEFT_C_HANDLE(heft_error, 'erro');
  heft_status status = HEFT_OK;
  std::string message;
};

struct heft_buffer : heft::c::Handle<heft_buffer> {
  HEFT_C_HANDLE(heft_buffer, 'buff');
  explicit heft_buffer(std::vector<uint8_t> b) : bytes(std::move(b)) {}
  std::vector<uint8_t> bytes;
};

struct heft_options : heft::c::Handle<heft_options> {
  HEFT_C_HANDLE(heft_options, 'opti');
  struct EmptyList {};  // of texts or of numbers
  using Value = std::variant<std::string, absl::int128, double, bool, std::vector<uint8_t>,
                             std::vector<std::string>, std::vector<double>, EmptyList>;
  std::map<std::string, Value, std::less<>> values;
};

struct heft_result : heft::c::Handle<heft_result> {
  HEFT_C_HANDLE(heft_result, 'resu');
  explicit heft_result(heft::Json j) : json(std::move(j)) {}
  const heft::Json json;
  // Texts that were asked for, by member; ":" is the whole.
  mutable std::mutex mutex;
  mutable std::map<std::string, std::string> texts;
};

struct heft_model : heft::c::Handle<heft_model> {
  HEFT_C_HANDLE(heft_model, 'mode');
  explicit heft_model(heft::Model m) : model(std::move(m)) {}
  const heft::Model model;
};

struct heft_client : heft::c::Handle<heft_client> {
  HEFT_C_HANDLE(heft_client, 'clie');
  explicit heft_client(heft::Client c) : client(std::move(c)) {}
  const heft::Client client;
};

struct heft_signing_key : heft::c::Handle<heft_signing_key> {
  HEFT_C_HANDLE(heft_signing_key, 'sign');
  explicit heft_signing_key(heft::SigningKey k);
  const heft::SigningKey key;
  const std::string public_key;  // hexadecimal
};

struct heft_trust : heft::c::Handle<heft_trust> {
  HEFT_C_HANDLE(heft_trust, 'trus');
  heft::Trust trust;
};

struct heft_files : heft::c::Handle<heft_files> {
  HEFT_C_HANDLE(heft_files, 'file');
  std::vector<heft::SampleFile> files;
};

struct heft_matcher : heft::c::Handle<heft_matcher> {
  HEFT_C_HANDLE(heft_matcher, 'matc');
  heft_matcher(heft::Server s, const heft::SignerKey& k) : server(std::move(s)), key_owner(k) {}
  const heft::Server server;
  const heft::SignerKey key_owner;  // the signer of its keys; zeros: unknown
};

struct heft_expanded_keys : heft::c::Handle<heft_expanded_keys> {
  HEFT_C_HANDLE(heft_expanded_keys, 'expa');
  explicit heft_expanded_keys(heft::ExpandedKeys k) : keys(std::move(k)) {}
  const heft::ExpandedKeys keys;
};

struct heft_shards : heft::c::Handle<heft_shards> {
  HEFT_C_HANDLE(heft_shards, 'shar');
  explicit heft_shards(heft::ShardList l) : list(std::move(l)) {}
  const heft::ShardList list;
};

struct heft_gallery : heft::c::Handle<heft_gallery> {
  HEFT_C_HANDLE(heft_gallery, 'gall');
  // Signer: the key of the gallery's server once it was read. All objects that come from one have
  // it in common.
  struct Signer {
    std::mutex mutex;
    std::shared_ptr<const heft::SigningKey> key;
  };
  heft_gallery(heft::Gallery g, std::string n,
               std::shared_ptr<Signer> s = std::make_shared<Signer>())
      : gallery(std::move(g)), name(std::move(n)), signer(std::move(s)) {}
  // Held: kFailedPrecondition if the object does not keep its generation.
  absl::Status Held() const {
    if (!unread) return absl::OkStatus();
    return absl::FailedPreconditionError(
        "this gallery object does not keep its generation: use heft_gallery_newest");
  }
  heft::Gallery gallery;
  bool unread = false;
  const std::string name;  // its address
  const std::shared_ptr<Signer> signer;
};

#endif  // HEFT_C_HANDLES_H_
