// SPDX-License-Identifier: Apache-2.0
// The formats are those of docs/formats.md, "The values in a store".
#include "store/layout.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace heft {
namespace {

constexpr size_t kChecksum = 8, kGallery = 4;
constexpr size_t kLeastPadded = 4096;
constexpr uint8_t kFree = 0, kLeaving = 2;

enum class Part : uint8_t {
  kConst,  // bytes that are always the same; no column
  kU8,
  kU32,
  kU64,
  kF64,
  kBytes,     // of a fixed size
  kString,    // with a length before it
  kPrefixed,  // bytes with a length before them
  kRest,      // bytes up to the checksum
  kNumbers,   // lists, as JSON: of u64,
  kIds,       //   of 16 bytes, in hexadecimal digits,
  kStrings,   //   of text,
  kErased,    //   of what a receipt lists: person, templates, and in version 2 the time
  kPadding,   // zeros; no column
};

struct Field {
  Part part;
  std::string_view name, comment;
  size_t size = 0;
  std::string_view bytes = {};  // of kConst
};

enum class KeyPart : uint8_t { kU32, kU64, kDue, kBytes, kTag };

struct KeyField {
  KeyPart part;
  std::string_view name, comment;
  size_t size = 0;
  char tag = 0;
};

struct Format {
  Layout layout;
  std::vector<KeyField> key;
  std::vector<Field> value;
};

SqlType TypeOf(Part part) {
  switch (part) {
    case Part::kU8:
    case Part::kU32:
    case Part::kU64:
      return SqlType::kInteger;
    case Part::kF64:
      return SqlType::kReal;
    case Part::kString:
    case Part::kNumbers:
    case Part::kIds:
    case Part::kStrings:
    case Part::kErased:
      return SqlType::kText;
    default:
      return SqlType::kBytes;
  }
}

bool HasColumn(const Field& field) {
  return field.part != Part::kConst && field.part != Part::kPadding;
}

constexpr std::string_view kChecksumText = "XXH3 of the record, which the columns give back";

// FormatOf: a table with the columns of its fields. A value without fields is opaque.
Format MakeFormat(std::string_view name, std::string_view comment, std::vector<KeyField> key,
                  std::vector<Field> value, bool opaque = false) {
  Format format;
  Layout& layout = format.layout;
  layout.name = name;
  layout.comment = comment;
  layout.opaque = opaque;
  layout.columns.push_back({"gallery", SqlType::kInteger, "the gallery's number"});
  for (const KeyField& field : key) {
    if (field.part == KeyPart::kTag) continue;
    if (field.part == KeyPart::kDue) {
      layout.columns.push_back({"due", SqlType::kInteger, "1 until it is signed, then 0"});
    }
    const SqlType type = field.part == KeyPart::kBytes ? SqlType::kBytes : SqlType::kInteger;
    layout.columns.push_back({std::string(field.name), type, std::string(field.comment)});
  }
  layout.keys = layout.columns.size();
  for (const Field& field : value) {
    if (!HasColumn(field)) continue;
    layout.columns.push_back(
        {std::string(field.name), TypeOf(field.part), std::string(field.comment)});
  }
  if (!opaque) {
    layout.columns.push_back({"checksum", SqlType::kInteger, std::string(kChecksumText)});
  }
  format.key = std::move(key);
  format.value = std::move(value);
  return format;
}

Format Catalog() {
  Format format;
  Layout& layout = format.layout;
  layout.name = "gallery";
  layout.comment = "the galleries; a row's deletion deletes all of its gallery";
  layout.columns = {
      {"name", SqlType::kText, "its name; NULL: it is not complete, or has lost it", true},
      {"number", SqlType::kInteger, "as all other tables name it"},
      {"checksum", SqlType::kInteger, "of the name's record", true}};
  layout.keys = 1;
  return format;
}

const std::array<Format, kTables>& Formats() {
  const auto make = [] {
    const auto u8 = [](auto name, auto what) { return Field{Part::kU8, name, what}; };
    const auto u32 = [](auto name, auto what) { return Field{Part::kU32, name, what}; };
    const auto u64 = [](auto name, auto what) { return Field{Part::kU64, name, what}; };
    const auto f64 = [](auto name, auto what) { return Field{Part::kF64, name, what}; };
    const auto bytes = [](auto name, size_t size, auto what) {
      return Field{Part::kBytes, name, what, size};
    };
    const auto list = [](Part part, auto name, auto what) { return Field{part, name, what}; };
    const auto constant = [](std::string_view text) {
      return Field{Part::kConst, "", "", text.size(), text};
    };
    const Field one = constant("\x01"), two = constant("\x02");
    const Field padding = {Part::kPadding, "", ""};
    const auto key64 = [](auto name, auto what) { return KeyField{KeyPart::kU64, name, what, 8}; };
    const auto key_bytes = [](auto name, size_t size, auto what) {
      return KeyField{KeyPart::kBytes, name, what, size};
    };
    std::array<Format, kTables> all;
    const auto at = [&](Table table) -> Format& { return all[static_cast<size_t>(table)]; };
    at(Table::kCatalog) = Catalog();
    at(Table::kHead) =
        MakeFormat("gallery_state", "facts about a whole gallery; times in seconds since 1970", {},
                   {two,
                    bytes("params_id", 16, "of the CKKS parameters"),
                    bytes("key_id", 16, "of the key owner's key"),
                    bytes("model_id", 16, "of the model"),
                    u32("gamma", "slots of a template"),
                    bytes("id", 16, "the gallery's id"),
                    u64("generation", "number of changes"),
                    bytes("root", 32, "Merkle root of that generation"),
                    u64("places", "positions that are or were filled"),
                    u64("live", "templates that are matched"),
                    u64("leaving", "templates that are not matched, but still in a block"),
                    u32("block_places", "positions of a block"),
                    u32("epoch", "grows with each new key"),
                    u64("next_entry", "of the journal"),
                    u64("folded", "last entry that is in its block"),
                    u64("retired", "last entry that was deleted"),
                    u64("entry_bytes", "size of the journal's entries"),
                    u64("started", "time of the first change"),
                    u64("key_since", "time of the first template under this key"),
                    u64("verified", "time of the last check of all blocks; 0: never"),
                    u8("intact", "1 if it found no damage"),
                    u64("retention_seconds", "how long entries stay in the journal"),
                    u64("retention_bytes", "how much of them stays"),
                    list(Part::kIds, "revoked", "revoked keys, as a JSON list")});
    at(Table::kBlocks) = MakeFormat(
        "block", "sums of encrypted templates",
        {{KeyPart::kU32, "epoch", "of its key", 4}, key64("block", "its number")}, {}, true);
    at(Table::kBlockInfo) = MakeFormat(
        "block_state", "the small facts about a block",
        {{KeyPart::kTag, "", "", 1, 'i'}, key64("block", "its number")},
        {one, u64("generation", "in which the block was written"),
         bytes("checkpoint", 32, "digest of the block; zeros: there is none"),
         bytes("pending", 32, "chain of digests of entries that are not in it yet"),
         bytes("roster", 32, "digest of its runs of templates"),
         bytes("leaf", 32, "leaf of the Merkle tree"), u32("live", "templates that are matched"),
         u32("leaving", "templates that are no longer matched"),
         f64("added_error", "variance that changes have added"),
         f64("least_clean", "the least clean added error of its positions")});
    at(Table::kRoster) =
        MakeFormat("run", "64 positions, whose templates are in the table template",
                   {key64("run", "positions 64 run to 64 run + 63")}, {});
    at(Table::kNames) =
        MakeFormat("identity", "where the templates of a person are",
                   {key_bytes("name_hash", 16, "hash of gallery and name")},
                   {one, u32("pending", "number of pending templates"),
                    list(Part::kNumbers, "positions", "positions of templates, as a JSON list")});
    at(Table::kSamples) =
        MakeFormat("sample", "encrypted samples that were enrolled, to recognise them",
                   {key_bytes("sample", 16, "digest of the sample")},
                   {u64("position", "of the template with it; -1: it is pending")});
    at(Table::kJournal) =
        MakeFormat("journal", "encrypted templates that can be taken back exactly",
                   {key64("entry", "its number")}, {}, true);
    at(Table::kFolds) =
        MakeFormat("fold", "entries of the journal that joined their blocks together",
                   {key64("last_entry", "the last one")},
                   {one, u64("first_entry", "the first one"), u64("time", "seconds since 1970")});
    at(Table::kPendingFile) =
        MakeFormat("pending_file", "pending enrolments as they were sent (QENR)",
                   {key_bytes("enrolment", 32, "hash of the file")}, {}, true);
    at(Table::kPending) = MakeFormat(
        "pending", "pending enrolments, which the key owner has not approved yet",
        {key_bytes("enrolment", 32, "hash of the file")},
        {constant("HGWT\x03"), bytes("client", 32, "key of the client; zeros: not signed"),
         u64("bytes", "size of the file"),
         list(Part::kStrings, "identities", "one for each template, as a JSON list"),
         list(Part::kIds, "samples", "digests of samples, as a JSON list"), padding});
    at(Table::kFree) = MakeFormat("free_position", "positions that can be filled again",
                                  {key64("position", "its number")}, {});
    at(Table::kExchanges) =
        MakeFormat("renewal", "renewals of blocks that the key owner was asked for",
                   {key_bytes("id", 16, "of the request")}, {}, true);
    at(Table::kReceipts) = MakeFormat(
        "receipt", "people who were removed, and the signed receipts; times in seconds since 1970",
        {{KeyPart::kDue, "generation", "the first generation without them", 8}},
        {u8("version", "of the record"), u64("of_generation", "as above"),
         u64("removed", "time of the removal"),
         u64("erased", "time when nothing was left; 0: not yet"),
         list(Part::kErased, "people",
              "JSON list of person, number of templates and, if it differs, time of removal"),
         Field{Part::kPrefixed, "receipt", "the signed receipt (RCPT)"}});
    at(Table::kRequests) = MakeFormat(
        "once", "idempotency keys of changes, with their answers",
        {key_bytes("request_key", 32, "digest of the idempotency key")},
        {u64("until", "seconds since 1970"), bytes("request", 32, "digest of the request"),
         Field{Part::kRest, "answer", "what was answered"}});
    return all;
  };
  static const auto* const all = new std::array<Format, kTables>(make());
  return *all;
}

const Format& FormatFor(Table table) { return Formats()[static_cast<size_t>(table)]; }

// IsText: UTF-8 without control characters, as both databases and JSON lists take it.
bool IsText(ByteSpan bytes) {
  for (size_t i = 0; i < bytes.size();) {
    const uint8_t first = bytes[i];
    if (first < 0x20 || first == 0x7F) return false;
    const size_t more = first < 0x80   ? 0
                        : first < 0xC2 ? 9
                        : first < 0xE0 ? 1
                        : first < 0xF0 ? 2
                        : first < 0xF5 ? 3
                                       : 9;
    if (more == 9 || i + more >= bytes.size()) return false;
    uint32_t point = more == 0 ? first : first & (0x3F >> more);
    for (size_t k = 1; k <= more; ++k) {
      if ((bytes[i + k] & 0xC0) != 0x80) return false;
      point = point << 6 | (bytes[i + k] & 0x3F);
    }
    if ((more == 2 && (point < 0x800 || (point >= 0xD800 && point < 0xE000))) ||
        (more == 3 && (point < 0x10000 || point > 0x10FFFF))) {
      return false;
    }
    i += more + 1;
  }
  return true;
}

// IsReal: a number that both databases give back as it is.
bool IsReal(double value) { return std::isfinite(value) && !(value == 0 && std::signbit(value)); }

// --- Lists, as JSON in one form.

void AddString(std::string* out, ByteSpan text) {
  out->push_back('"');
  for (const uint8_t byte : text) {
    if (byte == '"' || byte == '\\') out->push_back('\\');
    out->push_back(static_cast<char>(byte));
  }
  out->push_back('"');
}

void AddHex(std::string* out, ByteSpan bytes) {
  absl::StrAppend(out, "\"", HexString(bytes), "\"");
}

// JsonReader: reads what the functions above write.
class JsonReader {
 public:
  explicit JsonReader(ByteSpan text)
      : text_(reinterpret_cast<const char*>(text.data()), text.size()) {}
  bool Take(char c) {
    if (text_.empty() || text_.front() != c) return false;
    text_.remove_prefix(1);
    return true;
  }
  // Next: whether a list that was begun has another element.
  bool Next(bool first) {
    if (Take(']')) return false;
    if (!first && !Take(',')) ok_ = false;
    return ok_;
  }
  uint64_t Number() {
    uint64_t value = 0;
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    ok_ = ok_ && error == std::errc();
    text_.remove_prefix(static_cast<size_t>(end - text_.data()));
    return value;
  }
  std::string String() {
    std::string out;
    ok_ = ok_ && Take('"');
    while (ok_ && !Take('"')) {
      Take('\\');
      ok_ = !text_.empty();
      if (!ok_) break;
      out.push_back(text_.front());
      text_.remove_prefix(1);
    }
    return out;
  }
  std::array<uint8_t, 16> Id() {
    std::array<uint8_t, 16> id{};
    const std::string hex = String();
    ok_ = ok_ && hex.size() == 2 * id.size();
    for (size_t i = 0; ok_ && i < id.size(); ++i) {
      const auto [end, error] = std::from_chars(&hex[2 * i], &hex[2 * i] + 2, id[i], 16);
      ok_ = error == std::errc() && end == &hex[2 * i] + 2;
    }
    return id;
  }
  void Expect(char c) { ok_ = ok_ && Take(c); }
  bool AtEnd() const { return ok_ && text_.empty(); }

