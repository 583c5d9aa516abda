#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace aana::llama {

// Which cells of a context each slot uses. A cell holds the keys and values of one token; slots with the same beginning
// share its cells. It mirrors the context, whose interface does not tell how many cells are free.
class CellLedger {
 public:
  // The context has `n_total` cells.
  CellLedger(size_t n_slots, size_t n_total) : slots_(n_slots), n_total_(n_total) {}

  // The slot decoded `n` more tokens.
  void Append(size_t slot, size_t n);
  // The slot keeps its first `n` tokens.
  void Truncate(size_t slot, size_t n);
  // The slot gives up the cells of `n` tokens from the token `first` on.
  void Remove(size_t slot, size_t first, size_t n);
  // Whether another slot uses a cell of the slot's tokens from `first` on.
  bool IsShared(size_t slot, size_t first) const;
  // `to`, which uses no cells, gets those of the first `n` tokens of `from`.
  void Share(size_t from, size_t to, size_t n);

  size_t n_total() const { return n_total_; }
  size_t n_free() const { return n_total_ > n_used_ ? n_total_ - n_used_ : 0; }
  // Cells of the slot.
  size_t n_cells(size_t slot) const { return slots_[slot].size(); }
  // Cells that become free when exactly these slots forget what they have.
  size_t Exclusive(std::span<const size_t> slots) const;

 private:
  void Release(uint32_t cell);

  std::vector<std::vector<uint32_t>> slots_;  // the cells of each slot, in the order of its tokens
  std::vector<uint16_t> n_users_;             // of each cell
  std::vector<uint32_t> unused_;              // cells without a user
  size_t n_used_ = 0;
  size_t n_total_;
};

}  // namespace aana::llama
