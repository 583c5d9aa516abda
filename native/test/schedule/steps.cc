#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "../sampling/check.h"
#include "core/llama/schedule/scheduler.h"
#include "tests.h"

namespace aana::test {
namespace {

using llama::Demand;
using llama::Scheduler;

// Returns the step in which each prompt is complete. No sequence decodes, so each step has 16 prompt tokens.
std::map<size_t, int> EndsOf(std::vector<Demand> demands) {
  Scheduler scheduler(16);
  std::map<size_t, int> ends;
  for (int step = 1; !demands.empty(); step++) {
    int32_t n_tokens = 0;
    for (const auto& share : scheduler.Plan(demands)) {
      n_tokens += share.n_tokens;
      for (auto& demand : demands) {
        if (demand.slot == share.slot) demand.n_prompt_left -= share.n_tokens;
      }
    }
    Expect(n_tokens <= 16, "step " + std::to_string(step) + " has " + std::to_string(n_tokens) + " tokens");
    std::erase_if(demands, [&](const Demand& demand) {
      if (demand.n_prompt_left == 0) ends[demand.slot] = step;
      return demand.n_prompt_left == 0;
    });
  }
  return ends;
}

}  // namespace

void TestSteps() {
  Test("prompts with the fewest tokens left are complete first, and a step's tokens go to as few prompts as possible", [] {
    const auto ends = EndsOf({{.slot = 0, .number = 0, .n_prompt_left = 36}, {.slot = 1, .number = 1, .n_prompt_left = 20},
                              {.slot = 2, .number = 2, .n_prompt_left = 12}});
    Expect(ends == std::map<size_t, int>{{2, 1}, {1, 2}, {0, 5}}, "other steps");
  });
  Test("prompts of equal length are complete in the order in which they came", [] {
    const auto ends = EndsOf({{.slot = 0, .number = 7, .n_prompt_left = 16}, {.slot = 1, .number = 5, .n_prompt_left = 16},
                              {.slot = 2, .number = 6, .n_prompt_left = 16}});
    Expect(ends == std::map<size_t, int>{{1, 1}, {2, 2}, {0, 3}}, "another order");
  });
  Test("a long prompt gets every fourth step while short ones keep coming", [] {
    Scheduler scheduler(16);
    int n_long = 0;
    for (uint64_t step = 0; step < 100; step++) {
      const std::vector<Demand> demands{{.slot = 0, .number = 0, .n_prompt_left = 7000}, {.slot = 1, .number = 1 + step, .n_prompt_left = 16}};
      for (const auto& share : scheduler.Plan(demands)) n_long += share.slot == 0 ? share.n_tokens : 0;
    }
    Expect(n_long == 25 * 16, std::to_string(n_long) + " tokens of the long prompt in 100 steps");
  });
  Test("every sequence that decodes has one token beside the prompts, unless its reader is behind", [] {
    Scheduler scheduler(256);
    scheduler.NoteStep(100, std::chrono::duration<double>(1.0));  // 10 ms a token, so 15 tokens keep a step short; 16 are the least
    const auto plan = scheduler.Plan(std::vector<Demand>{{.slot = 0, .n_prompt_left = 0}, {.slot = 1, .n_prompt_left = 0, .paused = true}, {.slot = 2, .n_prompt_left = 500}});
    Expect(plan.size() == 2 && plan[0].slot == 0 && plan[0].n_tokens == 1 && plan[1].slot == 2 && plan[1].n_tokens == 16, "another plan");
  });
}

}  // namespace aana::test
