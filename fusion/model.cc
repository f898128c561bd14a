// SPDX-License-Identifier: Apache-2.0
#include "heft/model.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/envelope.h"
#include "base/files.h"
#include "base/signed_file.h"
#include "heft/json.h"

namespace heft {
namespace {

constexpr std::string_view kKind = "MODL";
constexpr uint32_t kFirstModelVersion = 1;
constexpr uint32_t kCalibratedVersion = 2;  // the same with a calibration
constexpr uint32_t kDecisionsVersion = 3;   // with intervals, searches and agreement
constexpr uint32_t kMaxModalities = 8;
constexpr uint32_t kMaxDimension = 4096;
constexpr uint32_t kMaxThresholds = 64;
constexpr uint32_t kMaxSearches = 16;
constexpr uint32_t kMaxReplicates = 1000;
constexpr int kMaxSummaryDepth = 32;

bool Finite(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
}

bool GoodName(const std::string& name) {
  return !name.empty() && name.size() <= 64 &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; });
}

// Printing JSON takes a stack frame a level, so a hostile text could end the program.
bool GoodSummary(const std::string& text) { return Json::Parse(text, kMaxSummaryDepth).ok(); }

// Trainers before version 2 wrote the calibration into the summary.
std::optional<ScoreCalibration> CalibrationInSummary(const std::string& text) {
  const Json summary = Json::Parse(text).value_or(Json());
  const Json* found = summary.find("score_calibration");
  if (found == nullptr) return std::nullopt;
  const Json& slope = (*found)["slope"];
  const Json& intercept = (*found)["intercept"];
  if (!slope.is_number() || !intercept.is_number()) return std::nullopt;
  return ScoreCalibration{slope.get<double>(), intercept.get<double>()};
}

bool Finite(const ScoreCalibration& calibration) {
  return std::isfinite(calibration.slope) && std::isfinite(calibration.intercept);
}

void WriteDoubles(ByteWriter& writer, const std::vector<double>& values) {
  writer.U64(values.size());
  writer.F64Array(values);
}

std::vector<double> ReadDoubles(ByteReader& reader) {
  std::vector<double> values(
      reader.Count(sizeof(double), uint64_t{kMaxGamma} * kMaxModalities * kMaxDimension));
  reader.F64Array(values);
  return values;
}

// The part that decides what a fused template is.
void WriteCore(ByteWriter& writer, const Model& model) {
  writer.U32(static_cast<uint32_t>(model.modalities.size()));
  for (const ModalitySpec& modality : model.modalities) {
    writer.String(modality.name);
    writer.U32(modality.dimension);
  }
  writer.U32(model.gamma);
  writer.String(model.profile);
  WriteDoubles(writer, model.projection);
  writer.String(model.approximation.name);
  writer.F64(model.approximation.interval.lo);
  writer.F64(model.approximation.interval.hi);
  writer.U32(static_cast<uint32_t>(model.approximation.stages.size()));
  for (const Polynomial& stage : model.approximation.stages) {
    writer.F64(stage.centre);
    writer.F64(stage.half_width);
    WriteDoubles(writer, stage.coefficients);
  }
}

// Agreement stands behind the core in version 3, and in the id where there is one.
void WriteAgreement(ByteWriter& writer, const Model& model) {
  if (model.sample_agreement) writer.F64(*model.sample_agreement);
}

// The oldest version that holds all of it.
uint32_t VersionFor(const Model& model) {
  const bool intervals = std::ranges::any_of(
      model.thresholds, [](const auto& t) { return t.interval != RateInterval{}; });
  if (model.sample_agreement || intervals || !model.searches.empty()) return kDecisionsVersion;
  return model.calibration ? kCalibratedVersion : kFirstModelVersion;
}

void WriteTail(ByteWriter& writer, const ImpostorTail& tail) {
  for (double v : {tail.start, tail.rate, tail.scale, tail.shape, tail.evenness}) writer.F64(v);
}