 private:
  std::string_view text_;
  bool ok_ = true;
};

Cell KeptText(std::string text, std::deque<std::string>* texts) {
  return AsBytes(texts->emplace_back(std::move(text)));
}

// ListOf: `count` elements as text.
template <typename Add>
std::string ListOf(uint64_t count, const Add& add) {
  std::string text = "[";
  for (uint64_t i = 0; i < count; ++i) {
    if (i > 0) text.push_back(',');
    add(&text);
  }
  text.push_back(']');
  return text;
}

Cell ReadIds(ByteReader& reader, std::deque<std::string>* texts) {
  const uint64_t count = reader.Count(16, uint64_t{1} << 28);
  return KeptText(ListOf(count, [&](std::string* out) { AddHex(out, reader.Raw(16)); }), texts);
}

// --- Fields of values.

Cell Integer(uint64_t value) { return static_cast<int64_t>(value); }

// ReadField: `first` is the value's first byte, its version.
Cell ReadField(const Field& field, uint8_t first, ByteReader& reader,
               std::deque<std::string>* texts) {
  switch (field.part) {
    case Part::kConst:
      if (!std::ranges::equal(reader.Raw(field.size), AsBytes(field.bytes))) reader.Fail("other");
      return {};
    case Part::kU8:
      return Integer(reader.U8());
    case Part::kU32:
      return Integer(reader.U32());
    case Part::kU64:
      return Integer(reader.U64());
    case Part::kF64: {
      const double value = reader.F64();
      if (!IsReal(value)) reader.Fail("no number");
      return value;
    }
    case Part::kBytes:
      return reader.Raw(field.size);
    case Part::kString: {
      const ByteSpan text = reader.Raw(reader.Count(1, UINT64_MAX));
      if (!IsText(text)) reader.Fail("no text");
      return text;
    }
    case Part::kPrefixed:
      return reader.Raw(reader.Count(1, UINT64_MAX));
    case Part::kRest:
      return reader.Raw(reader.remaining());
    case Part::kNumbers: {
      const uint64_t count = reader.Count(8, uint64_t{1} << 32);
      return KeptText(ListOf(count, [&](std::string* out) { absl::StrAppend(out, reader.U64()); }),
                      texts);
    }
    case Part::kIds:
      return ReadIds(reader, texts);
    case Part::kStrings: {
      const uint64_t count = reader.Count(8, uint64_t{1} << 28);
      return KeptText(ListOf(count,
                             [&](std::string* out) {
                               const ByteSpan text = reader.Raw(reader.Count(1, UINT64_MAX));
                               if (!IsText(text)) reader.Fail("no text");
                               AddString(out, text);
                             }),
                      texts);
    }
    case Part::kErased: {
      const bool times = first == 2;
      const uint64_t count = reader.Count(times ? 28 : 20, uint64_t{1} << 28);
      return KeptText(ListOf(count,
                             [&](std::string* out) {
                               out->push_back('[');
                               AddHex(out, reader.Raw(16));
                               absl::StrAppend(out, ",", reader.U32());
                               if (times) absl::StrAppend(out, ",", reader.U64());
                               out->push_back(']');
                             }),
                      texts);
    }
    case Part::kPadding:
      reader.Raw(reader.remaining());
      return {};
  }
  return {};
}

// Of cells of a column; other types give nothing.
uint64_t NumberIn(const Cell& cell) {
  const auto* const number = std::get_if<int64_t>(&cell);
  return number == nullptr ? 0 : static_cast<uint64_t>(*number);
}
double RealIn(const Cell& cell) {
  const auto* const real = std::get_if<double>(&cell);
  return real == nullptr ? static_cast<double>(static_cast<int64_t>(NumberIn(cell))) : *real;
}
ByteSpan BytesIn(const Cell& cell) {
  const auto* const bytes = std::get_if<ByteSpan>(&cell);
  return bytes == nullptr ? ByteSpan() : *bytes;
}

// WriteList: the elements of a list, with their number before them. False for other text.
template <typename Add>
bool WriteList(ByteSpan text, ByteWriter& writer, const Add& add) {
  JsonReader json(text);
  ByteWriter elements;
  uint64_t count = 0;
  json.Expect('[');
  for (; json.Next(count == 0); ++count) add(json, elements);
  writer.U64(count);
  writer.Raw(elements.bytes());
  return json.AtEnd();
}

void AddId(JsonReader& json, ByteWriter& out) { out.Raw(json.Id()); }

void Pad(ByteWriter& writer) {
  if (writer.bytes().size() >= kLeastPadded) return;
  static const std::vector<uint8_t> zeros(kLeastPadded);
  writer.Raw(ByteSpan(zeros).first(kLeastPadded - writer.bytes().size()));
}

bool WriteField(const Field& field, const Cell& cell, ByteWriter& writer) {
  switch (field.part) {
    case Part::kConst:
      writer.Raw(AsBytes(field.bytes));
      return true;
    case Part::kU8:
      writer.U8(static_cast<uint8_t>(NumberIn(cell)));
      return true;
    case Part::kU32:
      writer.U32(static_cast<uint32_t>(NumberIn(cell)));
      return true;
    case Part::kU64:
      writer.U64(NumberIn(cell));
      return true;
    case Part::kF64:
      writer.F64(RealIn(cell));
      return true;
    case Part::kBytes:
    case Part::kRest:
      writer.Raw(BytesIn(cell));
      return true;
    case Part::kString:
    case Part::kPrefixed:
      writer.U64(BytesIn(cell).size());
      writer.Raw(BytesIn(cell));
      return true;
    case Part::kNumbers:
      return WriteList(BytesIn(cell), writer,
                       [](JsonReader& json, ByteWriter& out) { out.U64(json.Number()); });
    case Part::kIds:
      return WriteList(BytesIn(cell), writer, AddId);
    case Part::kStrings:
      return WriteList(BytesIn(cell), writer,
                       [](JsonReader& json, ByteWriter& out) { out.String(json.String()); });
    case Part::kErased: {
      const bool times = !writer.bytes().empty() && writer.bytes()[0] == 2;
      return WriteList(BytesIn(cell), writer, [&](JsonReader& json, ByteWriter& out) {
        json.Expect('[');
        out.Raw(json.Id());
        json.Expect(',');
        out.U32(static_cast<uint32_t>(json.Number()));
        if (times) json.Expect(',');
        if (times) out.U64(json.Number());
        json.Expect(']');
      });
    }
    case Part::kPadding:
      Pad(writer);
      return true;
  }
  return false;
}

// --- Runs of templates.

// The columns of a template, behind gallery and position.
enum At : uint8_t {
  kState = 2,
  kClean,
  kPerson,
  kIdentity,
  kSample,
  kParts,
  kContribution,
  kEntry,
  kGeneration,
  kEnrolled,
  kExpires,
  kMetadata,
  kLeft,
  kName,
  kTemplateColumns
};

Layout MakeTemplates() {
  const auto optional = [](const char* name, SqlType type, const char* comment) {
    return Column{name, type, comment, true};
  };
  Layout layout;
  layout.name = "template";
  layout.comment =
      "the template at each position; a position without a row never had one; times in seconds "
      "since 1970";
  layout.columns = {
      {"gallery", SqlType::kInteger, "the gallery's number"},
      {"position", SqlType::kInteger, "in the gallery"},
      {"state", SqlType::kInteger, "0: free, 1: matched, 2: leaving, which is not matched"},
      {"clean", SqlType::kReal, "clean added error of the position"},
      optional("person", SqlType::kBytes, "random id of the person"),
      optional("identity", SqlType::kText, "name of the person"),
      optional("sample", SqlType::kBytes, "digest of the sample"),
      optional("parts", SqlType::kText, "of a mean: digests of its samples, as a JSON list"),
      optional("contribution", SqlType::kBytes, "digest of the template; zeros: enrolled in bulk"),
      optional("entry", SqlType::kInteger, "in the journal; 0: it has none any more"),
      optional("generation", SqlType::kInteger, "in which it was enrolled"),
      optional("enrolled", SqlType::kInteger, "time of enrolment"),
      optional("expires", SqlType::kInteger, "time of its end; 0: none"),
      optional("metadata", SqlType::kText, "JSON list of keys and values"),
      optional("left_at", SqlType::kInteger, "leaving: since when; 0: unknown"),
      optional("name_hash", SqlType::kBytes, "leaving: the identity's hash; zeros: unknown")};
  layout.keys = 2;
  return layout;
}

ByteSpan ReadShort(ByteReader& reader) {
  const ByteSpan text = reader.Raw(reader.U8());
  if (!IsText(text)) reader.Fail("no text");
  return text;
}

Cells ReadTemplate(ByteReader& reader, bool times, std::deque<std::string>* texts) {
  Cells cells(kTemplateColumns);
  const uint8_t state = reader.U8();
  if (state > kLeaving) reader.Fail("no known state");
  const double clean = reader.F64();
  if (!IsReal(clean)) reader.Fail("no number");
  cells[kState] = Integer(state);
  cells[kClean] = clean;
  if (!reader.ok() || state == kFree) return cells;
  cells[kPerson] = reader.Raw(16);
  if (state == kLeaving) {
    if (times) cells[kLeft] = Integer(reader.U64());
    if (times) cells[kName] = reader.Raw(16);
    return cells;
  }
  const ByteSpan identity = reader.Raw(reader.Count(1, 256));
  if (!IsText(identity)) reader.Fail("no text");
  cells[kIdentity] = identity;
  cells[kSample] = reader.Raw(16);
  cells[kParts] = ReadIds(reader, texts);
  cells[kContribution] = reader.Raw(32);
  for (const At at : {kEntry, kGeneration, kEnrolled, kExpires}) cells[at] = Integer(reader.U64());
  cells[kMetadata] = KeptText(ListOf(reader.U8(),
                                     [&](std::string* out) {
                                       out->push_back('[');
                                       AddString(out, ReadShort(reader));
                                       out->push_back(',');
                                       AddString(out, ReadShort(reader));
                                       out->push_back(']');
                                     }),
                              texts);
  return cells;
}

bool WriteShort(JsonReader& json, ByteWriter& out) {
  const std::string text = json.String();
  out.U8(static_cast<uint8_t>(text.size()));
  out.Raw(AsBytes(text));
  return text.size() < 256;
}

// `times`: whether the templates that leave have times; unset before the first of them.
bool WriteTemplate(const Cells& cells, std::optional<bool>* times, ByteWriter& writer) {
  const uint64_t state = NumberIn(cells[kState]);
  writer.U8(static_cast<uint8_t>(state));
  writer.F64(RealIn(cells[kClean]));
  if (state == kFree) return true;
  writer.Raw(BytesIn(cells[kPerson]));
  if (state == kLeaving) {
    const bool timed = !std::holds_alternative<std::monostate>(cells[kLeft]);
    if (timed) writer.U64(NumberIn(cells[kLeft]));
    if (timed) writer.Raw(BytesIn(cells[kName]));
    if (times->value_or(timed) != timed) return false;
    *times = timed;
    return true;
  }
  writer.U64(BytesIn(cells[kIdentity]).size());
  writer.Raw(BytesIn(cells[kIdentity]));
  writer.Raw(BytesIn(cells[kSample]));
  if (!WriteList(BytesIn(cells[kParts]), writer, AddId)) return false;
  writer.Raw(BytesIn(cells[kContribution]));
  for (const At at : {kEntry, kGeneration, kEnrolled, kExpires}) writer.U64(NumberIn(cells[at]));
  ByteWriter pairs;
  uint8_t count = 0;
  JsonReader json(BytesIn(cells[kMetadata]));
  json.Expect('[');
  for (; json.Next(count == 0); ++count) {
    json.Expect('[');
    const bool key = WriteShort(json, pairs);
    json.Expect(',');
    if (!WriteShort(json, pairs) || !key || count == 255) return false;
    json.Expect(']');
  }
  writer.U8(count);
  writer.Raw(pairs.bytes());
  return json.AtEnd();
}

bool SplitRun(ByteSpan payload, SplitEntry* out) {
  ByteReader reader(payload, "run");
  const bool times = reader.U8() == 2;
  const int64_t first = RunPositions(out->row).first;
  for (int64_t i = 0; i < kRunPositions && reader.ok(); ++i) {
    Cells cells = ReadTemplate(reader, times, &out->texts);
    if (NumberIn(cells[kState]) == kFree && RealIn(cells[kClean]) == 0) continue;
    cells[0] = out->row[0];
    cells[1] = first + i;
    out->templates.push_back(std::move(cells));
  }
  return reader.ok();
}

// JoinRun: into an empty writer. False for rows that no run has.
bool JoinRun(std::span<const Cell> row, const NextTemplate& next, ByteWriter& writer) {
  static const Cells free = [] {
    Cells cells(kTemplateColumns);
    cells[kState] = int64_t{0};
    cells[kClean] = 0.0;
    return cells;
  }();
  // Enough for most runs: a live template takes 122 bytes and its identity.
  writer.Reserve(kRunPositions * 192);
  writer.U8(1);
  const int64_t first = RunPositions(row).first;
  const Cells* one = next();
  std::optional<bool> times;
  for (int64_t i = 0; i < kRunPositions; ++i) {
    const bool here = one != nullptr && static_cast<int64_t>(NumberIn((*one)[1])) == first + i;
    if (!WriteTemplate(here ? *one : free, &times, writer)) return false;
    if (here) one = next();
  }
  if (times.value_or(false)) writer.Patch(0, std::array<uint8_t, 1>{2});
  Pad(writer);
  return one == nullptr;
}

// --- Keys.

size_t KeySize(const Format& format) {
  size_t size = kGallery;
  for (const KeyField& field : format.key) size += field.size;
  return size;
}

uint64_t BigEndian(ByteSpan bytes) {
  uint64_t number = 0;
  for (const uint8_t byte : bytes) number = number << 8 | byte;
  return number;
}

void AddBigEndian(std::vector<uint8_t>* out, uint64_t number, size_t bytes) {
  for (size_t i = bytes; i-- > 0;) out->push_back(static_cast<uint8_t>(number >> (8 * i)));
}

constexpr uint64_t kDueBit = uint64_t{1} << 63;

}  // namespace

