#include "core/llama/loop/scheduler.h"

#include <algorithm>
#include <utility>

namespace aana::llama {
namespace {

// What a step may take when sequences wait for their next token.
constexpr double kStepSeconds = 0.15;
// So that a prompt gets on, however slow the machine is; also the least from which the time of a token is learnt.
constexpr int32_t kMinPrefillTokens = 16;
// Prompts of so many tokens together are read in one step, however long it takes: on a slow machine with many sequences
// that decode, their first tokens would else wait for many steps.
constexpr int32_t kShortPrompts = 256;
// One step in so many goes to the oldest prompt, so that short prompts that keep arriving slow a long one down at most
// so many times.
constexpr size_t kStepsPerOldest = 4;

}  // namespace

std::vector<Share> Scheduler::Plan(std::span<const Demand> demands) {
  std::vector<Share> plan;
  std::vector<Demand> prefilling;
  for (const auto& demand : demands) {
    if (demand.n_prompt_left > 0) {
      prefilling.push_back(demand);
    } else if (!demand.paused) {
      plan.push_back({demand.slot, 1});
    }
  }
  if (prefilling.empty()) return plan;

  const bool is_turn_of_oldest = turn_++ % kStepsPerOldest == kStepsPerOldest - 1;
  std::ranges::sort(prefilling, {}, [&](const Demand& demand) {
    return std::pair(is_turn_of_oldest ? 0 : demand.n_prompt_left, demand.number);
  });
  int32_t n_short = 0;
  for (const auto& demand : prefilling) {
    if (demand.n_prompt_left > kShortPrompts - n_short) break;
    n_short += demand.n_prompt_left;
  }
  int32_t n_left = std::min(std::max(PrefillTokens(!plan.empty()), n_short), n_prefill_per_step_);
  for (const auto& demand : prefilling) {
    const int32_t n_tokens = std::min({demand.n_prompt_left, demand.n_most, n_left});
    if (n_tokens == 0) break;
    plan.push_back({demand.slot, n_tokens});
    n_left -= n_tokens;
  }
  return plan;
}

int32_t Scheduler::PrefillTokens(bool beside_decoding) const {
  if (!beside_decoding || seconds_per_token_ <= 0) return n_prefill_per_step_;
  const auto n_in_time = static_cast<int32_t>(std::min(kStepSeconds / seconds_per_token_, 1e6));
  return std::min(std::max(n_in_time, kMinPrefillTokens), n_prefill_per_step_);
}

void Scheduler::NoteStep(int32_t n_tokens, std::chrono::duration<double> elapsed) {
  if (n_tokens < kMinPrefillTokens) return;
  const double seconds = elapsed.count() / n_tokens;
  least_seconds_per_token_ = least_seconds_per_token_ > 0 ? std::min(least_seconds_per_token_, seconds) : seconds;
  seconds_per_token_ = seconds_per_token_ > 0 ? 0.7 * seconds_per_token_ + 0.3 * seconds : seconds;
}

}  // namespace aana::llama
