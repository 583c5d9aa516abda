#include "core/llama/scheduler.h"

#include <algorithm>

namespace aana::llama {

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

  std::rotate(prefilling.begin(), prefilling.begin() + static_cast<std::ptrdiff_t>(turn_++ % prefilling.size()), prefilling.end());
  // Those who need least first: what they leave goes to the others.
  std::stable_sort(prefilling.begin(), prefilling.end(),
                   [](const Demand& a, const Demand& b) { return a.n_prompt_left < b.n_prompt_left; });
  int32_t n_left = n_prefill_per_step_;
  auto n_waiting = static_cast<int32_t>(prefilling.size());
  for (const auto& demand : prefilling) {
    const int32_t n_fair = (n_left + n_waiting - 1) / n_waiting;
    const int32_t n_tokens = std::min(demand.n_prompt_left, n_fair);
    if (n_tokens > 0) plan.push_back({demand.slot, n_tokens});
    n_left -= n_tokens;
    n_waiting--;
  }
  return plan;
}

}  // namespace aana::llama
