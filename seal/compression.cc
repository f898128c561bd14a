// SPDX-License-Identifier: Apache-2.0
#include "seal/format.h"

#define ZSTD_STATIC_LINKING_ONLY  // ZSTD_createDCtx_advanced: an allocator that wipes
#include <zlib.h>
#include <zstd.h>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdlib>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "base/secure.h"

namespace heft::seal {
namespace {

// WipingAllocate, WipingFree: allocations that are wiped when freed. A prefix with room for any
// alignment stores the size.
constexpr size_t kPrefix = alignof(std::max_align_t);
static_assert(kPrefix >= sizeof(size_t));

void* WipingAllocate(void*, size_t size) {
  auto* p = static_cast<uint8_t*>(std::malloc(size + kPrefix));
  if (p == nullptr) return nullptr;
  *reinterpret_cast<size_t*>(p) = size + kPrefix;
  return p + kPrefix;
}

void WipingFree(void*, void* p) {
  if (p == nullptr) return;
  uint8_t* start = static_cast<uint8_t*>(p) - kPrefix;
  SecureWipe(start, *reinterpret_cast<size_t*>(start));
  std::free(start);
}

void* ZlibAllocate(void* opaque, unsigned items, unsigned size) {
  return WipingAllocate(opaque, size_t{items} * size);
}

// Inflater: one stream, read in pieces.
class Inflater {
 public:
  Inflater(Compression compression, ByteSpan in, size_t max_size)
      : compression_(compression), in_(in) {
    if (compression == Compression::kZlib) {
      zlib_.zalloc = ZlibAllocate;
      zlib_.zfree = WipingFree;
      ok_ = inflateInit(&zlib_) == Z_OK;
    } else {
      zstd_ = ZSTD_createDCtx_advanced({WipingAllocate, WipingFree, nullptr});
      // The window needs memory too: at most the object's size, or the window of zstd at level 19.
      const int window = std::clamp<int>(std::bit_width(max_size), 23, 27);
      ok_ = zstd_ != nullptr &&
            !ZSTD_isError(ZSTD_DCtx_setParameter(zstd_, ZSTD_d_windowLogMax, window));
    }
  }
  ~Inflater() {
    if (compression_ == Compression::kZlib) {
      inflateEnd(&zlib_);
    } else {
      ZSTD_freeDCtx(zstd_);
    }
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Fill: writes until `out` is full or the stream ends; returns the number of bytes written.
  size_t Fill(std::span<uint8_t> out) {
    size_t written = 0;
    while (ok_ && !ended_ && written < out.size()) {
      const size_t before_in = at_;
      const size_t before_out = written;
      written += compression_ == Compression::kZlib ? Zlib(out.subspan(written))
                                                    : Zstd(out.subspan(written));
      // No progress: the stream is truncated.
      if (!ended_ && at_ == before_in && written == before_out) ok_ = false;
    }
    return written;
  }
  // Ended: whether the stream has ended. Tries a zero-length read, to detect an end right after the
  // last byte.
  bool Ended() {
    uint8_t none;
    if (ok_ && !ended_ && Fill({&none, 1}) != 0) return false;
    return ended_;
  }
  bool ok() const { return ok_; }
  bool consumed() const { return at_ == in_.size(); }

 private:
  size_t Zlib(std::span<uint8_t> out) {
    constexpr size_t kMax = std::numeric_limits<unsigned>::max();
    const size_t in_size = std::min(kMax, in_.size() - at_);
    const size_t out_size = std::min(kMax, out.size());
    zlib_.next_in = const_cast<uint8_t*>(in_.data()) + at_;
    zlib_.avail_in = static_cast<unsigned>(in_size);
    zlib_.next_out = out.data();
    zlib_.avail_out = static_cast<unsigned>(out_size);
    const int result = inflate(&zlib_, Z_NO_FLUSH);
    at_ += in_size - zlib_.avail_in;
    ended_ = result == Z_STREAM_END;
    if (!ended_ && result != Z_OK && result != Z_BUF_ERROR) ok_ = false;
    return out_size - zlib_.avail_out;
  }
  size_t Zstd(std::span<uint8_t> out) {
    ZSTD_inBuffer input = {in_.data(), in_.size(), at_};
    ZSTD_outBuffer output = {out.data(), out.size(), 0};
    const size_t result = ZSTD_decompressStream(zstd_, &output, &input);
    at_ = input.pos;
    ended_ = result == 0;
    if (ZSTD_isError(result)) ok_ = false;
    return output.pos;
  }

  Compression compression_;
  ByteSpan in_;
  size_t at_ = 0;
  bool ok_ = false;
  bool ended_ = false;
  z_stream zlib_{};
  ZSTD_DCtx* zstd_ = nullptr;
};

absl::Status Damaged(std::string_view what) {
  return absl::DataLossError(
      absl::StrCat(std::string(what), ": a damaged or truncated compressed stream"));
}

absl::Status TooLarge(std::string_view what, size_t max_size) {
  return absl::DataLossError(absl::StrCat(std::string(what), ": decompresses to more than the ",
                                          max_size, " bytes that such an object can have"));
}

absl::Status CheckEnd(Inflater& inflater, std::string_view what, size_t max_size) {
  if (!inflater.Ended()) return inflater.ok() ? TooLarge(what, max_size) : Damaged(what);
  if (!inflater.consumed()) {
    return absl::DataLossError(
        absl::StrCat(std::string(what), ": bytes after the end of the compressed stream"));
  }
  return absl::OkStatus();
}

}  // namespace

std::vector<uint8_t> Compress(Compression compression, ByteSpan in) {
  std::vector<uint8_t> out;
  if (compression == Compression::kNone) {
    out.assign(in.begin(), in.end());
  } else if (compression == Compression::kZlib) {
    uLongf size = compressBound(in.size());
    out.resize(size);
    compress2(out.data(), &size, in.data(), in.size(), Z_DEFAULT_COMPRESSION);
    out.resize(size);
  } else {
    out.resize(ZSTD_compressBound(in.size()));
    out.resize(ZSTD_compress(out.data(), out.size(), in.data(), in.size(), ZSTD_CLEVEL_DEFAULT));
  }
  return out;
}

absl::StatusOr<std::vector<uint8_t>> Decompress(Compression compression, ByteSpan in,
                                                size_t max_size, std::string_view what) {
  Inflater inflater(compression, in, max_size);
  std::vector<uint8_t> out;
  // Memory grows with the actual content of the stream.
  size_t room = std::min(max_size, 4 * in.size() + 4096);
  for (;;) {
    const size_t before = out.size();
    out.resize(room);
    out.resize(before + inflater.Fill(std::span(out).subspan(before)));
    if (!inflater.ok()) return Damaged(what);
    if (out.size() < room || room == max_size) break;
    room = std::min(max_size, 2 * room);
  }
  HEFT_RETURN_IF_ERROR(CheckEnd(inflater, what, max_size));
  return out;
}

absl::Status DecompressExactly(Compression compression, ByteSpan in, std::span<uint8_t> out,
                               std::string_view what) {
  Inflater inflater(compression, in, out.size());
  if (inflater.Fill(out) != out.size()) return Damaged(what);
  return CheckEnd(inflater, what, out.size());
}

}  // namespace heft::seal