const Layout& LayoutOf(Table table) { return FormatFor(table).layout; }

const Layout& TemplateLayout() {
  static const auto* const layout = new Layout(MakeTemplates());
  return *layout;
}

const Layout& OtherLayout() {
  static const auto* const layout = [] {
    auto* made = new Layout;
    made->name = "other";
    made->comment =
        "entries that do not fit the columns of their table: second copies, kinds without columns, "
        "and damaged ones";
    made->columns = {{"kind", SqlType::kInteger, "the table: a number of store/store.h"},
                     {"key", SqlType::kBytes, "the entry's key"},
                     {"gallery", SqlType::kInteger, "the gallery's number; 0: none"}};
    made->keys = 2;
    made->opaque = true;
    return made;
  }();
  return *layout;
}

std::pair<int64_t, int64_t> RunPositions(std::span<const Cell> row) {
  const auto first = static_cast<int64_t>(NumberIn(row[1]) * kRunPositions);
  return {first, first + kRunPositions - 1};
}

std::optional<Cells> SplitKey(Table table, ByteSpan key) {
  if (table == Table::kCatalog) {
    if (key.empty() || key.size() > kMaxKey || !IsText(key)) return std::nullopt;
    return Cells{key};
  }
  const Format& format = FormatFor(table);
  if (key.size() != KeySize(format)) return std::nullopt;
  const uint64_t gallery = BigEndian(key.first(kGallery));
  Cells cells;
  cells.reserve(format.layout.columns.size());
  cells.push_back(Integer(gallery));
  key = key.subspan(kGallery);
  for (const KeyField& field : format.key) {
    const ByteSpan bytes = key.first(field.size);
    key = key.subspan(field.size);
    switch (field.part) {
      case KeyPart::kTag:
        if (bytes[0] != static_cast<uint8_t>(field.tag)) return std::nullopt;
        break;
      case KeyPart::kBytes:
        cells.push_back(bytes);
        break;
      case KeyPart::kDue:
        cells.push_back(Integer(BigEndian(bytes) >> 63));
        cells.push_back(Integer(BigEndian(bytes) & ~kDueBit));
        break;
      default: {
        const uint64_t number = BigEndian(bytes);
        // Positions of runs are numbers, too.
        if (number >= (table == Table::kRoster ? kDueBit / kRunPositions : kDueBit))
          return std::nullopt;
        cells.push_back(Integer(number));
      }
    }
  }
  return cells;
}

