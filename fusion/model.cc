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
#include "heft/files.h"

namespace heft {
namespace {

constexpr std::string_view kKind = "MODL";
constexpr uint32_t kModelVersion = 4;
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

// Printing JSON takes one stack frame for each level, so a hostile text could end the program.
bool GoodSummary(const std::string& text) { return Json::Parse(text, kMaxSummaryDepth).ok(); }

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

// The part that determines fused templates.
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

// Part of the id if it is set.
void WriteAgreement(ByteWriter& writer, const Model& model) {
  if (model.sample_agreement) writer.F64(*model.sample_agreement);
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

void WriteTable(ByteWriter& writer, const DecisionTable& table) {
  writer.U32(table.modalities);
  writer.U32(static_cast<uint32_t>(table.thresholds.size()));
  for (const DecisionThreshold& t : table.thresholds) {
    writer.F64(t.fmr);
    writer.F64(t.score);
    writer.F64(t.fnmr);
    writer.U64(t.impostor_pairs);
    writer.F64(t.interval.lo);
    writer.F64(t.interval.hi);
  }
  WriteSearches(writer, table.searches);
  writer.U32(table.calibration ? 1 : 0);
  if (!table.calibration) return;
  writer.F64(table.calibration->slope);
  writer.F64(table.calibration->intercept);
}

DecisionTable ReadTable(ByteReader& reader) {
  DecisionTable table;
  table.modalities = reader.U32();
  const uint32_t thresholds = reader.U32();
  if (thresholds > kMaxThresholds) reader.Fail(absl::StrCat(thresholds, " thresholds"));
  for (uint32_t i = 0; i < thresholds && reader.ok(); ++i) {
    DecisionThreshold& t = table.thresholds.emplace_back();
    t.fmr = reader.F64();
    t.score = reader.F64();
    t.fnmr = reader.F64();
    t.impostor_pairs = reader.U64();
    t.interval = {reader.F64(), reader.F64()};
  }
  table.searches = ReadSearches(reader);
  const uint32_t calibrated = reader.U32();
  if (calibrated > 1) reader.Fail("whether there is a calibration");
  if (calibrated == 1) table.calibration = {reader.F64(), reader.F64()};
  return table;
}

// The part that determines the meaning of scores.
void WriteTables(ByteWriter& writer, const Model& model) {
  writer.U32(static_cast<uint32_t>(model.tables.size()));
  for (const DecisionTable& table : model.tables) WriteTable(writer, table);
}

void ReadTables(ByteReader& reader, Model* model) {
  const uint32_t tables = reader.U32();
  if (tables > kMaxTables) reader.Fail(absl::StrCat(tables, " decision tables"));
  for (uint32_t i = 0; i < tables && reader.ok(); ++i) model->tables.push_back(ReadTable(reader));
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

absl::Status CheckTable(const DecisionTable& table) {
  for (const DecisionThreshold& t : table.thresholds) {
    if (!std::isfinite(t.score) || !(t.fmr > 0 && t.fmr < 1) || !(t.interval.lo >= 0) ||
        !(t.interval.hi >= t.interval.lo) || !(t.interval.hi <= 1)) {
      return absl::InvalidArgumentError("model: a threshold is invalid");
    }
  }
  uint32_t before = 0;
  for (const SearchCalibration& s : table.searches) {
    if (s.templates <= before || s.comparisons == 0 || !Good(s.tail) ||
        !std::ranges::all_of(s.replicates, Good)) {
      return absl::InvalidArgumentError("model: a calibration of searches is invalid");
    }
    before = s.templates;
  }
  if (table.calibration && !Finite(*table.calibration)) {
    return absl::InvalidArgumentError("model: the calibration is not finite");
  }
  return absl::OkStatus();
}

absl::Status CheckTables(const Model& model) {
  if (model.tables.size() > kMaxTables) {
    return absl::InvalidArgumentError(
        absl::StrCat("model: ", model.tables.size(), " decision tables, at most ", kMaxTables));
  }
  std::set<uint32_t> sets;
  for (const DecisionTable& table : model.tables) {
    const uint32_t set = table.modalities;
    if (set == 0 || (set & ~model.AllModalities()) != 0 || !sets.insert(set).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("model: a decision table for the set of modalities ", set,
                       " is empty, has a modality that the model lacks, or has a second table"));
    }
    HEFT_RETURN_IF_ERROR(CheckTable(table));
  }
  if (!model.tables.empty() && model.tables[0].modalities != model.AllModalities()) {
    return absl::InvalidArgumentError(
        "model: the first decision table must be for probes with all modalities");
  }
  return absl::OkStatus();
}

// "face", "face + voice".
std::string SetName(const Model& model, uint32_t set) {
  return absl::StrJoin(model.NamesOf(set), " + ");
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
    return bad("the exact projection has another size than the projection");
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
    return bad("the agreement of samples must be in (0, 1]");
  }
  return CheckTables(*this);
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
  WriteTables(writer, *this);
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

std::vector<std::string> Model::NamesOf(uint32_t set) const {
  std::vector<std::string> names;
  for (size_t i = 0; i < modalities.size(); ++i) {
    if ((set >> i & 1) != 0) names.push_back(modalities[i].name);
  }
  return names;
}

absl::StatusOr<uint32_t> Model::SetOf(std::span<const std::string> names) const {
  if (names.empty()) return absl::InvalidArgumentError("no modality given: name at least one");
  uint32_t set = 0;
  for (const std::string& name : names) {
    HEFT_ASSIGN_OR_RETURN(const size_t index, FindModality(name));
    const uint32_t bit = uint32_t{1} << index;
    if ((set & bit) != 0) {
      return absl::InvalidArgumentError(absl::StrCat("modality \"", name, "\" is named twice"));
    }
    set |= bit;
  }
  return set;
}

absl::StatusOr<const DecisionTable*> Model::TableFor(uint32_t set) const {
  if (set == 0 || (set & ~AllModalities()) != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("a probe with the set of modalities ", set, ": it is empty, or has others ",
                     "than the model, whose set is ", AllModalities()));
  }
  const auto found = std::ranges::find(tables, set, &DecisionTable::modalities);
  if (found != tables.end()) return &*found;
  std::vector<std::string> sets;
  for (const DecisionTable& table : tables) sets.push_back(SetName(*this, table.modalities));
  return absl::FailedPreconditionError(absl::StrCat(
      "the model has no decision table for probes with ", SetName(*this, set), ": it has ",
      sets.empty() ? "none" : absl::StrCat("tables for ", absl::StrJoin(sets, ", ")),
      "; add one (heft calibrate --data DATA), train again, or take the scores without a "
      "decision"));
}

absl::StatusOr<ChosenThreshold> Model::ThresholdFor(double fmr, uint32_t set) const {
  HEFT_ASSIGN_OR_RETURN(const DecisionTable* table, TableFor(set));
  return ChooseThreshold(table->thresholds, fmr);
}

absl::StatusOr<ChosenThreshold> Model::ThresholdForSearch(double fpir, uint64_t people,
                                                          uint32_t templates, uint32_t set) const {
  HEFT_ASSIGN_OR_RETURN(const DecisionTable* table, TableFor(set));
  return ChooseSearchThreshold(table->searches, fpir, people, templates);
}

std::vector<uint8_t> Model::Serialize() const {
  ByteWriter writer;
  WriteCore(writer, *this);
  writer.F64(sample_agreement.value_or(0));
  WriteDoubles(writer, exact_projection);
  WriteTables(writer, *this);
  writer.String(training_summary);
  return SealEnvelope(kKind, kModelVersion, writer.bytes());
}

absl::StatusOr<Model> Model::Parse(ByteSpan bytes, std::string_view what) {
  HEFT_ASSIGN_OR_RETURN(bytes, Unsigned(bytes, what));
  HEFT_ASSIGN_OR_RETURN(const ByteSpan payload, OpenEnvelope(bytes, kKind, kModelVersion, what));
  ByteReader reader(payload, what);
  Model model = ReadCore(reader);
  const double agreement = reader.F64();
  // -0.0 would be written as 0.
  if (agreement != 0 || std::signbit(agreement)) model.sample_agreement = agreement;
  model.exact_projection = ReadDoubles(reader);
  ReadTables(reader, &model);
  model.training_summary = reader.String(1 << 24);
  HEFT_RETURN_IF_ERROR(reader.Finish());
  HEFT_RETURN_IF_ERROR(model.Check());
  if (!GoodSummary(model.training_summary)) {
    return absl::DataLossError(absl::StrCat(std::string(what), ": training summary is not JSON of ",
                                            "at most ", kMaxSummaryDepth, " levels"));
  }
  return model;
}

absl::StatusOr<Model> LoadModel(const std::string& path) {
  HEFT_ASSIGN_OR_RETURN(const std::vector<uint8_t> bytes, ReadFile(path, kMaxModelSize));
  return Model::Parse(bytes, path);
}

}  // namespace heft
