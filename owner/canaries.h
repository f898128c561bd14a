// SPDX-License-Identifier: Apache-2.0
// Canaries: templates in a gallery. The key owner knows their answers, and the server cannot tell
// them from other templates. They come in triples of synthetic people. The third one's vectors are
// a combination of the other two's. So its template is a combination of their templates, and its
// score the same combination of their scores, whatever the probe:
//
//   t_3 = a t_1 + b t_2,   score_3 = a score_1 + b score_2.
//
// A search that is restricted holds those who fit its conditions: of a triple all or none.
//
// A server that answers with another gallery, skips or exchanges a block with one of them, or makes
// scores up, breaks the relation. There are also probes whose scores with all canaries are known.
#ifndef HEFT_OWNER_CANARIES_H_
#define HEFT_OWNER_CANARIES_H_

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "fusion/owner/key_share.h"
#include "heft/key_owner.h"
#include "owner/ceremony.h"
#include "owner/complete_replies.h"

namespace heft {

inline constexpr std::string_view kCanaryKind = "CNRY";
inline constexpr char kCanarySuffix[] = ".canaries";

// kRelationHolds: by how much the relation may be missed; scores err by 1.3e-4 to 1.8e-4, rms
// (measured), with Laplace's tail, and the relation by half as much again.
inline constexpr double kRelationHolds = 0.01;
// kAnswerHolds: the same of a probe's known score, to which the approximation's errors add.
inline constexpr double kAnswerHolds = 0.03;

class Canaries {
 public:
  // Person: a name, and the fused vector before its normalisation.
  struct Person {
    std::string name;
    std::vector<double> z;
  };
  struct Triple {
    std::array<Person, 3> people;
    double a = 0, b = 0;
  };
  // A probe's label, and whose vector it is.
  struct Probe {
    std::string label;
    uint32_t triple = 0, person = 0;
  };

  // Make: for a model. `set` receives the plain vectors of the people to enrol and of the probes.
  // `names` of the canaries, or random ones if empty. kInvalidArgument for names that are not three
  // a triple, kFailedPrecondition for a model in whose interval no such people are found.
  static absl::StatusOr<Canaries> Make(const Model& model, size_t triples,
                                       std::vector<std::string> names, CanarySet* set);

  // Seal, Open: the file (kind CNRY), under the secret key. `ceremony`: of a shared key; its file
  // is sealed for each owner and signed by this one. kDataLoss for another key's,
  // kFailedPrecondition for another model's, and for a file that none of the owners signed.
  absl::StatusOr<std::vector<uint8_t>> Seal(const Model& model, const HeldKey& held,
                                            const Ceremony* ceremony) const;
  static absl::StatusOr<Canaries> Open(ByteSpan bytes, const Model& model, const HeldKey& held,
                                       const Ceremony* ceremony, std::string_view what);

  bool Names(const std::string& identity) const { return names_.contains(identity); }
  // Check: why replies to one question with these cosines of canaries cannot be honest ones; empty:
  // they can. `thin`: probes are normalised exactly.
  std::string Check(const std::vector<ReadReply>& replies,
                    const std::multimap<std::string, double>& cosines, const Approximation& f,
                    bool thin) const;

  const std::vector<Triple>& triples() const { return triples_; }

 private:
  void Index();
  // `restricted`: to conditions, which not all canaries need fit.
  std::string CheckRelations(const std::multimap<std::string, double>& cosines,
                             bool restricted) const;
  std::string CheckAnswers(const Probe& probe, const std::multimap<std::string, double>& cosines,
                           const Approximation& f, bool thin) const;

  std::vector<Triple> triples_;
  std::vector<Probe> probes_;
  std::map<std::string, std::pair<size_t, size_t>> names_;  // triple and person
};

}  // namespace heft

#endif  // HEFT_OWNER_CANARIES_H_
