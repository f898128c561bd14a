// SPDX-License-Identifier: Apache-2.0
#include "sql/job.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status.h"

namespace {

std::atomic<HeftJob*> current_job = nullptr;
uint64_t jobs = 0;

// Descriptor: by which jobs wake the backend; of this process, a forked child makes its own.
struct Descriptor {
  int descriptor = -1;
  pid_t process = 0;
};
Descriptor wake;

void Wake() {
  const uint64_t one = 1;
  // Full (2^64 - 1) it never is: whatever happens, the backend is awake.
  [[maybe_unused]] const ssize_t written = write(wake.descriptor, &one, sizeof(one));
}

}  // namespace

namespace heft::sql {

absl::Status Catching(const std::function<absl::Status()>& work) {
  try {
    return work();
  } catch (const std::bad_alloc&) {
    return absl::ResourceExhaustedError(
        "out of memory: give the server more memory, or the session fewer threads (heft.threads)");
  } catch (const std::exception& thrown) {
    return absl::InternalError(absl::StrCat("unexpected: ", thrown.what()));
  } catch (...) {
    return absl::InternalError("unexpected: an exception of an unknown kind");
  }
}

}  // namespace heft::sql

HeftJob::HeftJob(Work work) : number_(++jobs) {
  current_job = this;
  // A thread has the mask of the one that makes it, and so have those that it makes.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this, work = std::move(work)] { Run(work); });
  } catch (...) {
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    current_job = nullptr;
    throw;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

HeftJob::~HeftJob() {
  Stop();
  thread_.join();
  current_job = nullptr;
}

HeftJob* HeftJob::Current() { return current_job.load(); }

void HeftJob::Run(const Work& work) {
  status_ = heft::sql::Catching([&]() -> absl::Status {
    HEFT_RETURN_IF_ERROR(work(*this));
    Show();
    return absl::OkStatus();
  });
  try {
    message_ = std::string(status_.message());
  } catch (...) {
  }
  done_ = true;
  Wake();
}

// Show: what the backend reads of the records.
void HeftJob::Show() {
  using heft::sql::Field;
  for (const heft::sql::Record& record : records_) {
    std::vector<HeftValue>& row = values_.emplace_back();
    for (const Field& field : record) {
      HeftValue value = {};
      if (const auto* integer = std::get_if<int64_t>(&field)) {
        value = {HEFT_INTEGER, *integer, nullptr, 0};
      } else if (const auto* boolean = std::get_if<bool>(&field)) {
        value = {HEFT_BOOLEAN, *boolean ? 1 : 0, nullptr, 0};
      } else if (const auto* text = std::get_if<std::string>(&field)) {
        value = {HEFT_TEXT, 0, text->data(), text->size()};
      } else if (const auto* bytes = std::get_if<std::vector<uint8_t>>(&field)) {
        value = {HEFT_BYTES, 0, bytes->data(), bytes->size()};
      }
      row.push_back(value);
    }
  }
}

absl::Status HeftJob::Ask(heft::sql::Asked* request) {
  constexpr char kStopped[] = "the database ended this call";
  {
    std::unique_lock<std::mutex> lock(mutex_);
    if (stopped_) return absl::CancelledError(kStopped);
    asked_.push_back(request);
    Wake();
    answered_.wait(lock, [&] { return request->answered || stopped_; });
    if (!request->answered) return absl::CancelledError(kStopped);
  }
  if (request->failed) return absl::ResourceExhaustedError("out of memory");
  return absl::OkStatus();
}

heft::sql::Asked* HeftJob::Next() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (asked_.empty()) return nullptr;
  heft::sql::Asked* const request = asked_.front();
  asked_.pop_front();
  return request;
}

void HeftJob::Answer(heft::sql::Asked* request) {
  const std::lock_guard<std::mutex> lock(mutex_);
  request->answered = true;
  answered_.notify_all();
}

// Stop: ends all waits for an answer. A request that is being served is not used again.
void HeftJob::Stop() {
  const std::lock_guard<std::mutex> lock(mutex_);
  stopped_ = true;
  asked_.clear();
  answered_.notify_all();
}

