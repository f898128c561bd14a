// SPDX-License-Identifier: Apache-2.0
// heft_direct: times the library's calls in C++ on the files and vectors that overhead.py gives to
// Python's classes. Only for that script. Each call returns seconds.
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "heft/client.h"
#include "heft/files.h"
#include "heft/gallery.h"
#include "heft/model.h"
#include "heft/server.h"

namespace {

// A status that is not OK ends the measurement.
void Need(const absl::Status& status) {
  if (status.ok()) return;
  std::cerr << status << std::endl;
  std::exit(1);
}
template <typename T>
T Take(absl::StatusOr<T> value) {
  Need(value.status());
  return *std::move(value);
}

template <typename F>
double Seconds(F f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

// Roles: client and server of one key set.
struct Roles {
  heft::Client client;
  heft::Server server;
  std::optional<heft::Gallery> gallery;
};
Roles* roles = nullptr;

std::vector<heft::SampleFile> FilesOf(const char* const* paths, size_t count) {
  std::vector<heft::SampleFile> files;
  for (const char* path : std::span(paths, count)) {
    files.push_back({Take(heft::ReadFile(path)), path});
  }
  return files;
}

}  // namespace

extern "C" {

HEFT_EXPORT void direct_open(const char* folder) {
  const std::string in = std::string(folder) + "/";
  const heft::Model model = Take(heft::LoadModel(in + "model.heft"));
  const auto encryption = Take(heft::ReadFile(in + "encryption.key"));
  const auto evaluation = Take(heft::ReadFile(in + "evaluation.keys"));
  const auto enrolment = Take(heft::ReadFile(in + "enrolment.keys"));
  roles = new Roles{Take(heft::Client::Create(model, encryption)),
                    Take(heft::Server::Create(model, evaluation, "keys", enrolment, "keys")),
                    std::nullopt};
}

HEFT_EXPORT double direct_encrypt(const char* modality, const float* values, size_t dimension) {
  return Seconds([&] { Take(roles->client.Encrypt({modality, std::span(values, dimension)})); });
}

HEFT_EXPORT double direct_enrol(const char* gallery, const char* const* paths, size_t count) {
  std::vector<heft::SampleFile> files = FilesOf(paths, count);
  return Seconds([&] { Take(roles->server.Enrol(gallery, std::move(files))); });
}

HEFT_EXPORT double direct_identify(const char* gallery, const char* const* paths, size_t count) {
  std::vector<heft::SampleFile> files = FilesOf(paths, count);
  if (!roles->gallery) roles->gallery = Take(heft::Gallery::Open(gallery));
  return Seconds([&] {
    const heft::Gallery newest = Take(roles->gallery->Newest());
    Take(roles->server.Identify(newest, std::move(files)));
  });
}

}  // extern "C"
