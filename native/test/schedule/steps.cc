#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "../check.h"
#include "core/llama/loop/gaps.h"
#include "core/llama/loop/scheduler.h"
#include "core/llama/loop/step_cost.h"
#include "tests.h"

namespace aana::test {
namespace {

using llama::Demand;
using llama::Filler;
using llama::Scheduler;
using llama::Share;

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

// Returns the plan of slots with one token each after its gaps are filled: "0 1* 2" has an idle token in slot 1.
std::string Filled(const std::vector<size_t>& slots, const std::vector<Filler>& fillers, double most_idle) {
  std::vector<Share> plan;
  for (const auto slot : slots) plan.push_back({slot, 1});
  llama::FillGaps(plan, fillers, most_idle);
  std::string text;
  for (const auto& share : plan)
    text += (text.empty() ? "" : " ") + std::to_string(share.slot) + (share.is_idle ? "*" : "");
  return text;
}

void ExpectText(const std::string& got, const std::string& expected) {
  Expect(got == expected, "got " + got + ", expected " + expected);
}

}  // namespace

void TestSteps() {
  Test("prompts with the fewest tokens left are complete first, and a step's tokens go to as few prompts as possible",
       [] {
         const auto ends = EndsOf({{.slot = 0, .number = 0, .n_prompt_left = 36},
                                   {.slot = 1, .number = 1, .n_prompt_left = 20},
                                   {.slot = 2, .number = 2, .n_prompt_left = 12}});
         Expect(ends == std::map<size_t, int>{{2, 1}, {1, 2}, {0, 5}}, "other steps");
       });
  Test("prompts of equal length are complete in the order in which they came", [] {
    const auto ends = EndsOf({{.slot = 0, .number = 7, .n_prompt_left = 16},
                              {.slot = 1, .number = 5, .n_prompt_left = 16},
                              {.slot = 2, .number = 6, .n_prompt_left = 16}});
    Expect(ends == std::map<size_t, int>{{1, 1}, {2, 2}, {0, 3}}, "another order");
  });
  Test("a long prompt gets every fourth step while short ones keep coming", [] {
    Scheduler scheduler(16);
    int n_long = 0;
    for (uint64_t step = 0; step < 100; step++) {
      const std::vector<Demand> demands{{.slot = 0, .number = 0, .n_prompt_left = 7000},
                                        {.slot = 1, .number = 1 + step, .n_prompt_left = 16}};
      for (const auto& share : scheduler.Plan(demands)) n_long += share.slot == 0 ? share.n_tokens : 0;
    }
    Expect(n_long == 25 * 16, std::to_string(n_long) + " tokens of the long prompt in 100 steps");
  });
  Test("short prompts are read at once beside sequences that decode, also on a slow machine", [] {
    Scheduler scheduler(512);
    scheduler.NoteStep(100, std::chrono::duration<double>(3.0));
    std::vector<Demand> demands{{.slot = 0, .n_prompt_left = 0},
                                {.slot = 1, .number = 1, .n_prompt_left = 5000},
                                {.slot = 2, .number = 2, .n_prompt_left = 120},
                                {.slot = 3, .number = 3, .n_prompt_left = 100},
                                {.slot = 4, .number = 4, .n_prompt_left = 90}};
    std::string text;
    for (const auto& share : scheduler.Plan(demands))
      text += std::to_string(share.slot) + ":" + std::to_string(share.n_tokens) + " ";
    ExpectText(text, "0:1 4:90 3:100 ");
  });
  Test("every sequence that decodes has one token beside the prompts, unless its reader is behind", [] {
    Scheduler scheduler(256);
    scheduler.NoteStep(
        100, std::chrono::duration<double>(1.0));  // 10 ms a token, so 15 tokens keep a step short; 16 are the least
    const auto plan = scheduler.Plan(std::vector<Demand>{{.slot = 0, .n_prompt_left = 0},
                                                         {.slot = 1, .n_prompt_left = 0, .paused = true},
                                                         {.slot = 2, .n_prompt_left = 500}});
    Expect(
        plan.size() == 2 && plan[0].slot == 0 && plan[0].n_tokens == 1 && plan[1].slot == 2 && plan[1].n_tokens == 16,
        "another plan");
  });
  Test("a gap is filled with prompt tokens, and with idle ones when these take less time than a pass", [] {
    const std::vector<Filler> fillers{{1, false}, {3, true}, {4, true}, {6, true}};
    ExpectText(Filled({0, 2, 5}, fillers, 0), "0 1 2 5");
    ExpectText(Filled({0, 2, 5}, fillers, 1.9), "0 1 2 5");
    ExpectText(Filled({5, 2, 0}, fillers, 2), "0 1 2 3* 4* 5");
    ExpectText(Filled({0, 2}, {}, 8), "0 2");
    ExpectText(Filled({0, 3}, fillers, 8), "0 3");  // slot 2 cannot take part
    ExpectText(Filled({4}, fillers, 8), "4");
    ExpectText(Filled({}, fillers, 8), "");
  });
  Test("the cost of a pass in tokens is learnt from steps of different forms", [] {
    llama::StepCost cost;
    Expect(cost.TokensPerPass() == 0, "it is known before the first step");
    for (int i = 0; i < 50; i++) cost.Note(1, 8, 0.065 + 8 * 0.0144);
    Expect(cost.TokensPerPass() == 0, "it is known from equal steps");
    for (int i = 0; i < 20; i++) cost.Note(1 + i % 3, 8 + i, (1 + i % 3) * 0.065 + (8 + i) * 0.0144);
    ExpectNear(cost.TokensPerPass(), 0.065 / 0.0144, 1e-6, "tokens of a pass");
  });
  Test(
      "a machine on which tokens cost nothing has a bounded cost of a pass, and one on which passes cost nothing has "
      "none",
      [] {
        llama::StepCost free_tokens;
        llama::StepCost free_passes;
        for (int i = 0; i < 20; i++) {
          free_tokens.Note(1 + i % 3, 8 + i, 0.01 * (1 + i % 3));
          free_passes.Note(1 + i % 3, 8 + i, 0.01 * (8 + i));
        }
        ExpectNear(free_tokens.TokensPerPass(), 64, 1e-9, "tokens of a pass");
        ExpectNear(free_passes.TokensPerPass(), 0, 1e-6, "tokens of a pass");
      });
}

}  // namespace aana::test