ImpostorTail ReadTail(ByteReader& reader) {
  return {reader.F64(), reader.F64(), reader.F64(), reader.F64(), reader.F64()};
}

void WriteSearches(ByteWriter& writer, std::span<const SearchCalibration> searches) {
  writer.U32(static_cast<uint32_t>(searches.size()));
  for (const SearchCalibration& s : searches) {
    writer.U32(s.templates);
    writer.U64(s.people);
    writer.U64(s.comparisons);
    WriteTail(writer, s.tail);
    writer.U32(static_cast<uint32_t>(s.replicates.size()));
    for (const ImpostorTail& tail : s.replicates) WriteTail(writer, tail);
  }
}

std::vector<SearchCalibration> ReadSearches(ByteReader& reader) {
  std::vector<SearchCalibration> searches;
  const uint32_t count = reader.U32();
  if (count > kMaxSearches) reader.Fail(absl::StrCat(count, " calibrations of searches"));
  for (uint32_t i = 0; i < count && reader.ok(); ++i) {
    SearchCalibration& s = searches.emplace_back();
    s.templates = reader.U32();
    s.people = reader.U64();
    s.comparisons = reader.U64();
    s.tail = ReadTail(reader);
    const uint32_t replicates = reader.U32();
    if (replicates > kMaxReplicates) reader.Fail(absl::StrCat(replicates, " replicates"));
    for (uint32_t r = 0; r < replicates && reader.ok(); ++r) {
      s.replicates.push_back(ReadTail(reader));
    }
  }
  return searches;
}

// The part that decides what a score means.
void WriteRules(ByteWriter& writer, const Model& model, uint32_t version) {
  writer.U32(static_cast<uint32_t>(model.thresholds.size()));
  for (const DecisionThreshold& t : model.thresholds) {
    writer.F64(t.fmr);
    writer.F64(t.score);
    writer.F64(t.fnmr);
    writer.U64(t.impostor_pairs);
    if (version < kDecisionsVersion) continue;
    writer.F64(t.interval.lo);
    writer.F64(t.interval.hi);
  }
  if (version == kDecisionsVersion) {
    WriteSearches(writer, model.searches);
    writer.U32(model.calibration ? 1 : 0);
  }
  if (!model.calibration) return;
  writer.F64(model.calibration->slope);
  writer.F64(model.calibration->intercept);
}

void ReadRules(ByteReader& reader, uint32_t version, Model* model) {
  const uint32_t thresholds = reader.U32();
  if (thresholds > kMaxThresholds) reader.Fail(absl::StrCat(thresholds, " thresholds"));
  for (uint32_t i = 0; i < thresholds && reader.ok(); ++i) {
    DecisionThreshold& t = model->thresholds.emplace_back();
    t.fmr = reader.F64();
    t.score = reader.F64();
    t.fnmr = reader.F64();
    t.impostor_pairs = reader.U64();
    if (version == kDecisionsVersion) t.interval = {reader.F64(), reader.F64()};
  }
  bool calibrated = version == kCalibratedVersion;
  if (version == kDecisionsVersion) {
    model->searches = ReadSearches(reader);
    const uint32_t flag = reader.U32();
    if (flag > 1) reader.Fail("whether there is a calibration");
    calibrated = flag == 1;
  }
  if (calibrated) model->calibration = {reader.F64(), reader.F64()};
}

ModelId IdOf(const ByteWriter& writer) {
  const Hash hash = HashBytes(writer.bytes());
  ModelId id;
  std::copy_n(hash.begin(), id.size(), id.begin());
  return id;
}

