// SPDX-License-Identifier: Apache-2.0
#include "base/audit_chain.h"

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "base/bytes.h"
#include "base/files.h"
#include "base/status.h"
#include "heft/files.h"

namespace heft::audit {
namespace {

// EventOf: a line parsed; null if it is not JSON.
Json EventOf(const std::string& line) { return Json::Parse(line).value_or(Json()); }

}  // namespace

std::string NoHash() { return std::string(2 * sizeof(Hash), '0'); }

std::string HashOf(std::string_view line) { return HexString(HashBytes(AsBytes(line))); }

uint64_t NumberOf(const std::string& line) {
  const Json event = EventOf(line);
  const Json* const number = event.find("seq");
  return number != nullptr && number->is_number_unsigned() ? number->get<uint64_t>() : 0;
}

absl::Status CannotDo(std::string_view what, const std::string& path) {
  return absl::UnavailableError(
      absl::StrCat("cannot ", std::string(what), " ", path, ": ", std::strerror(errno)));
}

namespace {

// CheckLine: OK if `line` is the next one of the chain, otherwise the reason why not.
absl::Status CheckLine(const std::string& line, const AuditHead& head) {
  const Json event = EventOf(line);
  if (!event.is_object()) return absl::DataLossError("is no JSON object");
  const Json* const number = event.find("seq");
  const Json* const before = event.find("prev");
  if (number == nullptr || !number->is_number_unsigned() ||
      number->get<uint64_t>() != head.lines + 1) {
    return absl::DataLossError(
        absl::StrCat("is not number ", head.lines + 1, ": lines were left out, moved or added"));
  }
  if (before == nullptr || !before->is_string() || before->get<std::string>() != head.hash) {
    return absl::DataLossError("does not follow from the line before it: one of them was changed");
  }
  return absl::OkStatus();
}

// Begin: the chain up to a line about `last` bytes before the end of the file, which is trusted.
// For a shorter file, the chain starts at its beginning, which follows `after`. `file` is then at
// the next line.
absl::StatusOr<Chain> Begin(std::ifstream* file, const std::string& path, uint64_t last,
                            const AuditHead& after) {
  Chain chain;
  chain.head = after;
  file->seekg(0, std::ios::end);
  const auto size = static_cast<uint64_t>(file->tellg());
  if (size <= last) {
    file->seekg(0);
    return chain;
  }
  file->seekg(static_cast<std::streamoff>(size - last));
  std::string line;
  std::getline(*file, line);  // the rest of one
  if (!std::getline(*file, line) || file->eof()) {
    return absl::DataLossError(
        absl::StrCat(path, " ends in a line that is longer than the lines of an audit log"));
  }
  chain.head = {NumberOf(line), HashOf(line)};
  chain.bytes = static_cast<uint64_t>(file->tellg());
  if (chain.head.lines == 0) {
    return absl::DataLossError(absl::StrCat(
        path, ", ", chain.bytes, " bytes from its beginning: ", "a line without a number"));
  }
  return chain;
}

}  // namespace

absl::StatusOr<Chain> ReadChain(const std::string& path, const AuditHead* expected,
                                const UseLine& use, const AuditHead& after, uint64_t last) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return FileExists(path) ? CannotDo("read", path) : absl::NotFoundError(path + " is not there");
  }
  HEFT_ASSIGN_OR_RETURN(Chain chain, Begin(&file, path, last, after));
  const bool any = expected == nullptr || expected->lines <= after.lines;
  if (expected != nullptr && expected->lines > 0 && expected->lines == after.lines &&
      expected->hash != after.hash) {
    return absl::DataLossError(
        absl::StrCat(path, " does not follow line ", after.lines,
                     " as it was noted: all earlier lines may have been rewritten"));
  }
  bool met = any;
  std::string line;
  while (std::getline(file, line)) {
    if (file.eof()) {  // no line's end
      chain.torn = true;
      chain.last = line;
      break;
    }
    const absl::Status good = line.size() > kMaxLine
                                  ? absl::DataLossError("is longer than the lines of an audit log")
                                  : CheckLine(line, chain.head);
    if (!good.ok()) {
      return absl::DataLossError(
          absl::StrCat(path, ":", chain.head.lines + 1, " ", std::string(good.message())));
    }
    chain.head = {chain.head.lines + 1, HashOf(line)};
    chain.bytes += line.size() + 1;
    if (!any && chain.head.lines == expected->lines) {
      if (chain.head.hash != expected->hash) {
        return absl::DataLossError(absl::StrCat(
            path, ":", expected->lines,
            " is not the line that was noted: all earlier lines may have been rewritten"));
      }
      met = true;
    }
    if (use) use(chain.head.lines, line);
  }
  if (!met) {
    return absl::DataLossError(absl::StrCat(path, " ends after line ", chain.head.lines,
                                            ", but line ", expected->lines,
                                            " was noted: its end was cut off"));
  }
  return chain;
}

RotatedFiles FindRotated(const std::string& path) {
  const std::filesystem::path whole(path);
  const std::string prefix = whole.filename().string() + ".";
  RotatedFiles out;
  std::error_code ignored;
  const auto folder = whole.has_parent_path() ? whole.parent_path() : std::filesystem::path(".");
  for (const auto& file : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = file.path().filename().string();
    uint64_t last = 0;
    if (name.starts_with(prefix) && absl::SimpleAtoi(name.substr(prefix.size()), &last)) {
      out[last] = file.path().string();
    }
  }
  return out;
}

