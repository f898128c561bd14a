// SPDX-License-Identifier: Apache-2.0
#include "sql/spi_session.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "sql/job.h"

namespace heft::sql {
namespace {

HeftValue ValueOf(ByteSpan bytes) { return {HEFT_BYTES, 0, bytes.data(), bytes.size()}; }
HeftValue ValueOf(int64_t integer) { return {HEFT_INTEGER, integer, nullptr, 0}; }

// Parameters: in the backend's form.
class Parameters {
 public:
  explicit Parameters(std::span<const SqlParameter> parameters) {
    arrays_.reserve(parameters.size());  // values point into them
    for (const SqlParameter& parameter : parameters) {
      values_.push_back(std::visit([this](const auto& value) { return Of(value); }, parameter));
    }
  }
  const HeftValue* data() const { return values_.data(); }
  int count() const { return static_cast<int>(values_.size()); }

 private:
  static HeftValue Of(std::monostate) { return {HEFT_NULL, 0, nullptr, 0}; }
  static HeftValue Of(ByteSpan bytes) { return ValueOf(bytes); }
  static HeftValue Of(int64_t integer) { return ValueOf(integer); }
  static HeftValue Of(std::string_view text) { return {HEFT_TEXT, 0, text.data(), text.size()}; }
  HeftValue Of(const SqlBytesArray& array) { return OfArray(array, HEFT_BYTES_ARRAY); }
  HeftValue Of(const SqlIntegerArray& array) { return OfArray(array, HEFT_INTEGER_ARRAY); }

  template <typename Array>
  HeftValue OfArray(const Array& array, HeftType type) {
    std::vector<HeftValue>& values = arrays_.emplace_back();
    for (const auto& element : array) {
      values.push_back(element ? ValueOf(*element) : Of(std::monostate()));
    }
    return {type, 0, values.data(), values.size()};
  }

  std::vector<std::vector<HeftValue>> arrays_;
  std::vector<HeftValue> values_;
};

class SpiSession : public SqlSession {
 public:
  explicit SpiSession(HeftJob* job) : job_(job), number_(job->number()) {}
  ~SpiSession() override { Rollback(); }

  absl::StatusOr<SqlRows> Execute(std::string_view statement,
                                  std::span<const SqlParameter> parameters) override {
    const std::string sql(statement);
    const Parameters values(parameters);
    Asked request = New(HEFT_STATEMENT);
    request.sql = sql.c_str();
    request.parameters = values.data();
    request.count = values.count();
    HEFT_RETURN_IF_ERROR(Ask(&request));
    return std::move(request.rows);
  }

  absl::Status Run(std::string_view) override {
    return absl::UnimplementedError(
        "this cannot be done inside a transaction: use heft-server on the same database");
  }

  absl::Status Begin(Mode mode) override {
    Asked request = New(mode == Mode::kRead ? HEFT_TAKE_SNAPSHOT : HEFT_BEGIN);
    HEFT_RETURN_IF_ERROR(Ask(&request));
    snapshot_ = request.snapshot;
    depth_ = request.depth;
    return absl::OkStatus();
  }

  using SqlSession::Commit;
  absl::Status Commit(absl::Duration) override {
    if (snapshot_ != nullptr) return End(HEFT_DROP_SNAPSHOT);
    return depth_ > 0 ? End(HEFT_COMMIT) : absl::OkStatus();
  }

  void Rollback() override {
    if (snapshot_ != nullptr) (void)End(HEFT_DROP_SNAPSHOT);
    if (depth_ > 0) (void)End(HEFT_ROLL_BACK);
  }

  absl::Status Lock(absl::Duration wait) override {
    Asked request = New(HEFT_LOCK);
    request.depth = static_cast<int>(absl::ToInt64Milliseconds(std::min(wait, absl::Hours(24))));
    HEFT_RETURN_IF_ERROR(Ask(&request));
    if (!request.refused) return absl::OkStatus();
    return absl::UnavailableError(
        absl::StrCat("other transactions change the galleries of this database, for longer than ",
                     absl::FormatDuration(wait), ": end these transactions, or try again later"));
  }
  void Unlock() override {}

  bool Lost() const override {
    const HeftJob* const current = HeftJob::Current();
    return current == nullptr || current->number() != number_;
  }
  // Only the backend's own interrupts end its statements.
  void Interrupt() override { interrupted_ = true; }

 private:
  Asked New(HeftRequestKind kind) const {
    Asked request = {};
    request.kind = kind;
    request.snapshot = snapshot_;
    request.depth = depth_;
    return request;
  }
  absl::Status Ask(Asked* request) const {
    if (Lost()) return absl::UnavailableError("the call of this session has ended");
    if (interrupted_) return absl::CancelledError("interrupted");
    return job_->Ask(request);
  }
  absl::Status End(HeftRequestKind kind) {
    Asked request = New(kind);
    const absl::Status ended = Ask(&request);
    snapshot_ = nullptr;
    depth_ = 0;
    return ended;
  }

  HeftJob* const job_;
  const uint64_t number_;
  std::atomic<bool> interrupted_ = false;
  void* snapshot_ = nullptr;
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<std::unique_ptr<SqlSession>> ConnectSpi() {
  HeftJob* const job = HeftJob::Current();
  if (job == nullptr) return absl::FailedPreconditionError("no call of heft is running");
  return std::make_unique<SpiSession>(job);
}

}  // namespace heft::sql
