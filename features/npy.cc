// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "base/files.h"
#include "features/readers.h"

namespace heft {
namespace {

constexpr std::string_view kNpyMagic("\x93NUMPY", 6);

// What a header declares.
struct NpyHeader {
  size_t element_size = 0;  // 4 or 8
  uint64_t rows = 0;
  uint64_t columns = 0;
};

// The text after `key` and its colon in a header's dictionary, empty if the key is absent.
std::string_view ValueOf(std::string_view header, std::string_view key) {
  size_t at = header.find(key);
  if (at == std::string_view::npos) return {};
  at = header.find(':', at + key.size());
  if (at == std::string_view::npos) return {};
  at = header.find_first_not_of(' ', at + 1);
  return at == std::string_view::npos ? std::string_view() : header.substr(at);
}

// A tuple of sizes as Python writes it, "(3, 4)" or "(5,)"; nothing if it is anything else.
std::optional<std::vector<uint64_t>> ParseShape(std::string_view text) {
  if (text.empty() || text[0] != '(') return std::nullopt;
  const size_t end = text.find(')');
  if (end == std::string_view::npos) return std::nullopt;
  text = text.substr(1, end - 1);
  const auto skip_spaces = [&text] {
    text.remove_prefix(std::min(text.size(), text.find_first_not_of(' ')));
  };
  std::vector<uint64_t> shape;
  bool comma = false;  // after the last size
  for (skip_spaces(); !text.empty(); skip_spaces()) {
    uint64_t size = 0;
    const auto [next, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    if (error != std::errc() || shape.size() == 8 || (!shape.empty() && !comma))
      return std::nullopt;
    shape.push_back(size);
    text.remove_prefix(next - text.data());
    skip_spaces();
    comma = !text.empty() && text[0] == ',';
    if (comma) text.remove_prefix(1);
  }
  if (shape.size() == 1 && !comma) return std::nullopt;  // "(5)" is a number
  return shape;
}

absl::StatusOr<NpyHeader> ParseHeader(std::string_view text, const std::string& what) {
  NpyHeader header;
  const std::string_view descr = ValueOf(text, "'descr'");
  if (descr.substr(0, 5) == "'<f4'") {
    header.element_size = 4;
  } else if (descr.substr(0, 5) == "'<f8'") {
    header.element_size = 8;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": elements are ", std::string(descr.substr(0, descr.find(','))),
                     ", need little-endian float32 ('<f4') or float64 ('<f8')"));
  }
  const std::string_view order = ValueOf(text, "'fortran_order'");
  const std::optional<std::vector<uint64_t>> shape = ParseShape(ValueOf(text, "'shape'"));
  if (!shape.has_value() || (order.substr(0, 4) != "True" && order.substr(0, 5) != "False")) {
    return absl::DataLossError(absl::StrCat(what, ": the .npy header is not readable"));
  }
  if (shape->empty() || shape->size() > 2) {
    return absl::InvalidArgumentError(
        absl::StrCat(what, ": an array of ", shape->size(),
                     " dimensions, need 1 (one row) or 2 (rows, columns)"));
  }
  header.rows = shape->size() == 2 ? (*shape)[0] : 1;
  header.columns = shape->back();
  if (order.substr(0, 4) == "True" && header.rows > 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        what, ": stored in Fortran order; save it with numpy.ascontiguousarray first"));
  }
  return header;
}

}  // namespace

absl::StatusOr<FeatureMatrix> ParseNpy(ByteSpan bytes, std::string_view what_view) {
  const std::string what(what_view);
  if (bytes.empty()) return absl::DataLossError(absl::StrCat(what, ": the file is empty"));
  // numpy.savez writes an archive of zip.
  if (bytes.size() >= 4 && std::memcmp(bytes.data(), "PK\3\4", 4) == 0) {
    return absl::DataLossError(
        absl::StrCat(what, ": an .npz archive, not an .npy file; save one array with numpy.save"));
  }
  if (bytes.size() < 10 || std::memcmp(bytes.data(), kNpyMagic.data(), kNpyMagic.size()) != 0) {
    return absl::DataLossError(absl::StrCat(what, ": not an .npy file (wrong magic bytes)"));
  }
  const int version = bytes[6];
  if (version < 1 || version > 3) {
    return absl::DataLossError(
        absl::StrCat(what, ": .npy format version ", version, ", versions 1 to 3 are known"));
  }
  ByteReader reader(bytes.subspan(8), what);
  uint64_t header_size = 0;
  if (version == 1) {
    header_size = reader.U8();
    header_size |= uint64_t{reader.U8()} << 8;
  } else {
    header_size = reader.U32();
  }
  const ByteSpan header_bytes = reader.Raw(header_size);
  HEFT_RETURN_IF_ERROR(reader.status());
  const std::string_view text(reinterpret_cast<const char*>(header_bytes.data()),
                              header_bytes.size());
  HEFT_ASSIGN_OR_RETURN(const NpyHeader header, ParseHeader(text, what));

  const uint64_t available = reader.remaining() / header.element_size;
  if (header.rows == 0 || header.columns == 0) {
    return absl::InvalidArgumentError(absl::StrCat(what, ": holds no numbers"));
  }
  if (header.rows > available || header.columns > available / header.rows ||
      header.rows * header.columns * header.element_size != reader.remaining()) {
    return absl::DataLossError(absl::StrCat(what, ": declares ", header.rows, " x ", header.columns,
                                            " numbers of ", header.element_size, " bytes, ",
                                            reader.remaining(), " bytes are there"));
  }
  FeatureMatrix matrix(header.rows, header.columns);
  const ByteSpan data = reader.Raw(reader.remaining());
  if (header.element_size == 8) {
    std::memcpy(matrix.data(), data.data(), data.size());
  } else {
    for (Eigen::Index i = 0; i < matrix.size(); ++i) {
      float value;
      std::memcpy(&value, data.data() + 4 * i, 4);
      matrix.data()[i] = value;
    }
  }
  HEFT_RETURN_IF_ERROR(CheckFinite(matrix, what));
  return matrix;
}

absl::StatusOr<FeatureMatrix> ReadNpy(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path));
  return ParseNpy(bytes, path);
}

std::vector<uint8_t> FormatNpy(const FeatureMatrix& matrix) {
  std::string header = absl::StrCat("{'descr': '<f4', 'fortran_order': False, 'shape': (",
                                    matrix.rows(), ", ", matrix.cols(), "), }");
  // Magic, version, size and header fill a multiple of 64 bytes and end with a newline.
  header.append(63 - (10 + header.size()) % 64, ' ');
  header.push_back('\n');
  ByteWriter writer;
  writer.Raw(AsBytes(kNpyMagic));
  writer.U8(1);
  writer.U8(0);
  writer.U8(header.size() & 0xff);
  writer.U8(header.size() >> 8);
  writer.Raw(AsBytes(header));
  std::vector<uint8_t> bytes = writer.Take();
  const size_t start = bytes.size();
  bytes.resize(start + 4 * matrix.size());
  for (Eigen::Index i = 0; i < matrix.size(); ++i) {
    const float value = static_cast<float>(matrix.data()[i]);
    std::memcpy(bytes.data() + start + 4 * i, &value, 4);
  }
  return bytes;
}

absl::Status WriteNpy(const std::string& path, const FeatureMatrix& matrix) {
  return WriteFileAtomic(path, ByteSpan(FormatNpy(matrix)));
}

}  // namespace heft
