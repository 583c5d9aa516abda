#pragma once

#include <cstddef>
#include <cstdint>

// Forms of quantized matrices for the kernels. Functions are static, so that no code for AVX-512 is taken for another
// file. A value is `scale * (q - zero) + least`, with `q` from 0.
namespace aana::compute {

// Values that share a scale.
inline constexpr int kMatrixBlock = 32;
// Rows that are computed together.
inline constexpr int kMatrixRows = 16;
// Bytes of one value of each of four columns of 16 rows, as an instruction takes them.
inline constexpr int kMatrixStep = 4 * kMatrixRows;

enum class MatrixForm : uint8_t {
  kFour,       // 4 bits, zero is 8: Q4_0
  kFourLeast,  // 4 bits with a least value: Q4_1, Q4_K
  kFive,       // 5 bits, zero is 16: Q5_0
  kFiveLeast,  // 5 bits with a least value: Q5_1, Q5_K
  kSix,        // 6 bits, zero is 32, and a scale for each 16 values: Q6_K
  kEight,      // 8 bits, zero is 128: Q8_0
};

static constexpr int BitsOf(MatrixForm form) {
  switch (form) {
    case MatrixForm::kFour:
    case MatrixForm::kFourLeast:
      return 4;
    case MatrixForm::kFive:
    case MatrixForm::kFiveLeast:
      return 5;
    case MatrixForm::kSix:
      return 6;
    case MatrixForm::kEight:
      return 8;
  }
  return 8;
}
static constexpr bool HasLeast(MatrixForm form) {
  return form == MatrixForm::kFourLeast || form == MatrixForm::kFiveLeast;
}
static constexpr bool HasHalves(MatrixForm form) { return form == MatrixForm::kSix; }
// Forms without least values.
static constexpr int ZeroOf(MatrixForm form) { return HasLeast(form) ? 0 : 1 << (BitsOf(form) - 1); }

// Bytes of a block of 16 rows: scales, second scales or least values, and the values, for four columns at a time those
// of all rows: the low 4 bits (or all 8) first, then the others.
static constexpr size_t MatrixHeadBytes(MatrixForm form) {
  return (HasLeast(form) || HasHalves(form) ? 2 : 1) * 2 * static_cast<size_t>(kMatrixRows);
}
static constexpr size_t MatrixGroupBytes(MatrixForm form) {
  return MatrixHeadBytes(form) + static_cast<size_t>(BitsOf(form)) * kMatrixStep;
}

// Bytes of a matrix of `n_out` rows of `n_in` values. The last rows are filled up to 16.
static constexpr size_t MatrixBytes(MatrixForm form, int64_t n_in, int64_t n_out) {
  return static_cast<size_t>((n_out + kMatrixRows - 1) / kMatrixRows * (n_in / kMatrixBlock)) * MatrixGroupBytes(form);
}

// A block of a row.
struct MatrixBlock {
  float scale;
  float second;  // the scale of the last 16 values, or the least value
  uint8_t values[kMatrixBlock];
};

// Puts blocks of up to 16 rows, one for each, into their group. The blocks of absent rows count as zeros.
void PackGroup(MatrixForm form, const MatrixBlock* blocks, int n_rows, uint8_t* group);

}  // namespace aana::compute
