// SPDX-License-Identifier: Apache-2.0
// Engine: a model, one key set and the trusted signers, for all requests of a time. It never
// changes: its replacement is loaded and checked separately, and a request keeps the engine that it
// began with.
#ifndef HEFT_SERVICE_MATCHER_ENGINE_H_
#define HEFT_SERVICE_MATCHER_ENGINE_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "heft/desk.h"
#include "heft/gallery.h"
#include "heft/model.h"

namespace heft::service {

struct EngineFiles {
  std::string model;
  std::string evaluation_keys;
  std::string enrolment_keys;  // empty: none, for models of one ring
  std::string encryption_key;  // public: clients fetch it; empty: they have it from elsewhere
  std::string key_cache;       // folder of expanded keys; empty: beside the keys
  std::string trust;
};

struct Engine : TrustedServer {  // which has a trust file
  Model model;
  std::vector<uint8_t> model_file;      // as it is, signed or not
  std::vector<uint8_t> encryption_key;  // as it is; empty: none
  KeyId key_id{};
  ParamsId params_id{};  // of replies
  bool enrols = false;   // keys for enrolment and verification are there
  uint64_t loaded = 0;   // Unix seconds
};

// LoadEngine: one key owner of the trust file must have signed all keys; if the file lists
// trainers, one must have signed the model; the encryption key must belong to the same key set.
// Errors name the file.
absl::StatusOr<std::shared_ptr<const Engine>> LoadEngine(const EngineFiles& files);

// CurrentEngine: the engine for new requests.
class CurrentEngine {
 public:
  explicit CurrentEngine(std::shared_ptr<const Engine> engine) : engine_(std::move(engine)) {}
  std::shared_ptr<const Engine> Get() const {
    const std::lock_guard lock(mutex_);
    return engine_;
  }
  void Set(std::shared_ptr<const Engine> engine) {
    const std::lock_guard lock(mutex_);
    engine_.swap(engine);  // the old one, if this was its last holder, goes after the lock
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const Engine> engine_;
};

}  // namespace heft::service

#endif  // HEFT_SERVICE_MATCHER_ENGINE_H_
