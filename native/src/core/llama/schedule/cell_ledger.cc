#include "core/llama/schedule/cell_ledger.h"

#include <algorithm>
#include <unordered_map>

namespace aana::llama {

void CellLedger::Append(size_t slot, size_t n) {
  for (size_t i = 0; i < n; i++) {
    if (unused_.empty()) {
      unused_.push_back(static_cast<uint32_t>(n_users_.size()));
      n_users_.push_back(0);
    }
    n_users_[unused_.back()] = 1;
    slots_[slot].push_back(unused_.back());
    unused_.pop_back();
    n_used_++;
  }
}

void CellLedger::Truncate(size_t slot, size_t n) {
  auto& cells = slots_[slot];
  while (cells.size() > n) {
    Release(cells.back());
    cells.pop_back();
  }
}

void CellLedger::Release(uint32_t cell) {
  if (--n_users_[cell] > 0) return;
  unused_.push_back(cell);
  n_used_--;
}

void CellLedger::Remove(size_t slot, size_t first, size_t n) {
  auto& cells = slots_[slot];
  const auto begin = cells.begin() + static_cast<std::ptrdiff_t>(first);
  const auto end = begin + static_cast<std::ptrdiff_t>(n);
  for (auto cell = begin; cell != end; ++cell) Release(*cell);
  cells.erase(begin, end);
}

bool CellLedger::IsShared(size_t slot, size_t first) const {
  const auto& cells = slots_[slot];
  return std::any_of(cells.begin() + static_cast<std::ptrdiff_t>(first), cells.end(),
                     [&](uint32_t cell) { return n_users_[cell] > 1; });
}

void CellLedger::Share(size_t from, size_t to, size_t n) {
  const auto& source = slots_[from];
  const size_t n_shared = std::min(n, source.size());
  slots_[to].assign(source.begin(), source.begin() + static_cast<std::ptrdiff_t>(n_shared));
  for (const auto cell : slots_[to]) n_users_[cell]++;
}

size_t CellLedger::Exclusive(std::span<const size_t> slots) const {
  std::unordered_map<uint32_t, uint16_t> n_own;
  size_t n_exclusive = 0;
  for (const auto slot : slots) {
    for (const auto cell : slots_[slot]) {
      if (n_users_[cell] == 1 || ++n_own[cell] == n_users_[cell]) n_exclusive++;
    }
  }
  return n_exclusive;
}

}  // namespace aana::llama
