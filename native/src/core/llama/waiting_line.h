#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "core/llama/sequence.h"

namespace aana::llama {

// Sequences that wait for a slot. The highest priority goes first; among those, the tenant that has the fewest slots; among those, the oldest.
class WaitingLine {
 public:
  void Add(std::unique_ptr<Sequence> sequence) { line_.push_back(std::move(sequence)); }

  bool empty() const { return line_.empty(); }
  auto begin() const { return line_.begin(); }
  auto end() const { return line_.end(); }

  // Takes the one whose turn it is. `slots_of` counts the slots of a tenant. The line is not empty.
  std::unique_ptr<Sequence> TakeNext(const std::function<size_t(std::string_view tenant)>& slots_of);
  // Null when no sequence has this id.
  std::unique_ptr<Sequence> Take(RequestId id);
  // Takes those whose deadline has passed.
  std::vector<std::unique_ptr<Sequence>> TakeOverdue(std::chrono::steady_clock::time_point now);

 private:
  std::vector<std::unique_ptr<Sequence>> line_;
};

}  // namespace aana::llama
