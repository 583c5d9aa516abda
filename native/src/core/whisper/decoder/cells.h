#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

namespace aana {

// Counts the users of the cells of a decoder's cache. A cell holds the keys and values of one token. Hypotheses with
// the same beginning share its cells.
class Cells {
 public:
  Cells() = default;
  Cells(const Cells&) = delete;
  Cells& operator=(const Cells&) = delete;

  // Returns an unused cell, the first one, and counts its user.
  int32_t Take();
  void Share(std::span<const int32_t> cells);
  void Release(std::span<const int32_t> cells);
  // The number of cells that were ever used at the same time.
  size_t size() const { return users_.size(); }

 private:
  std::vector<int> users_;
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> free_;
};

// The cells of a text, one for each token. A copy shares them.
class CellList {
 public:
  explicit CellList(Cells& cells) : cells_(&cells) {}
  CellList(const CellList& other) : cells_(other.cells_), list_(other.list_) { cells_->Share(list_); }
  CellList(CellList&& other) noexcept : cells_(other.cells_), list_(std::exchange(other.list_, {})) {}
  CellList& operator=(CellList other) noexcept {
    std::swap(cells_, other.cells_);
    std::swap(list_, other.list_);
    return *this;
  }
  ~CellList() { cells_->Release(list_); }

  // Adds a cell for a further token.
  void Append() { list_.push_back(cells_->Take()); }
  std::span<const int32_t> all() const { return list_; }
  std::span<const int32_t> first(size_t n) const { return std::span(list_).first(n); }

 private:
  Cells* cells_;
  std::vector<int32_t> list_;
};

}  // namespace aana
