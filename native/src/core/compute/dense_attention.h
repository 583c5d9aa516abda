#pragma once

#include <string.h>

#include "core/compute/kernels.h"

// Attention of all tokens to all tokens, for the files with instructions. `Kernel` is a type in a namespace without a
// name, so that each file has functions of its own, compiled with its options. It has
//
//   MultiplyGroup<kAdds>(rows, columns, out)  out[r][c] is the sum of rows[r][i] * columns[i * 64 + c] over 64 values
//   of i, for 6 of r and 64 of c. With `kAdds`,
//                                             it is added to `out`.
//   Softmax(scores, n, n_padded, scale)       Turns `n` scores into weights and returns their sum. Values up to
//   `n_padded` become 0. Scale(from, factor, to)                   Multiplies 64 values.
namespace aana::compute {

// Rows whose sums fit into registers.
inline constexpr int kGroupRows = 6;

// MultiplyGroup for `n` rows, `stride` values apart. The last group repeats the last row, so `out` has room for a
// multiple of 6 rows.
template <class Kernel, bool kAdds>
static void MultiplyRows(const float* rows, size_t stride, int n, const float* columns, float* out, size_t out_stride) {
  for (int first = 0; first < n; first += kGroupRows) {
    const float* from[kGroupRows];
    float* to[kGroupRows];
    for (int r = 0; r < kGroupRows; r++) {
      from[r] = rows + static_cast<size_t>(first + r < n ? first + r : n - 1) * stride;
      to[r] = out + static_cast<size_t>(first + r) * out_stride;
    }
    Kernel::template MultiplyGroup<kAdds>(from, columns, to);
  }
}

// Keys in tiles of 64 tokens, each with the tokens' values of a dimension side by side, and values of the tokens one
// after another.
template <class Kernel>
static void PackAttention(const float* k, const float* v, size_t stride, int n, int n_padded, float* keys,
                          float* values) {
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
template <class Kernel>
static void AttendDensely(const float* q, const float* k, const float* v, float* out, size_t stride, int n, int begin,
                          int end, float* scratch) {
  const int n_padded = (n + kHead - 1) / kHead * kHead;
  float* keys = scratch;
  float* values = keys + static_cast<size_t>(n_padded) * kHead;
  float* scores = values + static_cast<size_t>(n_padded) * kHead;
  float* results = scores + static_cast<size_t>(kAttentionRows) * static_cast<size_t>(n_padded);
  PackAttention<Kernel>(k, v, stride, n, n_padded, keys, values);
  constexpr float kScale = 0.125F;  // one by the root of 64
  const auto score_stride = static_cast<size_t>(n_padded);
  for (int first = begin; first < end; first += kAttentionRows) {
    const int n_rows = end - first < kAttentionRows ? end - first : kAttentionRows;
    for (int tile = 0; tile < n_padded; tile += kHead) {
      MultiplyRows<Kernel, false>(q + static_cast<size_t>(first) * stride, stride, n_rows,
                                  keys + static_cast<size_t>(tile) * kHead, scores + tile, score_stride);
    }
    float sums[kAttentionRows];
    for (int row = 0; row < n_rows; row++)
      sums[row] = Kernel::Softmax(scores + static_cast<size_t>(row) * score_stride, n, n_padded, kScale);
    memset(results, 0, sizeof(float) * kAttentionRows * kHead);
    for (int tile = 0; tile < n_padded; tile += kHead) {
      MultiplyRows<Kernel, true>(scores + tile, score_stride, n_rows, values + static_cast<size_t>(tile) * kHead,
                                 results, kHead);
    }
    for (int row = 0; row < n_rows; row++)
      Kernel::Scale(results + row * kHead, 1.0F / sums[row], out + static_cast<size_t>(first + row) * stride);
  }
}

}  // namespace aana::compute
