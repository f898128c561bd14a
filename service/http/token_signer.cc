// SPDX-License-Identifier: Apache-2.0
#include "service/http/token_signer.h"

#include <dlfcn.h>
#include <p11-kit/pkcs11.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/bytes.h"
#include "base/secure.h"
#include "base/status.h"
#include "service/http/private_key.h"
#include "service/http/token_uri.h"
#include "service/run/log.h"
#include "service/text.h"

namespace heft::service {
namespace {

constexpr size_t kPublicSize = 32, kSignatureSize = 64;

// Failed: PKCS#11 reports errors as numbers (section 2 of its specification).
absl::Status Failed(absl::StatusCode code, const std::string& what, const char* did, CK_RV why) {
  return {code, absl::StrCat(what, ": ", did, " failed: CKR ", absl::StrFormat("0x%x", why))};
}

// Module: a library that is loaded once a process and never unloaded, because others may use it.
struct Module {
  std::mutex mutex;  // of all that is done with it here: one thing at a time
  CK_FUNCTION_LIST* p11 = nullptr;
  bool ours = false;   // it was begun here
  uint64_t begun = 0;  // number of initialisations; each ends older sessions
};

absl::Status Load(const std::string& path, const std::string& what, Module* module) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  const auto list =
      library == nullptr
          ? nullptr
          : reinterpret_cast<CK_C_GetFunctionList>(dlsym(library, "C_GetFunctionList"));
  if (list == nullptr || list(&module->p11) != CKR_OK) {
    const char* const why = dlerror();
    return absl::FailedPreconditionError(
        absl::StrCat(what, ": ", path, " is not a PKCS#11 module (module-path): ",
                     why == nullptr ? "it has no function list" : why));
  }
  return absl::OkStatus();
}

CK_RV Initialize(CK_FUNCTION_LIST* p11) {
  CK_C_INITIALIZE_ARGS arguments = {};
  arguments.flags = CKF_OS_LOCKING_OK;
  return p11->C_Initialize(&arguments);
}

absl::StatusOr<Module*> ModuleOf(const std::string& path, const std::string& what) {
  static std::mutex mutex;
  static auto* const all = new std::map<std::string, Module>;
  const std::lock_guard<std::mutex> lock(mutex);
  if (const auto found = all->find(path); found != all->end()) return &found->second;
  Module* const module = &(*all)[path];
  const absl::Status loaded = Load(path, what, module);
  const CK_RV begun = loaded.ok() ? Initialize(module->p11) : CKR_OK;
  module->ours = begun == CKR_OK;
  if (loaded.ok() && (begun == CKR_OK || begun == CKR_CRYPTOKI_ALREADY_INITIALIZED)) return module;
  all->erase(path);
  HEFT_RETURN_IF_ERROR(loaded);
  return Failed(absl::StatusCode::kFailedPrecondition, what, "C_Initialize", begun);
}

// BeginAnew: a module finds a reinserted token only if it is initialised again. Not while OpenSSL's
// engine is in use, as it would lose its keys.
bool BeginAnew(Module* module) {
  if (!module->ours || TokenEngineIsLoaded()) return false;
  ++module->begun;
  module->p11->C_Finalize(nullptr);
  return Initialize(module->p11) == CKR_OK;
}

// RefusesPin: after these errors, each further login may bring the token closer to locking itself.
bool RefusesPin(CK_RV why) {
  return why == CKR_PIN_INCORRECT || why == CKR_PIN_INVALID || why == CKR_PIN_LEN_RANGE ||
         why == CKR_PIN_EXPIRED || why == CKR_PIN_LOCKED;
}

// Labelled: a token's label is padded with spaces to 32 characters.
bool Labelled(const CK_TOKEN_INFO& info, const std::string& label) {
  std::string text(reinterpret_cast<const char*>(info.label), sizeof info.label);
  text.erase(text.find_last_not_of(' ') + 1);
  return text == label;
}

// kPause: for this time a missing token is not tried again, and one that has just signed counts as
// present.
constexpr std::chrono::seconds kPause(1);

class Token : public TokenSigner, public std::enable_shared_from_this<Token> {
 public:
  Token(std::string text, TokenUri uri, Module* module)
      : text_(std::move(text)), uri_(std::move(uri)), module_(module), p11_(module->p11) {}
  ~Token() override {
    const std::lock_guard<std::mutex> lock(module_->mutex);
    Drop();
  }

  const std::array<uint8_t, 32>& public_key() const override { return public_; }