std::vector<uint8_t> JoinKey(Table table, std::span<const Cell> row) {
  std::vector<uint8_t> key;
  if (table == Table::kCatalog) {
    const ByteSpan name = BytesIn(row[0]);
    return {name.begin(), name.end()};
  }
  AddBigEndian(&key, NumberIn(row[0]), kGallery);
  size_t at = 1;
  for (const KeyField& field : FormatFor(table).key) {
    if (field.part == KeyPart::kTag) {
      key.push_back(static_cast<uint8_t>(field.tag));
    } else if (field.part == KeyPart::kBytes) {
      const ByteSpan bytes = BytesIn(row[at++]);
      key.insert(key.end(), bytes.begin(), bytes.end());
    } else {
      const uint64_t due = field.part == KeyPart::kDue && NumberIn(row[at++]) != 0 ? kDueBit : 0;
      AddBigEndian(&key, NumberIn(row[at++]) | due, field.size);
    }
  }
  return key;
}

// In `from`, cut off or filled up with zeros, a part that no row has ends the bound.
Bound BoundOf(Table table, ByteSpan from, bool after) {
  Bound bound;
  bound.after = after;
  if (table == Table::kCatalog) {
    size_t size = 0;
    while (size < from.size() && from[size] >= 0x20 && from[size] < 0x7F) ++size;
    const bool text = IsText(from);
    bound.key = {text ? from : from.first(size)};
    bound.after = after && text;
    return bound;
  }
  const Format& format = FormatFor(table);
  std::vector<uint8_t> filled(from.begin(), from.end());
  bound.after = after || filled.size() > KeySize(format);
  filled.resize(KeySize(format));
  ByteSpan rest = filled;
  bound.key.push_back(Integer(BigEndian(rest.first(kGallery))));
  rest = rest.subspan(kGallery);
  int limit = 0;  // 1: all that follows is as large as it can be; -1: as small
  for (const KeyField& field : format.key) {
    const uint64_t number = field.size <= 8 ? BigEndian(rest.first(field.size)) : 0;
    if (field.part == KeyPart::kTag) {
      const auto tag = static_cast<uint8_t>(field.tag);
      if (limit == 0 && number != tag) limit = number > tag ? 1 : -1;
    } else if (field.part == KeyPart::kBytes) {
      bound.key.push_back(from.size() >= kGallery ? from.subspan(std::min(from.size(), kGallery))
                                                  : ByteSpan());
    } else if (field.part == KeyPart::kDue) {
      bound.key.push_back(Integer(number >> 63));
      bound.key.push_back(Integer(number & ~kDueBit));
    } else {
      const uint64_t most = table == Table::kRoster ? kDueBit / kRunPositions - 1 : kDueBit - 1;
      if (limit == 0 && number > most) limit = 1;
      bound.key.push_back(Integer(limit == 0 ? number : limit > 0 ? most : 0));
    }
    rest = rest.subspan(field.size);
  }
  if (limit > 0) bound.after = true;
  if (limit < 0) bound.after = false;
  return bound;
}

