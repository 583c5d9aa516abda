#pragma once

#include <cstddef>
#include <cstdint>

// Attention of tokens to the cells of a language model's memory.
namespace aana::compute {

// Cells of a block are a multiple of this; a block is filled up with cells that its mask hides.
inline constexpr int kCellLanes = 16;

// A block of tokens that see about the same cells, for one head of keys and values.
struct AttentionTask {
  // Halves; those of a cell are `k_stride` and `v_stride` halves behind those of the cell before.
  const uint16_t* k;
  const uint16_t* v;
  size_t k_stride;
  size_t v_stride;
  const int32_t* cells;  // n_cells of them
  int n_cells;
  int n_values;  // of a head, as AttentionWidths()
  float scale;   // of scores
  int n_rows;    // queries: some heads of some tokens
  const float* const* q;
  const uint16_t* const* masks;  // halves that are added to the scores of each row's cells; null: nothing is added
  float* const* out;             // becomes 0 for a row that sees nothing
  float* scratch;                // AttentionScratchValues() values
};

using AttentionKernel = void (*)(const AttentionTask& task);

static constexpr size_t AttentionScratchValues(int n_rows, int n_cells, int n_values) {
  return static_cast<size_t>(n_rows) * static_cast<size_t>(n_cells + n_values) +
         static_cast<size_t>(kCellLanes) * static_cast<size_t>(n_values);
}

}  // namespace aana::compute
