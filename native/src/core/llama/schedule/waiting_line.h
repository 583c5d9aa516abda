#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "core/fair_share.h"
#include "core/llama/schedule/sequence.h"

namespace aana::llama {

// Sequences that wait for a slot. Tenants share the engine by weight; of a tenant's sequences one that was preempted
// goes first, then the one with the earliest virtual arrival. A level of priority makes the virtual arrival 5 s
// earlier, so every sequence gets its turn.
class WaitingLine {
 public:
  void Add(std::unique_ptr<Sequence> sequence) { line_.push_back(std::move(sequence)); }

  bool empty() const { return line_.empty(); }
  size_t size() const { return line_.size(); }
  auto begin() const { return line_.begin(); }
  auto end() const { return line_.end(); }

  // The one whose turn it is. The line is not empty.
  const Sequence& Next(const FairShare& shares) const { return **FindNext(shares); }
  std::unique_ptr<Sequence> TakeNext(const FairShare& shares);
  // Null when no sequence has this id.
  Sequence* Find(RequestId id) const;
  std::unique_ptr<Sequence> Take(RequestId id);
  // Takes those whose deadline has passed.
  std::vector<std::unique_ptr<Sequence>> TakeOverdue(std::chrono::steady_clock::time_point now);

 private:
  std::vector<std::unique_ptr<Sequence>>::const_iterator FindNext(const FairShare& shares) const;

  std::vector<std::unique_ptr<Sequence>> line_;
};

}  // namespace aana::llama
