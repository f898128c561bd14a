// SPDX-License-Identifier: Apache-2.0
// Of what holds no ciphertexts: data, protocols, scores of others, models.
#include "base/bytes.h"
#include "base/files.h"
#include "base/testing.h"
#include "features/readers.h"
#include "fuzz/seeds.h"
#include "learning/train.h"

namespace heft::fuzz {
namespace {

absl::Status WriteScoreFiles(const SeedWriter& seeds) {
  HEFT_RETURN_IF_ERROR(seeds.Write(
      "score_files", "csv",
      "\xef\xbb\xbf"
      "bio_ref_subject_id,bio_ref_template_id,probe_subject_id,probe_key,kind,split,score,plain\r\n"
      "ann,0,ann,1,genuine,test,0.5,0.49\r\n\"B, \"\"x\"\"\",2,ann,1,impostor,,nan,-1e-3\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("score_files", "four", "a a p/1.png 0.5\na b p/2.png -7\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("score_files", "five", "a m a p 0.5\n\na m b q nan\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("score_files", "lists",
                                   "x 0.5\n0.25\n\x01"
                                   "0.125\n"));
  return seeds.Write("score_files", "histogram",
                     "3\n\x01"
                     "2\n0\n1\n");
}

absl::Status WriteFeatures(const SeedWriter& seeds) {
  const FeatureMatrix matrix = (FeatureMatrix(2, 3) << 1, -2, 0.5, 0, 3, -0.25).finished();
  std::vector<uint8_t> npy = FormatNpy(matrix);
  HEFT_RETURN_IF_ERROR(seeds.Write("npy", "float32", npy));
  const std::string header = "{'descr': '<f8', 'fortran_order': True, 'shape': (2,), }\n";
  ByteWriter writer;
  writer.Raw(AsBytes("\x93NUMPY\x02"));
  writer.U8(0);
  writer.U32(static_cast<uint32_t>(header.size()));
  writer.Raw(AsBytes(header));
  writer.F64(0.5);
  writer.F64(-1e300);
  HEFT_RETURN_IF_ERROR(seeds.Write("npy", "float64-version2", writer.bytes()));
  HEFT_RETURN_IF_ERROR(seeds.Write("text", "lines", "# face\n1, -2e-3; +0.5\n1e-999 4 5\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("text", "brackets", "[[1.0 2.0\n 3.0]\n [4 5 6]]\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("text", "fields",
                                   "\xef\xbb\xbf"
                                   "1\t2,,3;\n+4 5 6,\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("text", "names", "J\u00fcrgen\na\u202eb\n\xfc\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("text", "labels", "ann\n bob \nann\n\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("protocol", "headers",
                                   "path,template_id,subject_id\na.png,t,p\nb.png,t,p\n\x01"
                                   "path,template_id,subject_id\nc/d,q,p\na,r,z\n\x01"
                                   "enroll_template_id,probe_template_id\nt,q\nt,r\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("protocol", "lists",
                                   "a m p\nb m p\nc/d.x n z\n\x01"
                                   "c/d p\na p\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("protocol", "scores",
                                   "a m p\nb n z\n\x01"
                                   "c/d m p p\nc/d n z p\n"));
  HEFT_RETURN_IF_ERROR(seeds.Write("protocol", "names", "a\nb\nc/d\n"));
  HEFT_RETURN_IF_ERROR(WriteScoreFiles(seeds));
  HEFT_RETURN_IF_ERROR(seeds.Write("text", "conditions",
                                   "site=berlin\nlist=a|b\nage=18..30.5\nage=..-1e3\nx=1..y\n"));
  return seeds.Write("text", "split", "train\nvalidation\ntest\n");
}

absl::Status WriteLearning(const SeedWriter& seeds) {
  HEFT_ASSIGN_OR_RETURN(const auto model, ReadFile(testing::SourcePath("tests/golden/model.heft")));
  HEFT_RETURN_IF_ERROR(seeds.Write("model", "golden", model));
  HEFT_ASSIGN_OR_RETURN(const auto decided,
                        ReadFile(testing::SourcePath("tests/golden/model-2.heft")));
  HEFT_RETURN_IF_ERROR(seeds.Write("model", "decided", decided));
  TrainCheckpoint checkpoint;
  checkpoint.options = {{"seed", 1}, {"recipe", "generalising"}};
  checkpoint.epoch = 2;
  checkpoint.best_epoch = 1;
  checkpoint.best_fnmr = 0.5;
  checkpoint.best_auroc = 0.75;
  checkpoint.adam.step = 2;
  checkpoint.projection = (FeatureMatrix(1, 2) << 0.5, -1).finished();
  checkpoint.best = checkpoint.adam.mean = checkpoint.adam.square = checkpoint.projection;
  checkpoint.modality_weights = {1, 0.5};
  return seeds.Write("checkpoint", "two-epochs", FormatCheckpoint(checkpoint));
}

}  // namespace

absl::Status WritePlainSeeds(const SeedWriter& seeds) {
  HEFT_RETURN_IF_ERROR(WriteFeatures(seeds));
  return WriteLearning(seeds);
}

}  // namespace heft::fuzz
