#include "core/llama/schedule/waiting_line.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace aana::llama {

std::unique_ptr<Sequence> WaitingLine::TakeNext(const TenantTurns& turns) {
  const auto rank = [&](const std::unique_ptr<Sequence>& sequence) {
    const auto& terms = sequence->terms();
    return std::tuple(turns.Rank(terms.tenant), -static_cast<int64_t>(terms.priority), sequence->number);
  };
  const auto next = std::ranges::min_element(line_, {}, rank);
  auto taken = std::move(*next);
  line_.erase(next);
  return taken;
}

std::unique_ptr<Sequence> WaitingLine::Take(RequestId id) {
  const auto found = std::ranges::find_if(line_, [&](const auto& sequence) { return sequence->id() == id; });
  if (found == line_.end()) return nullptr;
  auto taken = std::move(*found);
  line_.erase(found);
  return taken;
}

std::vector<std::unique_ptr<Sequence>> WaitingLine::TakeOverdue(std::chrono::steady_clock::time_point now) {
  const auto first = std::stable_partition(line_.begin(), line_.end(), [&](const auto& sequence) { return !sequence->terms().IsOverdue(now); });
  std::vector<std::unique_ptr<Sequence>> overdue(std::make_move_iterator(first), std::make_move_iterator(line_.end()));
  line_.erase(first, line_.end());
  return overdue;
}

}  // namespace aana::llama