std::optional<SplitEntry> Split(Table table, ByteSpan key, ByteSpan value) {
  auto row = SplitKey(table, key);
  if (!row) return std::nullopt;
  SplitEntry out;
  out.row = *std::move(row);
  const Format& format = FormatFor(table);
  if (format.layout.opaque) return out;
  if (value.size() < kChecksum) return std::nullopt;
  const ByteSpan payload = value.first(value.size() - kChecksum);
  if (table == Table::kCatalog) {
    ByteReader reader(payload, "row");
    out.row.push_back(Integer(reader.U32()));
    if (!reader.Finish().ok()) return std::nullopt;
  } else if (table == Table::kRoster) {
    if (!SplitRun(payload, &out)) return std::nullopt;
  } else {
    ByteReader reader(payload, "row");
    for (const Field& field : format.value) {
      Cell cell = ReadField(field, payload.empty() ? 0 : payload[0], reader, &out.texts);
      if (!reader.ok()) return std::nullopt;
      if (HasColumn(field)) out.row.push_back(std::move(cell));
    }
    if (!reader.Finish().ok()) return std::nullopt;
  }
  out.row.push_back(Integer(ByteReader(value.last(kChecksum), "sum").U64()));
  // Only if nothing is lost: other text of a list, a length that has another meaning.
  if (!std::ranges::equal(JoinValue(table, out.row, out.templates), value)) return std::nullopt;
  return out;
}

