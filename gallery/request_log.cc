// SPDX-License-Identifier: Apache-2.0
#include "gallery/request_log.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/append_file.h"
#include "base/envelope.h"
#include "base/files.h"
#include "base/status.h"
#include "heft/server.h"

namespace heft {
namespace {

constexpr uint32_t kRequestLogVersion = 1;
constexpr size_t kCheckSize = 8;
constexpr size_t kRecordSize = sizeof(RequestId) + 8 + 8 + kCheckSize;
// kFewForgotten: the most expired records that stay in the file before it is rewritten.
constexpr size_t kFewForgotten = 256;

// Prefix: the start of every file of ours (base/envelope.h), without the size, which grows.
std::vector<uint8_t> Prefix() {
  std::vector<uint8_t> bytes = SealEnvelope(kRequestLogKind, kRequestLogVersion, {});
  bytes.resize(16);
  return bytes;
}

void WriteRow(ByteWriter& writer, const TakenRow& taken) {
  ByteWriter record;
  record.Raw(taken.id);
  record.U64(taken.row);
  record.U64(taken.expires);
  writer.Raw(record.bytes());
  writer.Raw(ByteSpan(HashBytes(record.bytes())).first(kCheckSize));
}

// ReadRow: nothing if the record is not valid.
std::optional<TakenRow> ReadRow(ByteSpan record) {
  const ByteSpan body = record.first(kRecordSize - kCheckSize);
  const Hash hash = HashBytes(body);
  if (!std::equal(hash.begin(), hash.begin() + kCheckSize, record.begin() + body.size())) {
    return std::nullopt;
  }
  ByteReader reader(body, "record");
  TakenRow taken;
  std::ranges::copy(reader.Raw(taken.id.size()), taken.id.begin());
  taken.row = reader.U64();
  taken.expires = reader.U64();
  return taken;
}

bool Meet(const TakenRow& a, const TakenRow& b) {
  return a.id == b.id && (a.row == b.row || a.row == kAllRows || b.row == kAllRows);
}

// Removes temporary files of a killed writer. The caller holds the lock.
void RemoveTemporaries(const std::string& file) {
  const std::filesystem::path path(file);
  const std::string begin = path.filename().string() + ".";
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(path.parent_path(), ignored)) {
    if (entry.path().filename().string().starts_with(begin)) {
      std::filesystem::remove(entry.path(), ignored);
    }
  }
}

bool Forgotten(const TakenRow& taken, uint64_t now) { return taken.expires + kClockSkew < now; }

}  // namespace

RequestId RequestIdOf(const SignerKey& signer, const std::array<uint8_t, 16>& nonce) {
  ByteWriter writer;
  writer.Raw(signer);
  writer.Raw(nonce);
  const Hash hash = HashBytes(writer.bytes());
  RequestId id;
  std::copy_n(hash.begin(), id.size(), id.begin());
  return id;
}

std::vector<uint8_t> SerializeRequestLog(std::span<const TakenRow> rows) {
  ByteWriter writer;
  writer.Raw(Prefix());
  for (const TakenRow& taken : rows) WriteRow(writer, taken);
  return writer.Take();
}

absl::StatusOr<RequestRecords> ParseRequestLog(ByteSpan bytes, std::string_view what) {
  const std::vector<uint8_t> prefix = Prefix();
  if (bytes.size() < prefix.size() || !std::equal(prefix.begin(), prefix.end(), bytes.begin())) {
    return absl::DataLossError(
        absl::StrCat(std::string(what), ": not a list of requests of version 1, or cut short"));
  }
  bytes = bytes.subspan(prefix.size());
  const size_t records = bytes.size() / kRecordSize;
  RequestRecords out;
  out.torn = bytes.size() % kRecordSize != 0;
  for (size_t i = 0; i < records; ++i) {
    const auto taken = ReadRow(bytes.subspan(i * kRecordSize, kRecordSize));
    if (taken) {
      out.rows.push_back(*taken);
    } else if (records - i > RequestLog::kMaxFiles) {
      return absl::DataLossError(absl::StrCat(std::string(what),
                                              ": damaged: replace it by a good copy. Without a "
                                              "copy, move it away; then requests of the last ",
                                              kLongestRequest / 3600,
                                              " hours could be answered again"));
    } else {
      out.torn = true;
    }
  }
  return out;
}

absl::StatusOr<RequestRecords> RequestLog::Read(uint64_t* size) const {
  const auto bytes = ReadFile(File(), 4 * kMaxRows * kRecordSize);
  *size = bytes.ok() ? bytes->size() : 0;
  if (absl::IsNotFound(bytes.status())) return RequestRecords{.rows = {}, .torn = true};
  HEFT_RETURN_IF_ERROR(bytes.status());
  return OfStore(ParseRequestLog(*bytes, File()));
}

absl::StatusOr<std::optional<size_t>> RequestLog::Take(std::span<const TakenRow> request,
                                                       uint64_t now) const {
  if (request.size() > kMaxFiles) {
    return absl::InvalidArgumentError(
        absl::StrCat("a request of ", request.size(), " files: at most ", kMaxFiles));
  }
  HEFT_ASSIGN_OR_RETURN(const FileLock lock, Lock());
  uint64_t size = 0;
  HEFT_ASSIGN_OR_RETURN(RequestRecords known, Read(&size));
  for (const TakenRow& taken : known.rows) {
    const auto same = std::ranges::find_if(request, [&](const auto& r) { return Meet(r, taken); });
    if (same != request.end()) return same - request.begin();
  }
  const size_t all = known.rows.size();
  std::erase_if(known.rows, [&](const TakenRow& taken) { return Forgotten(taken, now); });
  if (known.rows.size() + request.size() > kMaxRows) {
    return absl::ResourceExhaustedError(absl::StrCat(
        File(), ": ", known.rows.size(),
        " requests are still valid, and no more can be remembered: try again when some have "
        "expired, and sign requests for a shorter time (heft encrypt --valid-for)"));
  }
  known.rows.insert(known.rows.end(), request.begin(), request.end());
  const size_t forgotten = all + request.size() - known.rows.size();
  if (known.torn || forgotten > std::max(kFewForgotten, all / 2)) {
    RemoveTemporaries(File());
    HEFT_RETURN_IF_ERROR(WriteFileAtomic(File(), SerializeRequestLog(known.rows), 0600));
  } else {
    const std::vector<uint8_t> fresh = SerializeRequestLog(request);
    HEFT_RETURN_IF_ERROR(AppendToFile(File(), size, ByteSpan(fresh).subspan(Prefix().size())));
  }
  return std::nullopt;
}

}  // namespace heft
