// Sequences that lose their cells to others.
#include <algorithm>
#include <vector>

#include "../events/fake_llama.h"
#include "../sampling/check.h"
#include "harness.h"
#include "tests.h"

namespace aana::test {

using namespace llama;

void TestInterruptions() {
  Test("one that lost its cells goes on before others begin, also before those of a higher priority", [] {
    fake::Set({});
    LoadOptions options;
    options.n_context = 96;
    options.n_sequences = 2;
    options.kv_unified = true;
    options.n_cells = 100;
    LoopHarness harness(options);
    const auto submit = [&](RequestId id, size_t n_prompt, int32_t max_tokens, int32_t priority) {
      std::vector<llama_token> prompt(n_prompt, static_cast<llama_token>(id));
      auto request = GreedyRequest(id, std::move(prompt), max_tokens);
      request.sampling.logit_bias.push_back({fake::kEnd, -100.0F});
      request.terms.priority = priority;
      harness.Submit(std::move(request));
    };
    submit(1, 20, 70, 0);
    submit(2, 20, 70, 0);
    harness.Turn();
    submit(3, 3, 4, 24);
    std::vector<RequestId> ends;
    bool has_third_begun = false;
    for (const auto& event : harness.TurnUntilIdle()) {
      if (!std::holds_alternative<TextEvent>(event.what)) ends.push_back(event.id);
      else has_third_begun |= event.id == 3 && std::ranges::find(ends, 1) == ends.end();
    }
    Expect(harness.counts().n_preempted > 0, "no sequence lost its cells");
    Expect(ends.size() == 3, "a request did not end");
    Expect(!has_third_begun, "the third one began before the first one ended");
  });
}

}  // namespace aana::test
