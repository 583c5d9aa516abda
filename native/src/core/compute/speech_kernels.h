#pragma once

#include <string.h>

#include "core/compute/attention/cell_attention.h"
#include "core/compute/attention/dense_attention.h"
#include "core/compute/kernels.h"
#include "core/compute/matrix/matrix_products.h"
#include "core/compute/q8_rows.h"
#include "core/compute/vectors.h"

// Kernels, for the files with instructions: products with packed matrices, attention as that of language models, and
// what only speech models have.
namespace aana::compute {
namespace {

void Quantize(const float* values, int n_in, int n_rows, int row, void* rows) {
  QuantizeInput(MatrixForm::kEight, values, n_in, n_rows, row, rows);
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
  MultiplyInputs(MatrixForm::kEight, weights, rows, n_in, n_out, n_rows, begin / kLanes, last_group, out);
  for (int o = last_group * kLanes > begin ? last_group * kLanes : begin; o < end; o++) {
    const auto* weights_of_o =
        static_cast<const uint8_t*>(weights) + static_cast<size_t>(o) * static_cast<size_t>(n_in / kBlock) * kQ8Bytes;
    for (int row = 0; row < n_rows; row++)
      out[static_cast<size_t>(row) * static_cast<size_t>(n_out) + static_cast<size_t>(o)] =
          MultiplyLast(weights_of_o, rows, n_in, n_rows, row);
  }
}

// Attention to halves as that of language models, for some queries at a time.
template <class Cells>
void AttendHalves(const float* q, size_t q_stride, int n_queries, const uint16_t* k, const uint16_t* v, size_t stride,
                  Cells cells, int n, float* out, float* scratch) {
  for (int first = 0; first < n_queries; first += kSharedQueries) {
    const int n_rows = n_queries - first < kSharedQueries ? n_queries - first : kSharedQueries;
    const float* queries[kSharedQueries];
    float* results[kSharedQueries];
    for (int row = 0; row < n_rows; row++) {
      queries[row] = q + static_cast<size_t>(first + row) * q_stride;
      results[row] = out + static_cast<size_t>(first + row) * q_stride;
    }
    Attend({.k = k,
            .v = v,
            .k_stride = stride,
            .v_stride = stride,
            .cells = nullptr,
            .n_cells = n,
            .n_values = kHead,
            .scale = 1,
            .n_rows = n_rows,
            .q = queries,
            .masks = nullptr,
            .out = results,
            .scratch = scratch},
           cells);
  }
}

void AttendMany(const float* q, size_t q_stride, int n_queries, const uint16_t* k, const uint16_t* v, size_t stride,
                int n, float* out, float* scratch) {
  AttendHalves(q, q_stride, n_queries, k, v, stride, First{}, n, out, scratch);
}

void AttendCells(const float* q, const uint16_t* k, const uint16_t* v, size_t stride, const int32_t* cells, int n,
                 float* out, float* scratch) {
  AttendHalves(q, 0, 1, k, v, stride, Listed{cells}, n, out, scratch);
}

void ToHalves(const float* values, size_t n, uint16_t* out) {
  for (size_t i = 0; i < n; i += kWidth) Store(out + i, Load(values + i));
}

AANA_INLINE Floats GeluOf(Floats x) {
  // x (1 + tanh u) / 2 is x / (1 + e^-2u) with u = √(2/π) (x + 0.044715 x³).
  const Floats inner = MultiplyAdd(x * x, AllOf(0.044715F), AllOf(1.0F));
  return x / (Exp(x * inner * AllOf(-2.0F * 0.79788456080286535588F)) + AllOf(1.0F));
}

void Gelu(const float* values, float* out, size_t n) {
  size_t i = 0;
  for (; i + kWidth <= n; i += kWidth) Store(out + i, GeluOf(Load(values + i)));
  float last[kWidth] = {};
  memcpy(last, values + i, (n - i) * sizeof(float));
  Store(last, GeluOf(Load(last)));
  memcpy(out + i, last, (n - i) * sizeof(float));
}

}  // namespace
}  // namespace aana::compute