  absl::StatusOr<std::array<uint8_t, 64>> Sign(std::span<const uint8_t> message) override {
    const std::lock_guard<std::mutex> lock(module_->mutex);
    absl::StatusOr<std::array<uint8_t, 64>> signature = SignNow(message);
    if (!signature.ok() && Clock::now() >= not_before_) {
      const absl::Status begun = BeginOnceMore();
      signature = begun.ok() ? SignNow(message) : begun;
      if (!signature.ok()) not_before_ = Clock::now() + kPause;
      Tell(signature.status());
    }
    if (signature.ok()) {
      signed_ = Clock::now();
      return signature;
    }
    Drop();
    return absl::UnavailableError("the signing key does not answer");
  }

  absl::Status Answers() override {
    {
      const std::lock_guard<std::mutex> lock(module_->mutex);
      if (session_ && Clock::now() < signed_ + kPause) return absl::OkStatus();
    }
    return Sign(AsBytes(std::string_view("heft: does this key answer?"))).status();
  }

  absl::StatusOr<std::function<void()>> PrepareReload() override {
    HEFT_ASSIGN_OR_RETURN(TokenUri anew, ParseTokenUri(text_));
    const auto held = std::make_shared<TokenUri>(std::move(anew));
    return [self = shared_from_this(), held] {
      const std::lock_guard<std::mutex> lock(self->module_->mutex);
      self->uri_.pin = std::move(held->pin);
      self->refused_ = CKR_OK;
      self->not_before_ = {};
    };
  }

  absl::Status Open() {
    const std::lock_guard<std::mutex> lock(module_->mutex);
    return Begin();
  }

 private:
  using Clock = std::chrono::steady_clock;

  // Drop: closes the session, if it still exists.
  void Drop() {
    if (session_ && session_of_ == module_->begun) p11_->C_CloseSession(*session_);
    session_.reset();
  }

  absl::Status BeginOnceMore() {
    const absl::Status begun = Begin();
    if (begun.ok() || refused_ != CKR_OK || !BeginAnew(module_)) return begun;
    return Begin();
  }

  // Begin: opens a session and finds the key in it.
  absl::Status Begin() {
    Drop();
    HEFT_ASSIGN_OR_RETURN(const CK_SLOT_ID slot, FindSlot());
    CK_SESSION_HANDLE session;
    const CK_RV done = p11_->C_OpenSession(slot, CKF_SERIAL_SESSION, nullptr, nullptr, &session);
    if (done != CKR_OK) return Error("C_OpenSession", done);
    session_ = session;
    session_of_ = module_->begun;
    HEFT_RETURN_IF_ERROR(Login());
    HEFT_ASSIGN_OR_RETURN(key_, Find(CKO_PRIVATE_KEY));
    HEFT_ASSIGN_OR_RETURN(const CK_OBJECT_HANDLE half, Find(CKO_PUBLIC_KEY));
    return ReadPublic(half);
  }

  absl::Status Login() {
    if (uri_.pin.size() == 0) return absl::OkStatus();
    CK_RV done = refused_;
    if (done == CKR_OK) {
      done = p11_->C_Login(*session_, CKU_USER, reinterpret_cast<CK_UTF8CHAR*>(uri_.pin.data()),
                           uri_.pin.size() - 1);
    }
    if (done == CKR_OK || done == CKR_USER_ALREADY_LOGGED_IN) return absl::OkStatus();
    if (!RefusesPin(done)) return Error("C_Login", done);
    refused_ = done;
    return absl::FailedPreconditionError(
        absl::StrCat(uri_.uri, ": the token refuses the PIN (CKR ", absl::StrFormat("0x%x", done),
                     "), and it is not tried again because the token would lock: correct the file "
                     "of pin-source, then reload"));
  }

  // Tell: logs a change of the state.
  void Tell(const absl::Status& now) {
    const std::string why = Message(now);
    if (why == told_) return;
    told_ = why;
    if (now.ok()) {
      LogLine(LogLevel::kInfo, "the signing key answers again");
    } else {
      LogLine(LogLevel::kError, "the signing key does not answer", {{"why", why}});
    }
  }

  absl::Status Error(const char* did, CK_RV why) const {
    return Failed(absl::StatusCode::kUnavailable, uri_.uri, did, why);
  }

  absl::StatusOr<CK_SLOT_ID> FindSlot() const {
    CK_ULONG count = 0;
    CK_RV done = p11_->C_GetSlotList(CK_TRUE, nullptr, &count);
    std::vector<CK_SLOT_ID> slots(count);
    if (done == CKR_OK) done = p11_->C_GetSlotList(CK_TRUE, slots.data(), &count);
    if (done != CKR_OK) return Error("C_GetSlotList", done);
    slots.resize(std::min<size_t>(slots.size(), count));
    for (const CK_SLOT_ID slot : slots) {
      CK_TOKEN_INFO info;
      if (p11_->C_GetTokenInfo(slot, &info) == CKR_OK && Labelled(info, uri_.token)) return slot;
    }
    // Not kNotFound, because tokens come back.
    return absl::UnavailableError(absl::StrCat(uri_.uri, ": no token has the label ", uri_.token));
  }

