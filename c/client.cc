// SPDX-License-Identifier: Apache-2.0
#include "heft/client.h"

#include "c/handles.h"
#include "c/samples.h"

using heft::c::Call;
using heft::c::Given;
using heft::c::SampleRows;

heft_status heft_client_create(const heft_model* model, heft_bytes encryption_key, const char* what,
                               heft_client** client, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(
        Given(model, "model", encryption_key, "encryption_key", what, "what", client, "client"));
    HEFT_ASSIGN_OR_RETURN(auto made,
                          heft::Client::Create(model->model, heft::c::Span(encryption_key), what));
    *client = new heft_client(std::move(made));
    return absl::OkStatus();
  });
}

void heft_client_free(heft_client* client) { heft::c::Free(client); }

heft_status heft_client_encrypt(const heft_client* client, const heft_rows* rows,
                                const char* const* labels, const heft_options* options,
                                heft_buffer** file, heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(client, "client", rows, "rows", file, "file"));
    SampleRows samples;
    HEFT_RETURN_IF_ERROR(
        samples.Read(client->client.model().modalities, rows, 1, labels, options, /*fused=*/false));
    HEFT_ASSIGN_OR_RETURN(auto bytes, client->client.Encrypt(samples.views()[0]));
    *file = new heft_buffer(std::move(bytes));
    return absl::OkStatus();
  });
}

heft_status heft_client_encrypt_fused(const heft_client* client, const heft_rows* modalities,
                                      size_t count, const char* const* labels,
                                      const heft_options* options, heft_buffer** file,
                                      heft_error** error) {
  return Call(error, [&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(Given(client, "client", modalities, "modalities", file, "file"));
    SampleRows samples;
    HEFT_RETURN_IF_ERROR(samples.Read(client->client.model().modalities, modalities, count, labels,
                                      options, /*fused=*/true));
    HEFT_ASSIGN_OR_RETURN(auto bytes, client->client.EncryptFused(samples.views()));
    *file = new heft_buffer(std::move(bytes));
    return absl::OkStatus();
  });
}