namespace {

// FirstFollows: the head that a file's first line claims to follow, unchecked.
AuditHead FirstFollows(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string line;
  AuditHead head = {0, NoHash()};
  if (!std::getline(file, line) || file.eof()) return head;
  const Json event = EventOf(line);
  const uint64_t number = NumberOf(line);
  const Json* const before = event.find("prev");
  if (number > 1 && before != nullptr && before->is_string()) {
    head = {number - 1, before->get<std::string>()};
  }
  return head;
}

// HeadBefore: the head that the first line of a file must follow: the end of the youngest rotated
// file.
absl::StatusOr<AuditHead> HeadBefore(const RotatedFiles& rotated) {
  if (rotated.empty()) return AuditHead{0, NoHash()};
  const auto& [last, old] = *rotated.rbegin();
  HEFT_ASSIGN_OR_RETURN(const Chain chain,
                        ReadChain(old, nullptr, {}, FirstFollows(old), 4 * kMaxLine));
  if (chain.head.lines == last && !chain.torn) return chain.head;
  return absl::DataLossError(absl::StrCat(old, " does not end with line ", last,
                                          ": check the logs with `heft audit LOG`"));
}

}  // namespace

absl::StatusOr<AuditHead> HeadBeforeOf(const std::string& path, const RotatedFiles& rotated) {
  const AuditHead follows = FirstFollows(path);
  if (follows.lines > 0 && !rotated.contains(follows.lines)) {
    return absl::DataLossError(
        absl::StrCat(path, " begins after line ", follows.lines,
                     ", but the file that ends there is missing: put ", path, ".", follows.lines,
                     " back beside it (the newest rotated file must stay unchanged), or ", "move ",
                     path, " away as well, which begins a new chain"));
  }
  return HeadBefore(rotated);
}

void Seek(std::ifstream* file, uint64_t bytes, uint64_t from) {
  uint64_t low = 0, high = bytes;  // a line begins at low; its number is at most `from`
  std::string line;
  while (high - low > 2 * kMaxLine) {
    const uint64_t middle = low + (high - low) / 2;
    file->seekg(static_cast<std::streamoff>(middle));
    std::getline(*file, line);  // the rest of one
    const auto place = static_cast<uint64_t>(file->tellg());
    const bool before = std::getline(*file, line) && place < high && NumberOf(line) <= from;
    file->clear();
    (before ? low : high) = before ? place : middle;
  }
  file->seekg(static_cast<std::streamoff>(low));
}

}  // namespace heft::audit

namespace heft {

absl::StatusOr<AuditHead> ParseAuditHead(std::string_view text, std::string_view what) {
  AuditHead head;
  const size_t colon = text.find(':');
  const bool good = colon != text.npos && text.size() - colon - 1 == audit::NoHash().size() &&
                    text.find_first_not_of("0123456789abcdef", colon + 1) == text.npos &&
                    absl::SimpleAtoi(std::string(text.substr(0, colon)), &head.lines);
  if (!good) {
    return absl::InvalidArgumentError(
        absl::StrCat(std::string(what), " is \"", std::string(text),
                     "\": write LINES:HASH, as printed by an earlier run"));
  }
  head.hash = std::string(text.substr(colon + 1));
  return head;
}

absl::StatusOr<AuditHead> VerifyAuditLogs(const std::vector<std::string>& paths,
                                          const AuditHead* expected, const AuditHead* after) {
  if (paths.empty()) return absl::InvalidArgumentError("no audit log given");
  AuditHead head = after != nullptr ? *after : AuditHead{};
  if (head.lines == 0 && head.hash.empty()) head.hash = audit::NoHash();
  if (expected != nullptr && expected->lines < head.lines) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", expected->lines,
                     " was noted, but is in a file that is not given: the given files follow line ",
                     head.lines, ". Give that file too, or a later head"));
  }
  if (expected != nullptr && expected->lines == 0 && !expected->hash.empty() &&
      expected->hash != audit::NoHash()) {
    return absl::InvalidArgumentError(
        "no line has number 0: give a head as printed by an earlier run");
  }
  const uint64_t before = head.lines;
  for (const std::string& path : paths) {
    // Look for the noted head in the first file that reaches its number, or else in the last file.
    HEFT_ASSIGN_OR_RETURN(const audit::Chain chain, audit::ReadChain(path, nullptr, {}, head));
    const AuditHead& end = chain.head;  // a running service may be writing: half a line is ignored
    const bool here = expected != nullptr && expected->lines >= head.lines &&
                      (expected->lines <= end.lines || path == paths.back());
    if (here) HEFT_RETURN_IF_ERROR(audit::ReadChain(path, expected, {}, head).status());
    head = end;
  }
  if (head.lines == before) {
    return absl::DataLossError(absl::StrCat(
        paths.back(),
        " has no entry, and a log without entries proves nothing: a service writes one "
        "when it starts, so check the path and whether the file was emptied"));
  }
  return head;
}

}  // namespace heft
