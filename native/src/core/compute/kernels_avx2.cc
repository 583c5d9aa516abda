// Compiled with options for AVX2. It includes no header of the C++ library with templates, because the linker could
// take such a function from here for the rest of the program, which runs on other processors too.
#include <immintrin.h>
#include <math.h>
#include <string.h>

#include "core/compute/attention/attention_kernel.h"
#include "core/compute/avx2_math.h"
#include "core/compute/dense_attention.h"
#include "core/compute/kernels.h"
#include "core/compute/q8_rows.h"

namespace aana::compute {

extern const Kernels kAvx2Kernels;
extern const MatrixKernels kAvx2MatrixKernels;
AttentionKernel Avx2Attention(int64_t n_values);

namespace {

constexpr int kFloats = 8;  // of a register

void Quantise(const float* values, int n_in, int n_rows, int row, void* rows) {
  kAvx2MatrixKernels.quantise(MatrixForm::kEight, values, n_in, n_rows, row, rows);
}

// One output of one row, whose weights are not packed.
float MultiplyLast(const uint8_t* weights, const void* rows, int n_in, int n_rows, int row) {
  const Panel panel = PanelAt(n_rows, row);
  const int place = row - panel.first;
  const auto* inputs = static_cast<const uint8_t*>(rows) + InputBytes(n_in, panel.first);
  float sum = 0;
  for (int i = 0; i < n_in; i += kBlock, weights += kQ8Bytes, inputs += InputBytes(kBlock, panel.n_rows)) {
    int total = 0;
    for (int j = 0; j < kBlock; j++)
      total += static_cast<int8_t>(weights[2 + j]) * static_cast<int8_t>(inputs[place * kBlock + j]);
    uint16_t half;
    float scale;
    memcpy(&half, weights, sizeof half);
    memcpy(&scale, inputs + panel.n_rows * kBlock + 4 * place, sizeof scale);
    sum += static_cast<float>(total) * _cvtsh_ss(half) * scale;
  }
  return sum;
}

void Multiply(const void* weights, const void* rows, int n_in, int n_out, int n_rows, int begin, int end, float* out) {
  const int last_group = end / kLanes;
  kAvx2MatrixKernels.multiply(MatrixForm::kEight, weights, rows, n_in, n_out, n_rows, begin / kLanes, last_group, out);
  for (int o = last_group * kLanes > begin ? last_group * kLanes : begin; o < end; o++) {
    const auto* weights_of_o =
        static_cast<const uint8_t*>(weights) + static_cast<size_t>(o) * static_cast<size_t>(n_in / kBlock) * kQ8Bytes;
    for (int row = 0; row < n_rows; row++)
      out[static_cast<size_t>(row) * static_cast<size_t>(n_out) + static_cast<size_t>(o)] =
          MultiplyLast(weights_of_o, rows, n_in, n_rows, row);
  }
}

constexpr int kColumns = 2 * kFloats;  // whose sums for six rows fit into registers

template <bool kAdds>
void MultiplyGroup(const float* const* rows, const float* columns, float* const* out) {
  for (int first = 0; first < kHead; first += kColumns) {
    __m256 sums[kGroupRows][2];
#pragma GCC unroll 6
    for (int r = 0; r < kGroupRows; r++) {
#pragma GCC unroll 2
      for (int c = 0; c < 2; c++)
        sums[r][c] = kAdds ? _mm256_loadu_ps(out[r] + first + c * kFloats) : _mm256_setzero_ps();
    }
    for (int i = 0; i < kHead; i++) {
      const float* column = columns + i * kHead + first;
      const __m256 low = _mm256_loadu_ps(column);
      const __m256 high = _mm256_loadu_ps(column + kFloats);
#pragma GCC unroll 6
      for (int r = 0; r < kGroupRows; r++) {
        const __m256 value = _mm256_set1_ps(rows[r][i]);
        sums[r][0] = _mm256_fmadd_ps(value, low, sums[r][0]);
        sums[r][1] = _mm256_fmadd_ps(value, high, sums[r][1]);
      }
    }
#pragma GCC unroll 6
    for (int r = 0; r < kGroupRows; r++) {
#pragma GCC unroll 2
      for (int c = 0; c < 2; c++) _mm256_storeu_ps(out[r] + first + c * kFloats, sums[r][c]);
    }
  }
}

float Softmax(float* scores, int n, int n_padded, float scale) {
  const int n_filled = (n + kFloats - 1) / kFloats * kFloats;
  for (int i = n; i < n_filled; i++) scores[i] = -INFINITY;
  __m256 most = _mm256_set1_ps(-INFINITY);
  for (int i = 0; i < n; i += kFloats) most = _mm256_max_ps(most, _mm256_loadu_ps(scores + i));
  const __m256 offset = _mm256_set1_ps(-scale * LargestOf(most));
  __m256 sum = _mm256_setzero_ps();
  for (int i = 0; i < n; i += kFloats) {
    const __m256 weight = Exp(_mm256_fmadd_ps(_mm256_loadu_ps(scores + i), _mm256_set1_ps(scale), offset));
    _mm256_storeu_ps(scores + i, weight);
    sum = _mm256_add_ps(sum, weight);
  }
  // The weights of what was filled in are e^-87, too small for the sum, which is at least 1.
  for (int i = n; i < n_padded; i++) scores[i] = 0;
  return SumOf(sum);
}

void Scale(const float* from, float factor, float* to) {
  for (int c = 0; c < kHead; c += kFloats)
    _mm256_storeu_ps(to + c, _mm256_mul_ps(_mm256_loadu_ps(from + c), _mm256_set1_ps(factor)));
}

struct Avx2 {
  template <bool kAdds>
  static constexpr auto MultiplyGroup = compute::MultiplyGroup<kAdds>;
  static constexpr auto Softmax = compute::Softmax;
  static constexpr auto Scale = compute::Scale;
};

// Attention to halves by the kernel for language models, which wants a multiple of 16 cells: the last one is repeated,
// and a mask hides the copies. `cells` may be null for the first `n` ones.
void AttendHalves(const float* q, size_t q_stride, int n_queries, const uint16_t* k, const uint16_t* v, size_t stride,
                  const int32_t* cells, int n, float* out, float* scratch) {
  const int n_padded = (n + kCellLanes - 1) / kCellLanes * kCellLanes;
  auto* all_cells = reinterpret_cast<int32_t*>(scratch);
  auto* mask = reinterpret_cast<uint16_t*>(all_cells + n_padded);
  for (int i = 0; i < n_padded; i++) {
    const int seen = i < n ? i : n - 1;
    all_cells[i] = cells ? cells[seen] : seen;
    mask[i] = i < n ? 0 : 0xFC00;  // minus infinity
  }
  constexpr int kRows = 24;
  for (int first = 0; first < n_queries; first += kRows) {
    const int n_rows = n_queries - first < kRows ? n_queries - first : kRows;
    const float* queries[kRows];
    const uint16_t* masks[kRows];
    float* results[kRows];
    for (int row = 0; row < n_rows; row++) {
      queries[row] = q + static_cast<size_t>(first + row) * q_stride;
      masks[row] = mask;
      results[row] = out + static_cast<size_t>(first + row) * q_stride;
    }
    Avx2Attention(kHead)({.k = k,
                          .v = v,
                          .k_stride = stride,
                          .v_stride = stride,
                          .cells = all_cells,
                          .n_cells = n_padded,
                          .n_values = kHead,
                          .scale = 1,
                          .n_rows = n_rows,
                          .q = queries,
                          .masks = n < n_padded ? masks : nullptr,
                          .out = results,
                          .scratch = scratch + 2 * n_padded});
  }
}

void AttendMany(const float* q, size_t q_stride, int n_queries, const uint16_t* k, const uint16_t* v, size_t stride,
                int n, float* out, float* scratch) {
  AttendHalves(q, q_stride, n_queries, k, v, stride, nullptr, n, out, scratch);
}

void AttendCells(const float* q, const uint16_t* k, const uint16_t* v, size_t stride, const int32_t* cells, int n,
                 float* out, float* scratch) {
  AttendHalves(q, 0, 1, k, v, stride, cells, n, out, scratch);
}

__m256 GeluOf(__m256 x) {
  // x (1 + tanh u) / 2 is x / (1 + e^-2u) with u = √(2/π) (x + 0.044715 x³).
  const __m256 inner = _mm256_fmadd_ps(_mm256_mul_ps(x, x), _mm256_set1_ps(0.044715F), _mm256_set1_ps(1.0F));
  const __m256 power = Exp(_mm256_mul_ps(_mm256_mul_ps(x, inner), _mm256_set1_ps(-2.0F * 0.79788456080286535588F)));
  return _mm256_div_ps(x, _mm256_add_ps(power, _mm256_set1_ps(1.0F)));
}

void Gelu(const float* values, float* out, size_t n) {
  size_t i = 0;
  for (; i + kFloats <= n; i += kFloats) _mm256_storeu_ps(out + i, GeluOf(_mm256_loadu_ps(values + i)));
  float last[kFloats] = {};
  memcpy(last, values + i, (n - i) * sizeof(float));
  _mm256_storeu_ps(last, GeluOf(_mm256_loadu_ps(last)));
  memcpy(out + i, last, (n - i) * sizeof(float));
}

}  // namespace

const Kernels kAvx2Kernels = {Quantise, Multiply, AttendDensely<Avx2>, AttendMany, AttendCells, Gelu};

}  // namespace aana::compute