extern "C" {

int heft_job_descriptor(void) {
  if (wake.process != getpid()) {
    wake = {eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK), getpid()};
  }
  return wake.descriptor;
}

void heft_job_quiet(void) {
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = read(wake.descriptor, &count, sizeof(count));
}

HeftRequest* heft_job_next(HeftJob* job) { return job->Next(); }
void heft_job_answer(HeftJob* job, HeftRequest* request) {
  job->Answer(static_cast<heft::sql::Asked*>(request));
}
bool heft_job_done(HeftJob* job) { return job->Done(); }
void heft_job_end(HeftJob* job) { delete job; }

const char* heft_job_error(const HeftJob* job, const char** state) {
  using absl::StatusCode;
  if (job->status().ok()) return nullptr;
  switch (job->status().code()) {
    case StatusCode::kInvalidArgument:
      *state = "22023";
      break;  // invalid_parameter_value
    case StatusCode::kDataLoss:
      // data_corrupted, or invalid_binary_representation
      *state = heft::IsOfStore(job->status()) ? "XX001" : "22P03";
      break;
    case StatusCode::kFailedPrecondition:
      *state = "55000";
      break;  // object_not_in_prerequisite_state
    case StatusCode::kNotFound:
      *state = "P0002";
      break;  // no_data_found
    case StatusCode::kAlreadyExists:
      *state = "23505";
      break;  // unique_violation
    case StatusCode::kUnavailable:
      *state = "55P03";
      break;  // lock_not_available
    case StatusCode::kResourceExhausted:
      *state = "53200";
      break;  // out_of_memory
    case StatusCode::kCancelled:
      *state = "57014";
      break;  // query_canceled
    case StatusCode::kPermissionDenied:
      *state = "42501";
      break;
    case StatusCode::kAborted:
      *state = "40001";
      break;
    case StatusCode::kUnimplemented:
      *state = "0A000";
      break;
    default:
      *state = "XX000";
      break;
  }
  return job->message().empty() ? "out of memory" : job->message().c_str();
}

size_t heft_job_rows(const HeftJob* job) { return job->values().size(); }

const HeftValue* heft_job_row(const HeftJob* job, size_t row, size_t* columns) {
  const std::vector<HeftValue>& values = job->values()[row];
  *columns = values.size();
  return values.data();
}

bool heft_request_row(HeftRequest* asked, const HeftValue* values, int count) {
  auto* const request = static_cast<heft::sql::Asked*>(asked);
  const absl::Status kept = heft::sql::Catching([&]() -> absl::Status {
    request->rows.columns = static_cast<size_t>(count);
    size_t size = 0;
    for (int i = 0; i < count; ++i) size += values[i].size;
    // One piece of memory a row; all of them live as long as the rows.
    struct Kept {
      std::shared_ptr<const void> earlier;
      std::vector<uint8_t> bytes;
      ~Kept() {  // not by recursion: there may be a million rows
        while (earlier != nullptr && earlier.use_count() == 1) {
          auto* const last = const_cast<Kept*>(static_cast<const Kept*>(earlier.get()));
          std::shared_ptr<const void> next = std::move(last->earlier);
          earlier = std::move(next);
        }
      }
    };
    auto memory = std::make_shared<Kept>();
    memory->bytes.reserve(size);
    std::vector<std::pair<bool, size_t>> places;
    for (int i = 0; i < count; ++i) {
      places.emplace_back(values[i].type != HEFT_NULL, memory->bytes.size());
      const auto* const data = static_cast<const uint8_t*>(values[i].data);
      memory->bytes.insert(memory->bytes.end(), data, data + values[i].size);
    }
    for (int i = 0; i < count; ++i) {
      std::optional<heft::ByteSpan> value;
      if (places[i].first) value.emplace(memory->bytes.data() + places[i].second, values[i].size);
      request->rows.values.push_back(value);
    }
    memory->earlier = std::move(request->rows.memory);
    request->rows.memory = std::move(memory);
    return absl::OkStatus();
  });
  request->failed = !kept.ok();
  return kept.ok();
}

}  // extern "C"
