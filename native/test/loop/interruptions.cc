// Sequences that lose their cells to others.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "../events/fake_llama.h"
#include "../check.h"
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
      if (!std::holds_alternative<TextEvent>(event.what))
        ends.push_back(event.id);
      else
        has_third_begun |= event.id == 3 && std::ranges::find(ends, 1) == ends.end();
    }
    Expect(harness.counts().n_preempted > 0, "no sequence lost its cells");
    Expect(ends.size() == 3, "a request did not end");
    Expect(!has_third_begun, "the third one began before the first one ended");
  });
  Test("what a sequence computed of its prompt before it waited for its reader is not told as reused", [] {
    fake::Set({});
    LoadOptions options;
    options.n_context = 96;
    options.n_sequences = 3;
    options.n_cells = 100;
    options.n_prefill_per_step = 1;
    LoopHarness harness(options);
    auto scored = GreedyRequest(1, std::vector<llama_token>(80, 5), 1);
    scored.sampling.n_prompt_logprobs = 0;
    harness.Submit(std::move(scored));
    int64_t n_unread = 0;
    for (int turn = 0; turn < 80; turn++) n_unread += std::ssize(harness.Turn(false));
    Expect(n_unread == 64, "its reader has another number of texts");
    fake::Advance(std::chrono::seconds(2));
    harness.Submit(GreedyRequest(2, std::vector<llama_token>(60, 9), 1));
    harness.Turn();
    Expect(harness.counts().n_waiting == 1 && harness.counts().n_running == 1, "it did not give up its slot");
    harness.Post(Cancel{2});
    harness.Post(Acknowledge{1, n_unread});
    for (const auto& event : harness.TurnUntilIdle()) {
      const auto* end = std::get_if<EndEvent>(&event.what);
      if (end && event.id == 1)
        Expect(end->n_reused == 0, std::to_string(end->n_reused) + " tokens are told as reused");
    }
    Expect(harness.counts().n_computed < 80 + 10, "its prompt was computed again");
  });
}

}  // namespace aana::test
