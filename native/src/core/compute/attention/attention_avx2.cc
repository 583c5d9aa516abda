// Compiled with options for AVX2. It includes no header of the C++ library with templates, because the linker could
// take such a function from here for the rest of the program, which runs on other processors too.
#include <immintrin.h>
#include <math.h>

#include "core/compute/attention/attention_kernel.h"
#include "core/compute/avx2_math.h"

namespace aana::compute {

AttentionKernel Avx2Attention(int64_t n_values);

namespace {

constexpr int kLanes = 8;
// Rows and cells whose scores, and rows and vectors whose sums, are computed in registers.
constexpr int kRows = 3;
constexpr int kCells = 4;
constexpr int kColumns = 4;

// Scores of R rows and 4 cells. `keys` are their keys.
template <int R>
void ScoreCells(const float* queries, const float* keys, int n_values, float* scores, size_t score_stride) {
  __m256 products[R][kCells];
#pragma GCC unroll 3
  for (int r = 0; r < R; r++) {
#pragma GCC unroll 4
    for (int i = 0; i < kCells; i++) products[r][i] = _mm256_setzero_ps();
  }
  for (int c = 0; c < n_values; c += kLanes) {
    __m256 query[R];
#pragma GCC unroll 3
    for (int r = 0; r < R; r++) query[r] = _mm256_loadu_ps(queries + r * n_values + c);
#pragma GCC unroll 4
    for (int i = 0; i < kCells; i++) {
      const __m256 key = _mm256_loadu_ps(keys + i * n_values + c);
#pragma GCC unroll 3
      for (int r = 0; r < R; r++) products[r][i] = _mm256_fmadd_ps(query[r], key, products[r][i]);
    }
  }
#pragma GCC unroll 3
  for (int r = 0; r < R; r++) _mm_storeu_ps(scores + static_cast<size_t>(r) * score_stride, SumOfEach(products[r]));
}

// Scores of R rows and all cells of a step.
template <int R>
void ScoreStep(const float* queries, const float* keys, int n_values, float* scores, size_t score_stride) {
  for (int i = 0; i < kCellLanes; i += kCells)
    ScoreCells<R>(queries, keys + i * n_values, n_values, scores + i, score_stride);
}

// Turns the scores of a row into weights and returns one by their sum; 0 for a row that sees nothing.
float Weigh(float* scores, const uint16_t* mask, int n) {
  const __m256 least = _mm256_set1_ps(-INFINITY);
  __m256 most = least;
  for (int i = 0; i < n; i += kLanes) {
    __m256 score = _mm256_loadu_ps(scores + i);
    if (mask) {
      score = _mm256_add_ps(score, Halves(mask + i));
      _mm256_storeu_ps(scores + i, score);
    }
    most = _mm256_max_ps(most, score);
  }
  const float largest = LargestOf(most);
  if (largest == -INFINITY) {
    for (int i = 0; i < n; i += kLanes) _mm256_storeu_ps(scores + i, _mm256_setzero_ps());
    return 0;
  }
  __m256 sum = _mm256_setzero_ps();
  for (int i = 0; i < n; i += kLanes) {
    const __m256 score = _mm256_loadu_ps(scores + i);
    const __m256 seen = _mm256_cmp_ps(score, least, _CMP_GT_OQ);
    const __m256 weight = _mm256_and_ps(seen, Exp(_mm256_sub_ps(score, _mm256_set1_ps(largest))));
    _mm256_storeu_ps(scores + i, weight);
    sum = _mm256_add_ps(sum, weight);
  }
  return 1.0F / SumOf(sum);
}

// Weighted sums of C vectors of the values for R rows, from the value `first` on.
template <int R, int C>
void SumVectors(const AttentionTask& task, const float* weights, const float* factors, int row, int first) {
  __m256 sums[R][C];
#pragma GCC unroll 3
  for (int r = 0; r < R; r++) {
#pragma GCC unroll 4
    for (int c = 0; c < C; c++) sums[r][c] = _mm256_setzero_ps();
  }
  const auto stride = static_cast<size_t>(task.n_cells);
  for (int i = 0; i < task.n_cells; i++) {
    const uint16_t* value = task.v + static_cast<size_t>(task.cells[i]) * task.v_stride + first;
    __m256 weight[R];
#pragma GCC unroll 3
    for (int r = 0; r < R; r++)
      weight[r] = _mm256_set1_ps(weights[static_cast<size_t>(r) * stride + static_cast<size_t>(i)]);
#pragma GCC unroll 4
    for (int c = 0; c < C; c++) {
      const __m256 part = Halves(value + c * kLanes);
#pragma GCC unroll 3
      for (int r = 0; r < R; r++) sums[r][c] = _mm256_fmadd_ps(weight[r], part, sums[r][c]);
    }
  }
#pragma GCC unroll 3
  for (int r = 0; r < R; r++) {
    const __m256 factor = _mm256_set1_ps(factors[r]);
#pragma GCC unroll 4
    for (int c = 0; c < C; c++)
      _mm256_storeu_ps(task.out[row + r] + first + c * kLanes, _mm256_mul_ps(sums[r][c], factor));
  }
}

// Weighted sums of all values for R rows.
template <int R>
void SumValues(const AttentionTask& task, const float* weights, const float* factors, int row) {
  int first = 0;
  for (; first + kColumns * kLanes <= task.n_values; first += kColumns * kLanes)
    SumVectors<R, kColumns>(task, weights, factors, row, first);
  // Heads have a multiple of 16 values.
  if (first < task.n_values) SumVectors<R, 2>(task, weights, factors, row, first);
}

void Attend(const AttentionTask& task) {
  constexpr decltype(&ScoreStep<1>) kScores[] = {ScoreStep<1>, ScoreStep<2>, ScoreStep<3>};
  constexpr decltype(&SumValues<1>) kSums[] = {SumValues<1>, SumValues<2>, SumValues<3>};
  const int n_values = task.n_values;
  float* queries = task.scratch;
  float* keys = queries + task.n_rows * n_values;
  float* scores = keys + kCellLanes * n_values;
  const auto stride = static_cast<size_t>(task.n_cells);
  const auto rows_from = [&task](int row) { return task.n_rows - row < kRows ? task.n_rows - row : kRows; };
  for (int row = 0; row < task.n_rows; row++) {
    for (int c = 0; c < n_values; c += kLanes)
      _mm256_storeu_ps(queries + row * n_values + c,
                       _mm256_mul_ps(_mm256_loadu_ps(task.q[row] + c), _mm256_set1_ps(task.scale)));
  }
  for (int first = 0; first < task.n_cells; first += kCellLanes) {
    for (int i = 0; i < kCellLanes; i++) {
      const uint16_t* key = task.k + static_cast<size_t>(task.cells[first + i]) * task.k_stride;
      for (int c = 0; c < n_values; c += kLanes) _mm256_storeu_ps(keys + i * n_values + c, Halves(key + c));
    }
    for (int row = 0; row < task.n_rows; row += kRows) {
      kScores[rows_from(row) - 1](queries + row * n_values, keys, n_values,
                                  scores + static_cast<size_t>(row) * stride + first, stride);
    }
  }
  for (int row = 0; row < task.n_rows; row += kRows) {
    const int n = rows_from(row);
    float* of_rows = scores + static_cast<size_t>(row) * stride;
    float factors[kRows];
    for (int r = 0; r < n; r++)
      factors[r] =
          Weigh(of_rows + static_cast<size_t>(r) * stride, task.masks ? task.masks[row + r] : nullptr, task.n_cells);
    kSums[n - 1](task, of_rows, factors, row);
  }
}

}  // namespace

AttentionKernel Avx2Attention(int64_t n_values) {
  return n_values > 0 && n_values <= 256 && n_values % 16 == 0 ? Attend : nullptr;
}

}  // namespace aana::compute
