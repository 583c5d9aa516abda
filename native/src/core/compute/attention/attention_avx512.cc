// Compiled with options for AVX-512. It includes no header of the C++ library with templates, because the linker could
// take such a function from here for the rest of the program, which runs on other processors too.
#include <immintrin.h>
#include <math.h>

#include "core/compute/attention/attention_kernel.h"
#include "core/compute/avx512_math.h"

namespace aana::compute {

AttentionKernel Avx512Attention(int64_t n_values);

namespace {

constexpr int kLanesOf = 16;

// Scores of all rows and 16 cells. `keys` are their keys.
template <int kVectors>
void ScoreCells(const float* queries, int n_rows, const float* keys, float* scores, size_t score_stride) {
  constexpr int kValues = kVectors * kLanesOf;
  for (int row = 0; row < n_rows; row++) {
    __m512 query[kVectors];
#pragma GCC unroll 16
    for (int c = 0; c < kVectors; c++) query[c] = _mm512_loadu_ps(queries + row * kValues + c * kLanesOf);
    __m512 products[kCellLanes];
#pragma GCC unroll 16
    for (int i = 0; i < kCellLanes; i++) {
      products[i] = _mm512_mul_ps(query[0], _mm512_loadu_ps(keys + i * kValues));
#pragma GCC unroll 16
      for (int c = 1; c < kVectors; c++)
        products[i] = _mm512_fmadd_ps(query[c], _mm512_loadu_ps(keys + i * kValues + c * kLanesOf), products[i]);
    }
    _mm512_storeu_ps(scores + static_cast<size_t>(row) * score_stride, SumOfEach(products));
  }
}

// Turns the scores of a row into weights and returns one by their sum; 0 for a row that sees nothing.
float Weigh(float* scores, const uint16_t* mask, int n) {
  __m512 most = _mm512_set1_ps(-INFINITY);
  for (int i = 0; i < n; i += kLanesOf) {
    __m512 score = _mm512_loadu_ps(scores + i);
    if (mask) {
      score = _mm512_add_ps(score, Halves(mask + i));
      _mm512_storeu_ps(scores + i, score);
    }
    most = _mm512_max_ps(most, score);
  }
  const float largest = _mm512_reduce_max_ps(most);
  if (largest == -INFINITY) {
    for (int i = 0; i < n; i += kLanesOf) _mm512_storeu_ps(scores + i, _mm512_setzero_ps());
    return 0;
  }
  __m512 sum = _mm512_setzero_ps();
  for (int i = 0; i < n; i += kLanesOf) {
    const __m512 score = _mm512_loadu_ps(scores + i);
    const __mmask16 seen = _mm512_cmp_ps_mask(score, _mm512_set1_ps(-INFINITY), _CMP_GT_OQ);
    const __m512 weight = _mm512_maskz_mov_ps(seen, Exp(_mm512_sub_ps(score, _mm512_set1_ps(largest))));
    _mm512_storeu_ps(scores + i, weight);
    sum = _mm512_add_ps(sum, weight);
  }
  return 1.0F / _mm512_reduce_add_ps(sum);
}

// Weighted sums of values for R rows at once.
template <int kVectors, int R>
void SumValues(const AttentionTask& task, const float* weights, const float* factors, int row) {
  __m512 sums[R][kVectors];
#pragma GCC unroll 8
  for (int r = 0; r < R; r++) {
#pragma GCC unroll 16
    for (int c = 0; c < kVectors; c++) sums[r][c] = _mm512_setzero_ps();
  }
  const auto stride = static_cast<size_t>(task.n_cells);
  for (int i = 0; i < task.n_cells; i++) {
    const uint16_t* value = task.v + static_cast<size_t>(task.cells[i]) * task.v_stride;
    __m512 weight[R];
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
      weight[r] = _mm512_set1_ps(weights[static_cast<size_t>(r) * stride + static_cast<size_t>(i)]);
#pragma GCC unroll 16
    for (int c = 0; c < kVectors; c++) {
      const __m512 part = Halves(value + c * kLanesOf);
#pragma GCC unroll 8
      for (int r = 0; r < R; r++) sums[r][c] = _mm512_fmadd_ps(weight[r], part, sums[r][c]);
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < R; r++) {
    const __m512 factor = _mm512_set1_ps(factors[r]);
#pragma GCC unroll 16
    for (int c = 0; c < kVectors; c++)
      _mm512_storeu_ps(task.out[row + r] + c * kLanesOf, _mm512_mul_ps(sums[r][c], factor));
  }
}

// Rows whose sums fit into registers.
constexpr int RowsAtOnce(int n_vectors) { return n_vectors <= 4 ? 4 : n_vectors <= 8 ? 2 : 1; }

// SumValues for `n` rows, at most RowsAtOnce().
template <int kVectors>
void SumValuesOf(int n, const AttentionTask& task, const float* weights, const float* factors, int row) {
  constexpr int kMost = RowsAtOnce(kVectors);
  if (kMost >= 4 && n == 4) return SumValues<kVectors, kMost >= 4 ? 4 : 1>(task, weights, factors, row);
  if (kMost >= 3 && n == 3) return SumValues<kVectors, kMost >= 3 ? 3 : 1>(task, weights, factors, row);
  if (kMost >= 2 && n == 2) return SumValues<kVectors, kMost >= 2 ? 2 : 1>(task, weights, factors, row);
  SumValues<kVectors, 1>(task, weights, factors, row);
}

template <int kVectors>
void Attend(const AttentionTask& task) {
  constexpr int kValues = kVectors * kLanesOf;
  constexpr int kRows = RowsAtOnce(kVectors);
  float* queries = task.scratch;
  float* keys = queries + task.n_rows * kValues;
  float* scores = keys + kCellLanes * kValues;
  const auto stride = static_cast<size_t>(task.n_cells);
  for (int row = 0; row < task.n_rows; row++) {
    for (int c = 0; c < kValues; c += kLanesOf)
      _mm512_storeu_ps(queries + row * kValues + c,
                       _mm512_mul_ps(_mm512_loadu_ps(task.q[row] + c), _mm512_set1_ps(task.scale)));
  }
  for (int first = 0; first < task.n_cells; first += kCellLanes) {
    for (int i = 0; i < kCellLanes; i++) {
      const uint16_t* key = task.k + static_cast<size_t>(task.cells[first + i]) * task.k_stride;
#pragma GCC unroll 16
      for (int c = 0; c < kVectors; c++)
        _mm512_storeu_ps(keys + i * kValues + c * kLanesOf, Halves(key + c * kLanesOf));
    }
    ScoreCells<kVectors>(queries, task.n_rows, keys, scores + first, stride);
  }
  for (int row = 0; row < task.n_rows; row += kRows) {
    const int n = task.n_rows - row < kRows ? task.n_rows - row : kRows;
    float* of_rows = scores + static_cast<size_t>(row) * stride;
    float factors[kRows];
    for (int r = 0; r < n; r++)
      factors[r] =
          Weigh(of_rows + static_cast<size_t>(r) * stride, task.masks ? task.masks[row + r] : nullptr, task.n_cells);
    SumValuesOf<kVectors>(n, task, of_rows, factors, row);
  }
}

}  // namespace

AttentionKernel Avx512Attention(int64_t n_values) {
  switch (n_values) {
    case 64:
      return Attend<4>;
    case 80:
      return Attend<5>;
    case 96:
      return Attend<6>;
    case 128:
      return Attend<8>;
    case 256:
      return Attend<16>;
    default:
      return nullptr;
  }
}

}  // namespace aana::compute
