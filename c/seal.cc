// SPDX-License-Identifier: Apache-2.0
#include "heft/seal.h"

#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "c/handles.h"
#include "c/result.h"
#include "c/seal_options.h"
#include "heft/c/seal.h"
#include "heft/results.h"

namespace heft::c {
namespace {

// Joined: files one after the other, and their sizes.
struct Joined {
  std::vector<uint8_t> bytes;
  std::vector<size_t> sizes;

  void Add(const std::vector<uint8_t>& file) {
    bytes.insert(bytes.end(), file.begin(), file.end());
    sizes.push_back(file.size());
  }
};

// Hand gives files and their description; after an error it gives neither.
void Hand(std::vector<uint8_t> bytes, Json json, heft_buffer** buffer, heft_result** result) {
  auto made = std::make_unique<heft_buffer>(std::move(bytes));
  *result = new heft_result(std::move(json));
  *buffer = made.release();
}

// Exactly: the `count` files of a call. kInvalidArgument for another number.
absl::StatusOr<std::vector<SealFile>> Exactly(size_t least, size_t most, const heft_files& files) {
  if (files.files.size() < least || files.files.size() > most) {
    return absl::InvalidArgumentError(
        absl::StrCat("keys: ", files.files.size(), " files; give ",
                     least == most ? absl::StrCat(least) : absl::StrCat(least, " or ", most)));
  }
  std::vector<SealFile> out;
  for (const SampleFile& file : files.files) out.push_back({file.bytes, file.name});
  return out;
}

Json RepliesJson(const SealScores& scores) {
  Json json = Json::array();
  for (const SealScores::Reply& reply : scores.replies) {
    Json answers = Json::array();
    for (const SealScores::Answer& answer : reply.answers) {
      answers.push_back(Json::array({answer.slot, answer.lane}));
    }
    json.push_back(Json::object({{"answers", std::move(answers)}, {"block", reply.block}}));
  }
  return json;
}

std::vector<uint8_t> BytesOf(const std::vector<double>& numbers) {
  const auto* first = reinterpret_cast<const uint8_t*>(numbers.data());
  return {first, first + numbers.size() * sizeof(double)};
}

}  // namespace
}  // namespace heft::c

using heft::Json;
using heft::c::AsMonitor;
using heft::c::Call;
using heft::c::Given;
using heft::c::Hand;
using heft::c::ParseKeyId;
using heft::c::SealOptions;
using heft::c::Span;

heft_status heft_seal_export_parameters(const heft_model* model, const heft_options* options,
                                        heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", result, "result"));
    SealOptions how;
    HEFT_RETURN_IF_ERROR(how.Read(options, /*with_compression=*/true, /*with_ring=*/true));
    HEFT_ASSIGN_OR_RETURN(const auto parameters,
                          heft::ExportSealParameters(model->model, how.compression, how.ring));
    *result = new heft_result(heft::c::RecordJson(parameters));
    return absl::OkStatus();
  });
}

heft_status heft_seal_export_encryption_key(const heft_model* model, heft_bytes key,
                                            const char* what, const heft_options* options,
                                            heft_buffer** exported, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", key, "key", what, "what", exported, "exported"));
    SealOptions how;
    HEFT_RETURN_IF_ERROR(how.Read(options, /*with_compression=*/true, /*with_ring=*/true));
    HEFT_ASSIGN_OR_RETURN(auto bytes, heft::ExportSealEncryptionKey(model->model, Span(key), what,
                                                                    how.compression, how.ring));
    *exported = new heft_buffer(std::move(bytes));
    return absl::OkStatus();
  });
}

heft_status heft_seal_export_samples(const heft_model* model, heft_bytes samples, const char* what,
                                     const heft_options* options, heft_monitor monitor, void* user,
                                     heft_buffer** ciphertexts, heft_result** result,
                                     heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", samples, "samples", what, "what", ciphertexts,
                               "ciphertexts", result, "result"));
    SealOptions how;
    HEFT_RETURN_IF_ERROR(how.Read(options, /*with_compression=*/true, /*with_ring=*/false));
    const auto given = Span(samples);
    HEFT_ASSIGN_OR_RETURN(
        const auto out, heft::ExportSealSamples(model->model, {{given.begin(), given.end()}, what},
                                                how.compression, AsMonitor(monitor, user)));
    heft::c::Joined joined;
    for (const std::vector<uint8_t>& one : out.ciphertexts) joined.Add(one);
    Hand(std::move(joined.bytes),
         Json({{"sizes", joined.sizes}, {"labels", out.labels}, {"bulk", out.bulk}}), ciphertexts,
         result);
    return absl::OkStatus();
  });
}

