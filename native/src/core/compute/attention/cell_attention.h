#pragma once

#include <math.h>

#include "core/compute/attention/attention_kernel.h"
#include "core/compute/vectors.h"

// The attention of AttentionTask, for the files with instructions.
namespace aana::compute {
namespace {

// Cells of a block: those that a list names, or the first ones.
struct Listed {
  const int32_t* cells;
  size_t operator()(int i) const { return static_cast<size_t>(cells[i]); }
};
struct First {
  size_t operator()(int i) const { return static_cast<size_t>(i); }
};

// Rows and vectors whose sums are computed in registers. AVX-512 has twice as many registers.
constexpr int kRows = kWidth == 16 ? 4 : 3;
constexpr int kColumns = 4;
// Cells whose scores are computed together for some rows.
constexpr int CellsAtOnce(int n_rows) { return n_rows == 1 || (kWidth == 16 && n_rows < 4) ? 8 : 4; }
// Heads have a multiple of 16 values; those of most small models have 64.
constexpr int kLastColumns = 16 / kWidth;
constexpr int kCommonValues = 64;

int RowsFrom(const AttentionTask& task, int row) { return task.n_rows - row < kRows ? task.n_rows - row : kRows; }

// Scores of R rows and kCellLanes cells. `keys` has the place of each cell's key, whose values are floats or halves.
template <int R, class Value>
void Score(const float* queries, const Value* const* keys, int n_values, float* scores, size_t score_stride) {
  constexpr int kCells = CellsAtOnce(R);
  for (int first = 0; first < kCellLanes; first += kCells) {
    Floats products[R][kCells];
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) {
#pragma GCC unroll 8
      for (int i = 0; i < kCells; i++) products[r][i] = AllOf(0.0F);
    }
    for (int c = 0; c < n_values; c += kWidth) {
      Floats query[R];
#pragma GCC unroll 4
      for (int r = 0; r < R; r++) query[r] = Load(queries + r * n_values + c);
#pragma GCC unroll 8
      for (int i = 0; i < kCells; i++) {
        const Floats key = Load(keys[first + i] + c);
#pragma GCC unroll 4
        for (int r = 0; r < R; r++) products[r][i] = MultiplyAdd(query[r], key, products[r][i]);
      }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) {
#pragma GCC unroll 2
      for (int i = 0; i < kCells; i += 4)
        _mm_storeu_ps(scores + static_cast<size_t>(r) * score_stride + first + i, SumOfEach(products[r] + i));
    }
  }
}

// Score for `n` rows, at most kRows.
template <class Value>
void ScoreRows(int n, const float* queries, const Value* const* keys, int n_values, float* scores, size_t stride) {
  constexpr decltype(&Score<1, Value>) kScores[] = {Score<1, Value>, Score<2, Value>, Score<3, Value>,
                                                    Score<kRows, Value>};
  kScores[n - 1](queries, keys, n_values, scores, stride);
}

// Scores of all cells for all rows. `scratch` has room for the queries and for the keys of kCellLanes cells.
template <class Cells>
void ScoreAll(const AttentionTask& task, Cells cells, int n_padded, float* scratch, float* scores) {
  const int n_values = task.n_values;
  float* queries = scratch;
  float* widened = queries + task.n_rows * n_values;
  for (int row = 0; row < task.n_rows; row++) {
    for (int c = 0; c < n_values; c += kWidth)
      Store(queries + row * n_values + c, Load(task.q[row] + c) * AllOf(task.scale));
  }
  const auto stride = static_cast<size_t>(n_padded);
  for (int first = 0; first < n_padded; first += kCellLanes) {
    // The last cells are filled up with copies, whose scores are not read.
    const uint16_t* keys[kCellLanes];
    for (int i = 0; i < kCellLanes; i++)
      keys[i] = task.k + cells(first + i < task.n_cells ? first + i : task.n_cells - 1) * task.k_stride;
    const auto score = [&](const auto* keys_of_rows) {
      for (int row = 0; row < task.n_rows; row += kRows) {
        ScoreRows(RowsFrom(task, row), queries + row * n_values, keys_of_rows, n_values,
                  scores + static_cast<size_t>(row) * stride + first, stride);
      }
    };
    if (task.n_rows <= 2 * kRows) {
      score(keys);
      continue;
    }
    // For many rows, each half is widened once.
    const float* widened_keys[kCellLanes];
    for (int i = 0; i < kCellLanes; i++) {
      float* to = widened + i * n_values;
      for (int c = 0; c < n_values; c += kWidth) Store(to + c, Load(keys[i] + c));
      widened_keys[i] = to;
    }
    score(widened_keys);
  }
}

// ScoreAll for a single row of 64 values, which stay in registers. It adds up in the same order.
template <class Cells>
void ScoreOne(const AttentionTask& task, Cells cells, int n_padded, float* scores) {
  constexpr int kVectors = kCommonValues / kWidth;
  Floats parts[kVectors];
#pragma GCC unroll 8
  for (int c = 0; c < kVectors; c++) parts[c] = Load(task.q[0] + c * kWidth) * AllOf(task.scale);
  for (int first = 0; first < n_padded; first += 4) {
    Floats products[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
      const uint16_t* key = task.k + cells(first + i < task.n_cells ? first + i : task.n_cells - 1) * task.k_stride;
      products[i] = parts[0] * Load(key);
#pragma GCC unroll 8
      for (int c = 1; c < kVectors; c++) products[i] = MultiplyAdd(parts[c], Load(key + c * kWidth), products[i]);
    }
    _mm_storeu_ps(scores + first, SumOfEach(products));
  }
}

// Turns the scores of a row into weights and returns one by their sum; 0 for a row that sees nothing.
float Weigh(float* scores, const uint16_t* mask, int n) {
  const Floats least = AllOf(-INFINITY);
  Floats most = least;
  for (int i = 0; i < n; i += kWidth) {
    Floats score = Load(scores + i);
    if (mask) {
      score = score + Load(mask + i);
      Store(scores + i, score);
    }
    most = Most(most, score);
  }
  const float largest = LargestOf(most);
  if (largest == -INFINITY) {
    for (int i = 0; i < n; i += kWidth) Store(scores + i, AllOf(0.0F));
    return 0;
  }
  Floats sum = AllOf(0.0F);
  for (int i = 0; i < n; i += kWidth) {
    const Floats score = Load(scores + i);
    const Floats weight = WhereGreater(score, least, Exp(score - AllOf(largest)));
    Store(scores + i, weight);
    sum = sum + weight;
  }
  return 1.0F / SumOf(sum);
}

// Weighted sums of C vectors of the values for R rows, from the value `first` on.
template <int R, int C, class Cells>
void SumVectors(const AttentionTask& task, Cells cells, const float* weights, size_t stride, const float* factors,
                int row, int first) {
  Floats sums[R][C];
#pragma GCC unroll 4
  for (int r = 0; r < R; r++) {
#pragma GCC unroll 4
    for (int c = 0; c < C; c++) sums[r][c] = AllOf(0.0F);
  }
#pragma GCC unroll 2
  for (int i = 0; i < task.n_cells; i++) {
    const uint16_t* value = task.v + cells(i) * task.v_stride + first;
    Floats weight[R];
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) weight[r] = AllOf(weights[static_cast<size_t>(r) * stride + static_cast<size_t>(i)]);
#pragma GCC unroll 4
    for (int c = 0; c < C; c++) {
      const Floats part = Load(value + c * kWidth);
#pragma GCC unroll 4
      for (int r = 0; r < R; r++) sums[r][c] = MultiplyAdd(weight[r], part, sums[r][c]);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < R; r++) {
#pragma GCC unroll 4
    for (int c = 0; c < C; c++) Store(task.out[row + r] + first + c * kWidth, sums[r][c] * AllOf(factors[r]));
  }
}

// Weighted sums of all values for R rows.
template <int R, class Cells>
void SumValues(const AttentionTask& task, Cells cells, const float* weights, size_t stride, const float* factors,
               int row) {
  int first = 0;
  for (; first + kColumns * kWidth <= task.n_values; first += kColumns * kWidth)
    SumVectors<R, kColumns>(task, cells, weights, stride, factors, row, first);
  for (; first < task.n_values; first += kLastColumns * kWidth)
    SumVectors<R, kLastColumns>(task, cells, weights, stride, factors, row, first);
}

// The attention of a task to any number of cells. It does not read task.cells.
template <class Cells>
void Attend(const AttentionTask& task, Cells cells) {
  constexpr decltype(&SumValues<1, Cells>) kSums[] = {SumValues<1, Cells>, SumValues<2, Cells>, SumValues<3, Cells>,
                                                      SumValues<kRows, Cells>};
  const int n_padded = (task.n_cells + kCellLanes - 1) / kCellLanes * kCellLanes;
  const auto stride = static_cast<size_t>(n_padded);
  float* scores = task.scratch;
  if (task.n_rows == 1 && task.n_values == kCommonValues)
    ScoreOne(task, cells, n_padded, scores);
  else
    ScoreAll(task, cells, n_padded, scores + static_cast<size_t>(task.n_rows) * stride, scores);
  for (int row = 0; row < task.n_rows; row += kRows) {
    const int n = RowsFrom(task, row);
    float* of_rows = scores + static_cast<size_t>(row) * stride;
    float factors[kRows];
    for (int r = 0; r < n; r++) {
      float* of_row = of_rows + static_cast<size_t>(r) * stride;
      for (int i = task.n_cells; i < n_padded; i++) of_row[i] = -INFINITY;
      factors[r] = Weigh(of_row, task.masks ? task.masks[row + r] : nullptr, n_padded);
    }
    kSums[n - 1](task, cells, of_rows, stride, factors, row);
  }
}

void AttendToListed(const AttentionTask& task) { Attend(task, Listed{task.cells}); }

AttentionKernel CellAttention(int64_t n_values) {
  return n_values > 0 && n_values <= 256 && n_values % 16 == 0 ? AttendToListed : nullptr;
}

}  // namespace
}  // namespace aana::compute
