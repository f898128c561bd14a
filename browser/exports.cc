// SPDX-License-Identifier: Apache-2.0
// The module's exports: the client's role of include/heft/, with pointers and sizes in its memory,
// only for package/core.js. A call that can fail returns 0 if it has failed. Other output, or the
// error, is the result until the next call.
#include <emscripten/emscripten.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "base/bytes.h"
#include "base/secure.h"
#include "base/status.h"
#include "browser/random.h"
#include "browser/result.h"
#include "heft/base.h"
#include "heft/client.h"
#include "heft/files.h"
#include "heft/model.h"
#include "heft/trust.h"

namespace heft::browser {
namespace {

std::span<const uint8_t> Bytes(const uint8_t* data, size_t size) { return {data, size}; }
std::string Text(const char* data, size_t size) { return std::string(data, size); }

}  // namespace

// ClientOfModel: a client and its model.
struct ClientOfModel {
  Model model;
  Client client;
};

// Request: the input of one encrypted file, put together call by call.
struct Request {
  struct Rows {
    std::string modality;
    std::vector<float> values;
  };
  std::vector<Rows> rows;
  std::vector<std::string> labels;
  SampleEncoding encoding = SampleEncoding::kCompact;
  SampleUse use = SampleUse::kEnrolment;
  bool average = false;

  ~Request() {
    // The values are biometric data.
    for (Rows& one : rows) SecureWipe(one.values.data(), one.values.size() * sizeof(float));
  }
};

namespace {

// CheckedModel: checks the signatures of model and key if there is a trust file.
absl::StatusOr<Model> CheckedModel(std::span<const uint8_t> model, std::span<const uint8_t> key,
                                   const std::optional<Trust>& trust) {
  if (trust) {
    const Expected owner = {.roles = {Role::kKeyOwner}, .kind = "PUBK"};
    const Expected trainer = {.roles = {Role::kTrainer}, .kind = "MODL"};
    HEFT_RETURN_IF_ERROR(OpenSigned(key, *trust, owner, "encryption key").status());
    if (trust->Lists(Role::kTrainer)) {
      HEFT_RETURN_IF_ERROR(OpenSigned(model, *trust, trainer, "model").status());
    }
  }
  return Model::Parse(model, "model");
}

absl::StatusOr<std::unique_ptr<ClientOfModel>> MakeClient(std::span<const uint8_t> model,
                                                          std::span<const uint8_t> key,
                                                          std::string_view trust_text) {
  std::optional<Trust> trust;
  if (!trust_text.empty()) {
    HEFT_ASSIGN_OR_RETURN(trust, Trust::Parse(trust_text, "trust"));
  }
  HEFT_ASSIGN_OR_RETURN(Model checked, CheckedModel(model, key, trust));
  HEFT_ASSIGN_OR_RETURN(Client client, Client::Create(checked, key, "encryption key"));
  return std::make_unique<ClientOfModel>(ClientOfModel{std::move(checked), std::move(client)});
}

std::vector<Samples> SamplesOf(const Request& request) {
  std::vector<Samples> out;
  for (const Request::Rows& rows : request.rows) {
    out.push_back({.modality = rows.modality,
                   .values = rows.values,
                   .labels = request.labels,
                   .encoding = request.encoding,
                   .use = request.use,
                   .average = request.average});
  }
  return out;
}

Json Describe(const Model& model) {
  Json modalities = Json::array();
  for (const ModalitySpec& modality : model.modalities) {
    modalities.push_back({{"name", modality.name}, {"dimension", modality.dimension}});
  }
  return {{"id", HexString(model.Id())},
          {"profile", model.profile},
          {"gamma", model.gamma},
          {"modalities", modalities},
          {"instructions", ActiveInstructionSet()}};
}

}  // namespace

extern "C" {

// 1 if the browser gives randomness; otherwise no other function may be called.
EMSCRIPTEN_KEEPALIVE int heft_start() { return CheckRandomness() ? 1 : 0; }
// Whether a trap was for want of randomness.
EMSCRIPTEN_KEEPALIVE int heft_randomness_failed() { return RandomnessFailed() ? 1 : 0; }

// Memory for the arguments of the calls below; release wipes it.
EMSCRIPTEN_KEEPALIVE uint8_t* heft_allocate(size_t size) {
  return static_cast<uint8_t*>(std::malloc(size == 0 ? 1 : size));
}
EMSCRIPTEN_KEEPALIVE void heft_release(uint8_t* data, size_t size) {
  SecureWipe(data, size);
  std::free(data);
}

// Its result: a description of the model, as JSON.
EMSCRIPTEN_KEEPALIVE ClientOfModel* heft_client(const uint8_t* model, size_t model_size,
                                                const uint8_t* key, size_t key_size,
                                                const char* trust, size_t trust_size) {
  auto client = MakeClient(Bytes(model, model_size), Bytes(key, key_size), {trust, trust_size});
  if (!client.ok()) {
    Fail(client.status());
    return nullptr;
  }
  Succeed(Describe((*client)->model).dump());
  return client->release();
}
EMSCRIPTEN_KEEPALIVE void heft_client_release(ClientOfModel* client) { delete client; }

// `encoding`, `use`: the numbers of SampleEncoding and SampleUse.
EMSCRIPTEN_KEEPALIVE Request* heft_request(int encoding, int use, int average) {
  auto* request = new Request;
  request->encoding = static_cast<SampleEncoding>(encoding);
  request->use = static_cast<SampleUse>(use);
  request->average = average != 0;
  return request;
}
EMSCRIPTEN_KEEPALIVE void heft_request_rows(Request* request, const char* modality,
                                            size_t modality_size, const float* values,
                                            size_t count) {
  request->rows.push_back({Text(modality, modality_size), {values, values + count}});
}
EMSCRIPTEN_KEEPALIVE void heft_request_label(Request* request, const char* label, size_t size) {
  request->labels.push_back(Text(label, size));
}
EMSCRIPTEN_KEEPALIVE void heft_request_release(Request* request) { delete request; }

// Its result: the bytes of the file.
EMSCRIPTEN_KEEPALIVE int heft_encrypt(const ClientOfModel* client, const Request* request) {
  const std::vector<Samples> samples = SamplesOf(*request);
  const bool fused = request->encoding == SampleEncoding::kFused;
  if (!fused && samples.size() != 1) {
    return Fail(absl::InvalidArgumentError("one modality a file, unless they are fused"));
  }
  return Finish(fused ? client->client.EncryptFused(samples) : client->client.Encrypt(samples[0]));
}

}  // extern "C"

}  // namespace heft::browser
