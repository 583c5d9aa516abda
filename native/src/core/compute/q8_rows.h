#pragma once

#include <cstddef>
#include <cstdint>

// Weights in ggml's Q8_0 as the kernels for speech take them: for 16 rows at a time and each block, 16 scales, then for
// four columns at a time the values of all 16 rows. Values are greater by 128. These groups are those of
// MatrixForm::kEight. The last rows, fewer than 16, stay as they are, so that weights need no more memory than before.
namespace aana::compute {

// Bytes of a block of a row: a scale of 16 bits and 32 values.
inline constexpr size_t kQ8Bytes = 34;

// Reorders `n_out` rows of `n_in` weights in place. `n_in` is a multiple of 32.
void PackRows(void* weights, int n_in, int n_out);

// Returns the values of a row of packed weights.
void UnpackRow(const void* weights, int n_in, int n_out, int row, float* values);

}  // namespace aana::compute