heft_status heft_seal_export_scores(const heft_model* model, heft_bytes reply, const char* what,
                                    const heft_options* options, heft_buffer** ciphertexts,
                                    heft_buffer** factors, heft_result** result,
                                    heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", reply, "reply", what, "what", ciphertexts,
                               "ciphertexts", factors, "factors", result, "result"));
    SealOptions how;
    HEFT_RETURN_IF_ERROR(how.Read(options, /*with_compression=*/true, /*with_ring=*/false));
    HEFT_ASSIGN_OR_RETURN(const auto out,
                          heft::ExportSealScores(model->model, Span(reply), what, how.compression));
    heft::c::Joined joined;
    for (const heft::SealScores::Reply& one : out.replies) joined.Add(one.ciphertext);
    joined.Add(out.squared_norm);
    joined.Add(out.squared_norm_turned);
    auto numbers = std::make_unique<heft_buffer>(heft::c::BytesOf(out.factors));
    Hand(std::move(joined.bytes),
         Json({{"sizes", joined.sizes},
               {"kind", heft::ScoreKindName(out.kind)},
               {"probe", out.probe},
               {"claimed", out.claimed},
               {"templates", out.templates},
               {"identities", out.identities},
               {"replies", heft::c::RepliesJson(out)}}),
         ciphertexts, result);
    *factors = numbers.release();
    return absl::OkStatus();
  });
}

heft_status heft_seal_new_key_id(heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(result, "result"));
    *result = new heft_result(Json({{"key_id", heft::c::Hex(heft::NewKeyId())}}));
    return absl::OkStatus();
  });
}

heft_status heft_seal_import_encryption_key(const heft_model* model, const char* key_id,
                                            const heft_files* keys, heft_buffer** imported,
                                            heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(model, "model", key_id, "key_id", keys, "keys", imported, "imported"));
    HEFT_ASSIGN_OR_RETURN(const heft::KeyId id, ParseKeyId(key_id));
    HEFT_ASSIGN_OR_RETURN(const auto files, heft::c::Exactly(1, 2, *keys));
    HEFT_ASSIGN_OR_RETURN(
        auto bytes, heft::ImportSealEncryptionKey(model->model, id, files[0].bytes, files[0].name,
                                                  files.size() > 1 ? files[1] : heft::SealFile{}));
    *imported = new heft_buffer(std::move(bytes));
    return absl::OkStatus();
  });
}

heft_status heft_seal_import_evaluation_keys(const heft_model* model, const char* key_id,
                                             const heft_files* keys, heft_monitor monitor,
                                             void* user, heft_buffer** imported,
                                             heft_result** result, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", key_id, "key_id", keys, "keys", imported, "imported",
                               result, "result"));
    HEFT_ASSIGN_OR_RETURN(const heft::KeyId id, ParseKeyId(key_id));
    HEFT_ASSIGN_OR_RETURN(const auto files, heft::c::Exactly(2, 2, *keys));
    HEFT_ASSIGN_OR_RETURN(auto out,
                          heft::ImportSealEvaluationKeys(model->model, id, files[0], files[1],
                                                         AsMonitor(monitor, user)));
    Hand(std::move(out.bytes), Json({{"galois_keys", out.galois_keys}}), imported, result);
    return absl::OkStatus();
  });
}

heft_status heft_seal_import_samples(const heft_model* model, const char* modality,
                                     const char* key_id, const heft_files* ciphertexts,
                                     const heft_options* options, heft_monitor monitor, void* user,
                                     heft_buffer** imported, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(model, "model", modality, "modality", key_id, "key_id", ciphertexts,
                               "ciphertexts", imported, "imported"));
    std::vector<std::string> labels;
    HEFT_RETURN_IF_ERROR(heft::c::OptionReader(options).Texts("labels", &labels).Finish());
    HEFT_ASSIGN_OR_RETURN(const heft::KeyId id, ParseKeyId(key_id));
    HEFT_ASSIGN_OR_RETURN(
        auto bytes, heft::ImportSealSamples(model->model, modality, id, ciphertexts->files, labels,
                                            AsMonitor(monitor, user)));
    *imported = new heft_buffer(std::move(bytes));
    return absl::OkStatus();
  });
}
