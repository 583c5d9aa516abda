#pragma once

#include "core/compute/matrix/matrix_kernels.h"

// The order in which products are computed, for the files with instructions. `Kernel::kTile<form, R>` is the Tile for
// panels of R inputs. `Kernel` is a type in a namespace without a name, so that each file has functions of its own,
// compiled with its options.
namespace aana::compute {

// Computes 16 outputs of the inputs of a panel, and writes those whose bit is set in `lanes`.
using Tile = void (*)(const uint8_t* group, const uint8_t* panel, int n_blocks, float* out, size_t n_out,
                      uint16_t lanes);

template <class Kernel, MatrixForm kForm>
static Tile TileOf(int n_rows) {
  constexpr Tile kTiles[8] = {Kernel::template kTile<kForm, 1>, Kernel::template kTile<kForm, 2>,
                              Kernel::template kTile<kForm, 3>, Kernel::template kTile<kForm, 4>,
                              Kernel::template kTile<kForm, 5>, Kernel::template kTile<kForm, 6>,
                              Kernel::template kTile<kForm, 7>, Kernel::template kTile<kForm, 8>};
  return n_rows == kPanelRows ? Kernel::template kTile<kForm, kPanelRows> : kTiles[n_rows - 1];
}

// Bytes of inputs that stay in the second cache while the whole matrix passes.
inline constexpr size_t kCachedBytes = 512 * 1024;

template <class Kernel, MatrixForm kForm>
static void MultiplyAll(const uint8_t* matrix, const uint8_t* inputs, int n_in, int n_out, int n_rows, int begin,
                        int end, float* out) {
  const int n_blocks = n_in / kMatrixBlock;
  const size_t group_bytes = static_cast<size_t>(n_blocks) * MatrixGroupBytes(kForm);
  int n_cached = static_cast<int>(kCachedBytes / InputBytes(n_in, 1)) / kPanelRows * kPanelRows;
  if (n_cached < kPanelRows) n_cached = kPanelRows;
  for (int first = 0; first < n_rows; first += n_cached) {
    const int last = first + n_cached < n_rows ? first + n_cached : n_rows;
    for (int group = begin; group < end; group++) {
      const int left = n_out - group * kMatrixRows;
      const auto lanes =
          static_cast<uint16_t>(left >= kMatrixRows ? 0xFFFFU : (1U << static_cast<unsigned>(left)) - 1U);
      for (int row = first; row < last;) {
        const int n = PanelAt(n_rows, row).n_rows;
        TileOf<Kernel, kForm>(n)(matrix + static_cast<size_t>(group) * group_bytes, inputs + InputBytes(n_in, row),
                                 n_blocks,
                                 out + static_cast<size_t>(row) * static_cast<size_t>(n_out) + group * kMatrixRows,
                                 static_cast<size_t>(n_out), lanes);
        row += n;
      }
    }
  }
}

// MatrixKernels::multiply by tiles.
template <class Kernel>
static void MultiplyByTiles(MatrixForm form, const void* matrix, const void* inputs, int n_in, int n_out, int n_rows,
                            int begin, int end, float* out) {
  const auto run = [&](auto all) {
    all(static_cast<const uint8_t*>(matrix), static_cast<const uint8_t*>(inputs), n_in, n_out, n_rows, begin, end, out);
  };
  switch (form) {
    case MatrixForm::kFour:
      return run(MultiplyAll<Kernel, MatrixForm::kFour>);
    case MatrixForm::kFourLeast:
      return run(MultiplyAll<Kernel, MatrixForm::kFourLeast>);
    case MatrixForm::kFive:
      return run(MultiplyAll<Kernel, MatrixForm::kFive>);
    case MatrixForm::kFiveLeast:
      return run(MultiplyAll<Kernel, MatrixForm::kFiveLeast>);
    case MatrixForm::kSix:
      return run(MultiplyAll<Kernel, MatrixForm::kSix>);
    case MatrixForm::kEight:
      return run(MultiplyAll<Kernel, MatrixForm::kEight>);
  }
}

}  // namespace aana::compute
