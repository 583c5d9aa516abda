#include "core/llama/schedule/waiting_line.h"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "core/llama/schedule/ageing.h"

namespace aana::llama {
std::vector<std::unique_ptr<Sequence>>::const_iterator WaitingLine::FindNext(const FairShare& shares) const {
  const auto rank = [&](const std::unique_ptr<Sequence>& sequence) {
    return std::tuple(shares.Rank(sequence->terms().tenant), !sequence->is_preempted,
                      VirtualArrival(sequence->arrived_at(), sequence->terms().priority), sequence->number);
  };
  return std::ranges::min_element(line_, {}, rank);
}

std::unique_ptr<Sequence> WaitingLine::TakeNext(const FairShare& shares) {
  const auto next = line_.begin() + (FindNext(shares) - line_.cbegin());
  auto taken = std::move(*next);
  line_.erase(next);
  return taken;
}

Sequence* WaitingLine::Find(RequestId id) const {
  const auto found = std::ranges::find_if(line_, [&](const auto& sequence) { return sequence->id() == id; });
  return found == line_.end() ? nullptr : found->get();
}

std::unique_ptr<Sequence> WaitingLine::Take(RequestId id) {
  const auto found = std::ranges::find_if(line_, [&](const auto& sequence) { return sequence->id() == id; });
  if (found == line_.end()) return nullptr;
  auto taken = std::move(*found);
  line_.erase(found);
  return taken;
}

std::vector<std::unique_ptr<Sequence>> WaitingLine::TakeOverdue(std::chrono::steady_clock::time_point now) {
  const auto first = std::stable_partition(line_.begin(), line_.end(),
                                           [&](const auto& sequence) { return !sequence->terms().IsOverdue(now); });
  std::vector<std::unique_ptr<Sequence>> overdue(std::make_move_iterator(first), std::make_move_iterator(line_.end()));
  line_.erase(first, line_.end());
  return overdue;
}

}  // namespace aana::llama