  // Find: the only Edwards key of this class with the URI's label.
  absl::StatusOr<CK_OBJECT_HANDLE> Find(CK_OBJECT_CLASS kind) const {
    CK_KEY_TYPE type = CKK_EC_EDWARDS;
    std::string label = uri_.object;
    CK_ATTRIBUTE wanted[] = {{CKA_CLASS, &kind, sizeof kind},
                             {CKA_KEY_TYPE, &type, sizeof type},
                             {CKA_LABEL, label.data(), label.size()}};
    CK_RV done = p11_->C_FindObjectsInit(*session_, wanted, std::size(wanted));
    if (done != CKR_OK) return Error("C_FindObjectsInit", done);
    CK_OBJECT_HANDLE found[2];
    CK_ULONG count = 0;
    done = p11_->C_FindObjects(*session_, found, 2, &count);
    p11_->C_FindObjectsFinal(*session_);
    if (done != CKR_OK) return Error("C_FindObjects", done);
    if (count == 1) return found[0];
    return absl::NotFoundError(absl::StrCat(uri_.uri, ": ", count == 0 ? "no" : "more than one",
                                            kind == CKO_PRIVATE_KEY ? " private" : " public",
                                            " Ed25519 key of the label ", uri_.object,
                                            " (the token needs both halves; is the PIN right?)"));
  }

  // ReadPublic: tokens give 32 bytes, or an OCTET STRING with these.
  absl::Status ReadPublic(CK_OBJECT_HANDLE half) {
    std::array<uint8_t, 64> point;
    CK_ATTRIBUTE attribute = {CKA_EC_POINT, point.data(), point.size()};
    const CK_RV done = p11_->C_GetAttributeValue(*session_, half, &attribute, 1);
    if (done != CKR_OK) return Error("C_GetAttributeValue", done);
    size_t skip = 0;
    if (attribute.ulValueLen == kPublicSize + 2 && point[0] == 0x04 && point[1] == kPublicSize) {
      skip = 2;
    }
    if (attribute.ulValueLen != kPublicSize + skip) {
      return absl::FailedPreconditionError(absl::StrCat(uri_.uri, ": is not an Ed25519 key"));
    }
    std::array<uint8_t, kPublicSize> key;
    std::copy_n(point.begin() + skip, key.size(), key.begin());
    // The key may not change after it was opened: no role would accept another key's signatures.
    if (public_ != decltype(public_){} && public_ != key) {
      return absl::UnavailableError(
          absl::StrCat(uri_.uri, ": has changed to another key: restart"));
    }
    public_ = key;
    return absl::OkStatus();
  }

  absl::StatusOr<std::array<uint8_t, 64>> SignNow(std::span<const uint8_t> message) {
    if (!session_ || session_of_ != module_->begun) {
      return absl::UnavailableError(absl::StrCat(uri_.uri, ": no session"));
    }
    CK_MECHANISM mechanism = {CKM_EDDSA, nullptr, 0};
    CK_RV done = p11_->C_SignInit(*session_, &mechanism, key_);
    if (done != CKR_OK) return Error("C_SignInit", done);
    std::array<uint8_t, kSignatureSize> signature;
    CK_ULONG size = signature.size();
    done = p11_->C_Sign(*session_, const_cast<uint8_t*>(message.data()), message.size(),
                        signature.data(), &size);
    if (done != CKR_OK || size != signature.size()) return Error("C_Sign", done);
    return signature;
  }

  const std::string text_;  // the URI with its query
  TokenUri uri_;
  Module* const module_;  // whose mutex is of all below, and of the PIN
  CK_FUNCTION_LIST* const p11_;
  std::optional<CK_SESSION_HANDLE> session_;
  uint64_t session_of_ = 0;       // Module::begun when it was made
  CK_RV refused_ = CKR_OK;        // why the token took no PIN
  Clock::time_point not_before_;  // after a failure, no attempt before this time
  Clock::time_point signed_;      // last
  std::string told_;
  CK_OBJECT_HANDLE key_ = CK_INVALID_HANDLE;
  std::array<uint8_t, kPublicSize> public_{};
};

}  // namespace

absl::StatusOr<std::shared_ptr<TokenSigner>> TokenSigner::Open(const std::string& uri) {
  HEFT_ASSIGN_OR_RETURN(TokenUri parsed, ParseTokenUri(uri));
  if (parsed.module.empty() || parsed.token.empty() || parsed.object.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(parsed.uri, ": give token=, object= and module-path="));
  }
  HEFT_ASSIGN_OR_RETURN(Module* const module, ModuleOf(parsed.module, parsed.uri));
  const auto token = std::make_shared<Token>(uri, std::move(parsed), module);
  HEFT_RETURN_IF_ERROR(token->Open());
  return std::shared_ptr<TokenSigner>(token);
}

}  // namespace heft::service