Model ReadCore(ByteReader& reader) {
  Model model;
  const uint32_t modalities = reader.U32();
  if (modalities > kMaxModalities) reader.Fail(absl::StrCat(modalities, " modalities"));
  for (uint32_t i = 0; i < modalities && reader.ok(); ++i) {
    ModalitySpec modality;
    modality.name = reader.String(64);
    modality.dimension = reader.U32();
    model.modalities.push_back(std::move(modality));
  }
  model.gamma = reader.U32();
  model.profile = reader.String(64);
  model.projection = ReadDoubles(reader);
  model.approximation.name = reader.String(64);
  model.approximation.interval.lo = reader.F64();
  model.approximation.interval.hi = reader.F64();
  const uint32_t stages = reader.U32();
  if (stages > 16) reader.Fail(absl::StrCat(stages, " stages of an approximation"));
  for (uint32_t i = 0; i < stages && reader.ok(); ++i) {
    Polynomial stage;
    stage.centre = reader.F64();
    stage.half_width = reader.F64();
    stage.coefficients = ReadDoubles(reader);
    model.approximation.stages.push_back(std::move(stage));
  }
  return model;
}

bool Good(const ImpostorTail& tail) {
  return std::isfinite(tail.start) && tail.rate > 0 && tail.rate <= 1 && tail.scale > 0 &&
         std::isfinite(tail.scale) && std::isfinite(tail.shape) && tail.shape < 1 &&
         tail.evenness > 0 && std::isfinite(tail.evenness);
}

absl::Status CheckRules(const Model& model) {
  for (const DecisionThreshold& t : model.thresholds) {
    if (!std::isfinite(t.score) || !(t.fmr > 0 && t.fmr < 1) || !(t.interval.lo >= 0) ||
        !(t.interval.hi >= t.interval.lo) || !(t.interval.hi <= 1)) {
      return absl::InvalidArgumentError("model: a threshold is invalid");
    }
  }
  uint32_t before = 0;
  for (const SearchCalibration& s : model.searches) {
    if (s.templates <= before || s.comparisons == 0 || !Good(s.tail) ||
        !std::ranges::all_of(s.replicates, Good)) {
      return absl::InvalidArgumentError("model: a calibration of searches is invalid");
    }
    before = s.templates;
  }
  if (model.calibration && !Finite(*model.calibration)) {
    return absl::InvalidArgumentError("model: the calibration is not finite");
  }
  return absl::OkStatus();
}

}  // namespace

uint32_t Model::TotalDimension() const {
  uint32_t total = 0;
  for (const ModalitySpec& modality : modalities) total += modality.dimension;
  return total;
}

absl::Status Model::Check() const {
  auto bad = [](std::string_view why) {
    return absl::InvalidArgumentError(absl::StrCat("model: ", std::string(why)));
  };
  if (modalities.empty() || modalities.size() > kMaxModalities) {
    return bad(absl::StrCat(modalities.size(), " modalities, 1 to ", kMaxModalities, " supported"));
  }
  std::set<std::string> names;
  for (const ModalitySpec& modality : modalities) {
    if (!GoodName(modality.name) || !names.insert(modality.name).second) {
      return bad(absl::StrCat("modality name \"", modality.name, "\" is not usable"));
    }
    if (modality.dimension < 1 || modality.dimension > kMaxDimension) {
      return bad(absl::StrCat("dimension ", modality.dimension, " of ", modality.name));
    }
  }
  if (!std::has_single_bit(gamma) || gamma < 2 || gamma > kMaxGamma) {
    return bad(absl::StrCat("gamma ", gamma, " is not a power of two in [2, ", kMaxGamma, "]"));
  }
  const size_t size = size_t{gamma} * TotalDimension();
  if (projection.size() != size || !Finite(projection)) {
    return bad(
        absl::StrCat("the projection is not ", gamma, " x ", TotalDimension(), " finite numbers"));
  }
  if (!exact_projection.empty() && (exact_projection.size() != size || !Finite(exact_projection))) {
    return bad("the exact projection has another size");
  }
  const Interval& interval = approximation.interval;
  if (!(interval.lo > 0) || !(interval.hi > interval.lo) || !std::isfinite(interval.hi)) {
    return bad("the approximation's interval is not positive");
  }
  if (approximation.stages.empty()) return bad("no approximation");
  for (const Polynomial& stage : approximation.stages) {
    if (stage.coefficients.size() < 2 || stage.coefficients.size() > 64 ||
        !Finite(stage.coefficients) || !std::isfinite(stage.centre) ||
        !std::isfinite(stage.half_width) || !(stage.half_width > 0)) {
      return bad("the approximation is not a polynomial of degree 1 to 63");
    }
  }
  if (sample_agreement && !(*sample_agreement > 0 && *sample_agreement <= 1)) {
    return bad("the agreement of samples does not lie in (0, 1]");
  }
  return CheckRules(*this);
}

