// How tenants share the time of the engine.
#include <map>
#include <string>

#include "../events/fake_llama.h"
#include "../check.h"
#include "harness.h"
#include "tests.h"

namespace aana::test {
namespace {

using namespace llama;

struct Tenant {
  double weight = 1;
  bool is_reproducible = false;
};

// Two tenants who always have requests that wait for one of four slots.
class TwoTenants {
 public:
  TwoTenants(Tenant first, Tenant second) : tenants_{first, second}, harness_(Options()) {
    fake::Set({});
    for (int tenant = 0; tenant < 2; tenant++) {
      for (int i = 0; i < 8; i++) Submit(tenant);
    }
  }

  // Returns the part of the time that the first tenant gets. Each step computes the tokens of one tenant, or of both
  // alike.
  double Run(int n_turns) {
    double seconds[2] = {};
    for (int turn = 0; turn < n_turns; turn++) {
      const auto started = fake::now.load();
      const auto events = harness_.Turn();
      const double elapsed = std::chrono::duration<double>(fake::now.load() - started).count();
      std::map<RequestId, int> tenant_by_id;
      for (const auto& event : events) tenant_by_id[event.id] = static_cast<int>(event.id % 2);
      for (const auto& [id, tenant] : tenant_by_id)
        seconds[tenant] += elapsed / static_cast<double>(tenant_by_id.size());
      for (const auto& event : events) {
        if (!std::holds_alternative<TextEvent>(event.what)) Submit(static_cast<int>(event.id % 2));
      }
    }
    return seconds[0] / (seconds[0] + seconds[1]);
  }

 private:
  static LoadOptions Options() {
    LoadOptions options;
    options.n_context = 96;
    options.n_sequences = 4;
    return options;
  }

  void Submit(int tenant) {
    const RequestId id = 2 * ++n_submitted_ + tenant;
    auto request = GreedyRequest(id, {static_cast<llama_token>(1 + n_submitted_ % 30)}, 10);
    request.sampling.is_reproducible = tenants_[tenant].is_reproducible;
    request.terms.tenant = std::to_string(tenant);
    request.terms.weight = tenants_[tenant].weight;
    harness_.Submit(std::move(request));
  }

  Tenant tenants_[2];
  LoopHarness harness_;
  RequestId n_submitted_ = 0;
};

void ExpectPart(const std::string& name, Tenant first, Tenant second) {
  const double part = TwoTenants(first, second).Run(4000);
  ExpectNear(part, first.weight / (first.weight + second.weight), 0.04, name + ": the part of the first tenant");
}

// The first tenant has long prompts and short answers, the second the opposite. Both always have requests that wait.
// Returns the number of requests of the first that end, divided by that of the second.
double RequestsForEach(int32_t n_cells) {
  fake::Set({});
  LoadOptions options;
  options.n_context = 96;
  options.n_sequences = 4;
  options.n_cells = n_cells;
  options.n_prefill_per_step = 4;
  LoopHarness harness(options);
  RequestId n_submitted = 0;
  const auto submit = [&](int tenant) {
    const RequestId id = 2 * ++n_submitted + tenant;
    std::vector<llama_token> prompt(tenant == 0 ? 64 : 2);
    for (auto& token : prompt) token = static_cast<llama_token>(1 + (id * 7 + (&token - prompt.data())) % 30);
    prompt.front() = static_cast<llama_token>(1 + n_submitted % 30);
    auto request = GreedyRequest(id, std::move(prompt), tenant == 0 ? 2 : 60);
    request.terms.tenant = std::to_string(tenant);
    harness.Submit(std::move(request));
  };
  for (int i = 0; i < 16; i++) submit(i % 2);
  double n_ended[2] = {};
  for (int turn = 0; turn < 8000; turn++) {
    for (const auto& event : harness.Turn()) {
      if (std::holds_alternative<TextEvent>(event.what)) continue;
      n_ended[event.id % 2]++;
      submit(static_cast<int>(event.id % 2));
    }
  }
  return n_ended[0] / n_ended[1];
}

}  // namespace

void TestFairness() {
  Test("tenants share the time of the engine by their weights", [] {
    ExpectPart("equal", {}, {});
    ExpectPart("twice the weight", {.weight = 2}, {});
  });
  Test(
      "a tenant with reproducible requests, each of which has steps of its own, gets no more time than its weight says",
      [] {
        ExpectPart("equal", {.is_reproducible = true}, {});
        ExpectPart("twice the weight", {.weight = 2, .is_reproducible = true}, {});
        ExpectPart("half of the weight", {.is_reproducible = true}, {.weight = 2});
      });
  Test("a prompt that is interrupted because the cells run out costs its tenant as much as others", [] {
    const double expected = RequestsForEach(4 * 96);
    // The tenant with the most slots gives up cells, which is more often the one whose answers are long.
    ExpectNear(RequestsForEach(150), expected, 0.12 * expected, "requests of long prompts for each of short ones");
  });
}

}  // namespace aana::test
