// SPDX-License-Identifier: Apache-2.0
// multipart/form-data: ReadParts reads it, FormBody writes it. RFC 7578, RFC 2046.
#include <algorithm>
#include <functional>

#include "absl/strings/str_cat.h"
#include "base/csprng.h"
#include "service/http/client.h"
#include "service/http/message.h"
#include "service/text.h"

namespace heft::service {
namespace {

constexpr size_t kMaxPartHeader = 4096;

absl::Status Wrong(std::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("multipart/form-data: ", std::string(what)));
}

// ParameterOf: the parameter `name` of "form-data; name=\"a\"; filename=\"b\""; empty if missing.
// nullopt if a quote does not close.
std::optional<std::string> ParameterOf(std::string_view value, std::string_view name) {
  size_t at = value.find(';');
  while (at != value.npos) {
    std::string_view rest = Trim(value.substr(at + 1));
    const size_t equals = rest.find_first_of("=;");
    if (equals == rest.npos || rest[equals] == ';') {
      at = value.find(';', at + 1);
      continue;
    }
    const std::string_view key = Trim(rest.substr(0, equals));
    rest.remove_prefix(equals + 1);
    std::string text;
    size_t used = 0;
    if (!rest.empty() && rest.front() == '"') {
      for (used = 1; used < rest.size() && rest[used] != '"'; ++used) {
        if (rest[used] == '\\' && used + 1 < rest.size()) ++used;
        text += rest[used];
      }
      if (used >= rest.size()) return std::nullopt;
      ++used;
    } else {
      used = std::min(rest.find(';'), rest.size());
      text = std::string(Trim(rest.substr(0, used)));
    }
    if (SameText(key, name)) return text;
    at = value.find(';', rest.data() + used - value.data());
  }
  return "";
}

absl::StatusOr<std::string> BoundaryOf(const HttpRequest& request) {
  if (!IsForm(request)) {
    return absl::InvalidArgumentError("this needs Content-Type: multipart/form-data");
  }
  const std::string type = request.Header("content-type");
  const auto boundary = ParameterOf(type, "boundary");
  if (!boundary || boundary->empty() || boundary->size() > 70)
    return Wrong("the boundary is not valid");
  return *boundary;
}

// ReadPartHeader: `header` is the text before the empty line, without the end of its last line.
absl::Status ReadPartHeader(std::string_view header, Part* part) {
  bool disposed = false;
  while (!header.empty()) {
    const size_t end = std::min(header.find("\r\n"), header.size());
    const std::string_view line = header.substr(0, end);
    header.remove_prefix(std::min(end + 2, header.size()));
    const size_t colon = line.find(':');
    if (colon == line.npos) return Wrong("a header line of a part has no colon");
    const std::string_view name = line.substr(0, colon);
    const std::string_view value = Trim(line.substr(colon + 1));
    if (SameText(name, "content-type")) part->content_type = std::string(value);
    if (SameText(name, "content-transfer-encoding") && !SameText(value, "binary") &&
        !SameText(value, "8bit")) {
      return Wrong("a part with a transfer encoding: send its bytes unencoded");
    }
    if (!SameText(name, "content-disposition")) continue;
    if (disposed) return Wrong("a part with two Content-Dispositions");
    disposed = true;
    if (!SameText(value.substr(0, 9), "form-data")) return Wrong("a part that is not form-data");
    const auto form_name = ParameterOf(value, "name");
    const auto file_name = ParameterOf(value, "filename");
    if (!form_name || !file_name) return Wrong("quotes that are not closed");
    part->name = *form_name;
    part->file_name = *file_name;
  }
  return disposed && !part->name.empty() ? absl::OkStatus() : Wrong("a part without a name");
}

size_t FindIn(std::string_view text, std::string_view what, size_t from) {
  const auto found = std::search(text.begin() + from, text.end(),
                                 std::boyer_moore_horspool_searcher(what.begin(), what.end()));
  return found == text.end() ? text.npos : found - text.begin();
}

}  // namespace

bool IsForm(const HttpRequest& request) {
  const std::string type = request.Header("content-type");
  return SameText(Trim(std::string_view(type).substr(0, std::min(type.find(';'), type.size()))),
                  "multipart/form-data");
}

absl::StatusOr<std::vector<Part>> ReadParts(const HttpRequest& request, size_t most) {
  const auto boundary = BoundaryOf(request);
  if (!boundary.ok()) return boundary.status();
  const std::span<const uint8_t> bytes = request.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string first = absl::StrCat("--", *boundary);
  const std::string between = absl::StrCat("\r\n", first);
  if (!text.starts_with(first)) return Wrong("the body does not start with its boundary");
  std::vector<Part> parts;
  for (size_t at = first.size();;) {
    if (text.substr(at, 2) == "--") break;
    if (text.substr(at, 2) != "\r\n") return Wrong("no line break after a boundary");
    at += 2;
    if (parts.size() == most) return Wrong(absl::StrCat("more than ", most, " parts"));
    const size_t header_end = text.substr(at, kMaxPartHeader + 4).find("\r\n\r\n");
    if (header_end == text.npos) return Wrong("a header of a part does not end within 4 kB");
    Part part;
    const absl::Status read = ReadPartHeader(text.substr(at, header_end), &part);
    if (!read.ok()) return read;
    at += header_end + 4;
    // For an empty part, the boundary starts with the line end of its header.
    const size_t end = FindIn(text, between, at - 2);
    if (end == text.npos) return Wrong("a part that does not end");
    part.bytes = bytes.subspan(at, end < at ? 0 : end - at);
    parts.push_back(std::move(part));
    at = end + between.size();
  }
  if (parts.empty()) return Wrong("no parts");
  return parts;
}

std::pair<std::string, std::vector<uint8_t>> FormBody(const std::vector<FormPart>& parts,
                                                      const std::vector<FormPart>& more) {
  // Random, so that the bytes of a part contain it only with probability 2^-128.
  std::array<uint8_t, 16> random;
  Csprng().Fill(random);
  std::string boundary = "heft";
  for (const uint8_t byte : random) absl::StrAppend(&boundary, absl::Hex(byte, absl::kZeroPad2));
  std::vector<uint8_t> body;
  size_t size = 0;
  for (const auto* list : {&parts, &more}) {
    for (const FormPart& part : *list) size += part.bytes.size() + 512;
  }
  body.reserve(size);
  const auto add = [&](std::string_view text) {
    body.insert(body.end(), text.begin(), text.end());
  };
  const auto add_part = [&](const FormPart& part) {
    add(absl::StrCat("--", boundary, "\r\nContent-Disposition: form-data; name=\"", part.name,
                     "\""));
    if (!part.file_name.empty()) add(absl::StrCat("; filename=\"", part.file_name, "\""));
    if (!part.content_type.empty()) add(absl::StrCat("\r\nContent-Type: ", part.content_type));
    add("\r\n\r\n");
    body.insert(body.end(), part.bytes.begin(), part.bytes.end());
    add("\r\n");
  };
  for (const auto* list : {&parts, &more}) std::ranges::for_each(*list, add_part);
  add(absl::StrCat("--", boundary, "--\r\n"));
  return {"multipart/form-data; boundary=" + boundary, std::move(body)};
}

}  // namespace heft::service
