#pragma once

#include <chrono>
#include <memory>
#include <vector>

#include "core/llama/schedule/sequence.h"
#include "core/tenant_turns.h"

namespace aana::llama {

// Sequences that wait for a slot. Tenants take turns; of a tenant's sequences the one of the highest priority goes first, of those the oldest.
class WaitingLine {
 public:
  void Add(std::unique_ptr<Sequence> sequence) { line_.push_back(std::move(sequence)); }

  bool empty() const { return line_.empty(); }
  auto begin() const { return line_.begin(); }
  auto end() const { return line_.end(); }

  // Takes the one whose turn it is. The line is not empty.
  std::unique_ptr<Sequence> TakeNext(const TenantTurns& turns);
  // Null when no sequence has this id.
  std::unique_ptr<Sequence> Take(RequestId id);
  // Takes those whose deadline has passed.
  std::vector<std::unique_ptr<Sequence>> TakeOverdue(std::chrono::steady_clock::time_point now);

 private:
  std::vector<std::unique_ptr<Sequence>> line_;
};

}  // namespace aana::llama