std::vector<uint8_t> JoinValue(Table table, std::span<const Cell> row,
                               std::span<const Cells> templates) {
  size_t at = 0;
  return JoinValue(table, row, [&] { return at < templates.size() ? &templates[at++] : nullptr; });
}

std::vector<uint8_t> JoinValue(Table table, std::span<const Cell> row, const NextTemplate& next) {
  const Format& format = FormatFor(table);
  ByteWriter writer;
  size_t at = format.layout.keys;
  bool sound = true;
  if (table == Table::kCatalog) {
    writer.U32(static_cast<uint32_t>(NumberIn(row[at++])));
  } else if (table == Table::kRoster) {
    sound = JoinRun(row, next, writer);
  } else {
    for (const Field& field : format.value) {
      sound = WriteField(field, HasColumn(field) ? row[at++] : Cell(), writer) && sound;
    }
  }
  if (!sound) return {};
  writer.U64(NumberIn(row[at]));
  return writer.Take();
}

uint32_t GalleryOf(Table table, ByteSpan key, ByteSpan value) {
  if (table == Table::kCatalog) {
    return value.size() == kGallery + kChecksum ? ByteReader(value, "number").U32() : 0;
  }
  if (!key.empty() && key[0] == 0xFF) key = key.subspan(1);  // of a second copy
  return key.size() < kGallery ? 0 : static_cast<uint32_t>(BigEndian(key.first(kGallery)));
}

}  // namespace heft