ModelId Model::Id() const {
  ByteWriter writer;
  WriteCore(writer, *this);
  WriteAgreement(writer, *this);
  return IdOf(writer);
}

ModelId Model::DecisionId() const {
  ByteWriter writer;
  WriteCore(writer, *this);
  WriteAgreement(writer, *this);
  WriteRules(writer, *this, VersionFor(*this));
  return IdOf(writer);
}

absl::StatusOr<size_t> Model::FindModality(std::string_view name) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < modalities.size(); ++i) {
    if (modalities[i].name == name) return i;
    names.push_back(modalities[i].name);
  }
  return absl::InvalidArgumentError(absl::StrCat("the model has no modality \"", std::string(name),
                                                 "\": it has ", absl::StrJoin(names, ", ")));
}

absl::StatusOr<ChosenThreshold> Model::ThresholdFor(double fmr) const {
  return ChooseThreshold(thresholds, fmr);
}

absl::StatusOr<ChosenThreshold> Model::ThresholdForSearch(double fpir, uint64_t people,
                                                          uint32_t templates) const {
  return ChooseSearchThreshold(searches, fpir, people, templates);
}

std::vector<uint8_t> Model::Serialize() const {
  const uint32_t version = VersionFor(*this);
  ByteWriter writer;
  WriteCore(writer, *this);
  if (version == kDecisionsVersion) writer.F64(sample_agreement.value_or(0));
  WriteDoubles(writer, exact_projection);
  WriteRules(writer, *this, version);
  writer.String(training_summary);
  return SealEnvelope(kKind, version, writer.bytes());
}

absl::StatusOr<Model> Model::Parse(ByteSpan bytes, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(bytes, Unsigned(bytes, what));
  const uint32_t version =
      std::clamp(EnvelopeVersion(bytes), kFirstModelVersion, kDecisionsVersion);
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload, OpenEnvelope(bytes, kKind, version, what));
  ByteReader reader(payload, what);
  Model model = ReadCore(reader);
  if (version == kDecisionsVersion) {
    const double agreement = reader.F64();
    if (agreement != 0) model.sample_agreement = agreement;
  }
  model.exact_projection = ReadDoubles(reader);
  ReadRules(reader, version, &model);
  if (version == kDecisionsVersion && VersionFor(model) != version) {
    reader.Fail("nothing that this version is for");
  }
  model.training_summary = reader.String(1 << 24);
  HEFT_RETURN_IF_ERROR(reader.Finish());
  HEFT_RETURN_IF_ERROR(model.Check());
  if (!GoodSummary(model.training_summary)) {
    return absl::DataLossError(absl::StrCat(std::string(what), ": training summary is not JSON of ",
                                            "at most ", kMaxSummaryDepth, " levels"));
  }
  if (version != kFirstModelVersion) return model;
  model.calibration = CalibrationInSummary(model.training_summary);
  if (model.calibration && !Finite(*model.calibration)) model.calibration.reset();
  return model;
}

absl::StatusOr<Model> LoadModel(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path, kMaxModelSize));
  return Model::Parse(bytes, path);
}

}  // namespace heft
