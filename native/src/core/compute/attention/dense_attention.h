#pragma once

#include <math.h>
#include <string.h>

#include "core/compute/kernels.h"
#include "core/compute/vectors.h"

// Attention of all tokens to all tokens, for the files with instructions.
namespace aana::compute {
namespace {

// Rows and vectors whose sums fit into registers.
constexpr int kGroupRows = 6;
constexpr int kGroupVectors = kWidth == 16 ? 4 : 2;

// out[r][c] is the sum of rows[r][i] * columns[i * 64 + c] over 64 values of i, for 6 of r and 64 of c. With `kAdds`,
// it is added to `out`.
template <bool kAdds>
void MultiplyGroup(const float* const* rows, const float* columns, float* const* out) {
  for (int first = 0; first < kHead; first += kGroupVectors * kWidth) {
    Floats sums[kGroupRows][kGroupVectors];
#pragma GCC unroll 6
    for (int r = 0; r < kGroupRows; r++) {
#pragma GCC unroll 4
      for (int c = 0; c < kGroupVectors; c++) sums[r][c] = kAdds ? Load(out[r] + first + c * kWidth) : AllOf(0.0F);
    }
    for (int i = 0; i < kHead; i++) {
      Floats column[kGroupVectors];
#pragma GCC unroll 4
      for (int c = 0; c < kGroupVectors; c++) column[c] = Load(columns + i * kHead + first + c * kWidth);
#pragma GCC unroll 6
      for (int r = 0; r < kGroupRows; r++) {
        const Floats value = AllOf(rows[r][i]);
#pragma GCC unroll 4
        for (int c = 0; c < kGroupVectors; c++) sums[r][c] = MultiplyAdd(value, column[c], sums[r][c]);
      }
    }
#pragma GCC unroll 6
    for (int r = 0; r < kGroupRows; r++) {
#pragma GCC unroll 4
      for (int c = 0; c < kGroupVectors; c++) Store(out[r] + first + c * kWidth, sums[r][c]);
    }
  }
}

// Turns `n` scores into weights and returns their sum. Values up to `n_padded`, a multiple of 16, become 0.
float Softmax(float* scores, int n, int n_padded, float scale) {
  const int n_filled = (n + kWidth - 1) / kWidth * kWidth;
  for (int i = n; i < n_filled; i++) scores[i] = -INFINITY;
  Floats most = AllOf(-INFINITY);
  for (int i = 0; i < n; i += kWidth) most = Most(most, Load(scores + i));
  const Floats offset = AllOf(-scale * LargestOf(most));
  Floats sum = AllOf(0.0F);
  for (int i = 0; i < n; i += kWidth) {
    const Floats weight = Exp(MultiplyAdd(Load(scores + i), AllOf(scale), offset));
    Store(scores + i, weight);
    sum = sum + weight;
  }
  // The weights of what was filled in are e^-87, too small for the sum, which is at least 1.
  for (int i = n; i < n_padded; i++) scores[i] = 0;
  return SumOf(sum);
}

// Multiplies 64 values.
void Scale(const float* from, float factor, float* to) {
  for (int c = 0; c < kHead; c += kWidth) Store(to + c, Load(from + c) * AllOf(factor));
}

// MultiplyGroup for `n` rows, `stride` values apart. The last group repeats the last row, so `out` has room for a
// multiple of 6 rows.
template <bool kAdds>
void MultiplyRows(const float* rows, size_t stride, int n, const float* columns, float* out, size_t out_stride) {
  for (int first = 0; first < n; first += kGroupRows) {
    const float* from[kGroupRows];
    float* to[kGroupRows];
    for (int r = 0; r < kGroupRows; r++) {
      from[r] = rows + static_cast<size_t>(first + r < n ? first + r : n - 1) * stride;
      to[r] = out + static_cast<size_t>(first + r) * out_stride;
    }
    MultiplyGroup<kAdds>(from, columns, to);
  }
}

// Keys in tiles of 64 tokens, each with the tokens' values of a dimension side by side, and values of the tokens one
// after another.
void PackAttention(const float* k, const float* v, size_t stride, int n, int n_padded, float* keys, float* values) {
  for (int t = 0; t < n_padded; t++) {
    float* key = keys + static_cast<size_t>(t / kHead) * kHead * kHead + t % kHead;
    float* value = values + static_cast<size_t>(t) * kHead;
    for (int d = 0; d < kHead; d++) {
      key[d * kHead] = t < n ? k[static_cast<size_t>(t) * stride + static_cast<size_t>(d)] : 0;
      value[d] = t < n ? v[static_cast<size_t>(t) * stride + static_cast<size_t>(d)] : 0;
    }
  }
}

// Kernels::attend.
void AttendDensely(const float* q, const float* k, const float* v, float* out, size_t stride, int n, int begin, int end,
                   float* scratch) {
  const int n_padded = (n + kHead - 1) / kHead * kHead;
  float* keys = scratch;
  float* values = keys + static_cast<size_t>(n_padded) * kHead;
  float* scores = values + static_cast<size_t>(n_padded) * kHead;
  float* results = scores + static_cast<size_t>(kAttentionRows) * static_cast<size_t>(n_padded);
  PackAttention(k, v, stride, n, n_padded, keys, values);
  constexpr float kScale = 0.125F;  // one by the root of 64
  const auto score_stride = static_cast<size_t>(n_padded);
  for (int first = begin; first < end; first += kAttentionRows) {
    const int n_rows = end - first < kAttentionRows ? end - first : kAttentionRows;
    for (int tile = 0; tile < n_padded; tile += kHead) {
      MultiplyRows<false>(q + static_cast<size_t>(first) * stride, stride, n_rows,
                          keys + static_cast<size_t>(tile) * kHead, scores + tile, score_stride);
    }
    float sums[kAttentionRows];
    for (int row = 0; row < n_rows; row++)
      sums[row] = Softmax(scores + static_cast<size_t>(row) * score_stride, n, n_padded, kScale);
    memset(results, 0, sizeof(float) * kAttentionRows * kHead);
    for (int tile = 0; tile < n_padded; tile += kHead) {
      MultiplyRows<true>(scores + tile, score_stride, n_rows, values + static_cast<size_t>(tile) * kHead, results,
                         kHead);
    }
    for (int row = 0; row < n_rows; row++)
      Scale(results + row * kHead, 1.0F / sums[row], out + static_cast<size_t>(first + row) * stride);
  }
}

}  // namespace
}  // namespace aana::compute
