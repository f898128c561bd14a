// SPDX-License-Identifier: Apache-2.0
// 1:1 verification with files between the roles, as services would do it: keys sealed under a
// passphrase, a decision at the model's threshold, and the query budget that it is charged to.
#include <cstdlib>
#include <iostream>

#include "examples/common.h"
#include "heft/files.h"
#include "heft/key_set.h"
#include "heft/server.h"
#include "heft/train.h"

int main() {
  const TemporaryFolder folder;
  const std::filesystem::path work = folder.path;
  // The anchors of the keys' journals. By default they are in ~/.local/state/heft, and stay there.
  setenv("HEFT_STATE_DIR", (work / "state").c_str(), 1);
  heft::SyntheticOptions people;
  people.identities = 30, people.samples_per_identity = 8, people.dimensions = {48};
  people.factors.emplace();  // the law for vectors of so few numbers
  const auto data = Check(heft::TrainingData::Synthesise(people));
  const heft::Model model = Check(heft::Learn(data, {.gamma = 16, .epochs = 5}));

  // Key owner: a key set in a folder. A service takes the passphrase from its secret store.
  auto passphrase = []() -> absl::StatusOr<std::string> { return "correct horse"; };
  const heft::KeySet keys = Check(heft::MakeKeySet(model, work / "keys", passphrase));

  // Client and server have the public files.
  const auto read = [](const std::string& path) { return Check(heft::ReadFile(path)); };
  const auto client = Check(heft::Client::Create(model, read(keys.encryption_key)));
  const auto server = Check(
      heft::Server::Create(model, read(keys.evaluation_keys), "keys", read(keys.enrolment_keys)));
  auto sample = [&](size_t row) {
    auto bytes = Check(client.Encrypt("face", data.Vector(0, row), data.labels()[row]));
    return std::vector<heft::SampleFile>{{std::move(bytes), "sample"}};
  };
  for (size_t row : {0, 8, 16}) Check(server.Enrol(work / "gallery", sample(row)));
  // Key owner: approves them. Server: checks the signature, and adds them to the gallery.
  const auto owner = Check(heft::KeyOwner::Load(model, keys.secret_key, passphrase));
  const auto pending = Check(server.Pending(Check(heft::Gallery::Open(work / "gallery"))));
  const auto admission = Check(owner.Approve(pending, "pending")).signed_admission;
  Check(server.Activate(work / "gallery", admission, "admission",
                        Check(heft::Trust::Load(keys.trust))));
  const auto gallery = Check(heft::Gallery::Open(work / "gallery"));
  const auto reply = Check(server.Verify(gallery, sample(8), data.labels()[8]));

  // Key owner: a decision, no score. Of false claims one in a hundred may be accepted.
  const heft::DecisionRule rule = {.fmr = 1e-2};
  const heft::Decision decision = Check(owner.Decide(reply, "reply", rule));
  const heft::BudgetUse budget = Check(owner.Budget());
  std::cout << (decision.accepted ? "accepted " : "rejected ") << decision.identity << "; "
            << budget.decisions << " of " << budget.limits.decisions << " acceptances a day used\n";
  return decision.accepted ? 0 : 1;
}
