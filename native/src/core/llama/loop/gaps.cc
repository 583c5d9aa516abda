#include "core/llama/loop/gaps.h"

#include <algorithm>

namespace aana::llama {

void FillGaps(std::vector<Share>& plan, std::span<const Filler> fillers, double most_idle) {
  std::ranges::sort(plan, {}, &Share::slot);
  std::vector<Share> added;
  for (size_t i = 1; i < plan.size(); i++) {
    const size_t begin = plan[i - 1].slot + 1;
    const size_t end = plan[i].slot;
    const auto first = std::ranges::lower_bound(fillers, begin, {}, &Filler::slot);
    const auto last = std::ranges::lower_bound(fillers, end, {}, &Filler::slot);
    const std::span gap(first, last);
    const bool can_close =
        gap.size() == end - begin && static_cast<double>(std::ranges::count_if(gap, &Filler::is_idle)) <= most_idle;
    if (!can_close) continue;
    for (const auto& filler : gap) added.push_back({filler.slot, 1, filler.is_idle});
  }
  plan.insert(plan.end(), added.begin(), added.end());
  std::ranges::sort(plan, {}, &Share::slot);
}

}  // namespace aana::llama
