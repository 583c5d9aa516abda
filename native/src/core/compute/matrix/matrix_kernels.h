#pragma once

#include <cstddef>
#include <cstdint>

#include "core/compute/matrix/matrix_form.h"

// Products with packed matrices. Pointers need no alignment.
namespace aana::compute {

// Quantized inputs: rows in panels, in a panel the blocks one after another, in a block the values of all its rows and
// then their scales and corrections.
inline constexpr int kPanelRows = 16;
// Bytes of a block of an input row: 32 values, a scale, and two corrections.
inline constexpr int kInputBlockBytes = kMatrixBlock + 12;

struct Panel {
  int first;
  int n_rows;
};

// Returns the panel of `row` of `n_rows`. Panels have 16 rows, the last ones 8 and the rest, so that few numbers of
// rows need a kernel of their own.
static constexpr Panel PanelAt(int n_rows, int row) {
  const int n_full = n_rows / kPanelRows * kPanelRows;
  if (row < n_full) return {row / kPanelRows * kPanelRows, kPanelRows};
  const int rest = n_rows - n_full;
  constexpr int kHalf = kPanelRows / 2;
  if (rest <= kHalf) return {n_full, rest};
  return row < n_full + kHalf ? Panel{n_full, kHalf} : Panel{n_full + kHalf, rest - kHalf};
}

static constexpr size_t InputBytes(int n_in, int n_rows) {
  return static_cast<size_t>(n_in / kMatrixBlock) * kInputBlockBytes * static_cast<size_t>(n_rows);
}

struct MatrixKernels {
  // Quantizes one of `n_rows` inputs of `n_in` values for a matrix of `form`: in blocks of 32 to 8 bits, as ggml does
  // for Q8_0. `row` says which.
  void (*quantize)(MatrixForm form, const float* values, int n_in, int n_rows, int row, void* inputs);
  // Multiplies `n_rows` inputs by a packed matrix of `n_out` rows: out[row * n_out + o] for each o in the groups of 16
  // from `begin` to `end`. Each result depends only on its input and its row of the matrix, whatever is computed beside
  // it.
  void (*multiply)(MatrixForm form, const void* matrix, const void* inputs, int n_in, int n_out, int n_rows, int begin,
                   int end, float* out);
};

}  // namespace aana::compute
