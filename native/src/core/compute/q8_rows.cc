#include "core/compute/q8_rows.h"

#include <ggml.h>

#include <cstring>
#include <vector>

#include "core/compute/kernels.h"
#include "core/compute/matrix/matrix_form.h"

namespace aana::compute {
namespace {

constexpr size_t kGroupBytes = kLanes * kQ8Bytes;  // a block of 16 rows
constexpr size_t kScalesBytes = 2 * kLanes;        // stand first in such a group
constexpr int kStepBytes = 4 * kLanes;
static_assert(kGroupBytes == MatrixGroupBytes(MatrixForm::kEight) &&
              kScalesBytes == MatrixHeadBytes(MatrixForm::kEight) && kStepBytes == kMatrixStep);

float ToFloat(const uint8_t* half) {
  ggml_fp16_t bits;
  std::memcpy(&bits, half, sizeof bits);
  return ggml_fp16_to_fp32(bits);
}

// Where the value of a column is in a group.
size_t PlaceOf(int lane, int column) {
  return kScalesBytes + static_cast<size_t>(column / 4 * kStepBytes + 4 * lane + column % 4);
}

}  // namespace

void PackRows(void* weights, int n_in, int n_out) {
  const auto n_blocks = static_cast<size_t>(n_in / kBlock);
  const size_t row_bytes = n_blocks * kQ8Bytes;
  auto* bytes = static_cast<uint8_t*>(weights);
  std::vector<uint8_t> rows(row_bytes * kLanes);
  for (int first = 0; first + kLanes <= n_out; first += kLanes) {
    auto* group = bytes + static_cast<size_t>(first) * row_bytes;
    std::memcpy(rows.data(), group, rows.size());
    for (size_t block = 0; block < n_blocks; block++) {
      auto* to = group + block * kGroupBytes;
      for (int lane = 0; lane < kLanes; lane++) {
        const auto* from = rows.data() + static_cast<size_t>(lane) * row_bytes + block * kQ8Bytes;
        std::memcpy(to + 2 * lane, from, 2);
        for (int i = 0; i < kBlock; i++) to[PlaceOf(lane, i)] = static_cast<uint8_t>(from[2 + i] ^ 0x80U);
      }
    }
  }
}

void UnpackRow(const void* weights, int n_in, int n_out, int row, float* values) {
  const auto* bytes = static_cast<const uint8_t*>(weights);
  const size_t row_bytes = static_cast<size_t>(n_in / kBlock) * kQ8Bytes;
  const int lane = row % kLanes;
  const bool is_last = row >= n_out / kLanes * kLanes;
  const auto* from = bytes + static_cast<size_t>(is_last ? row : row - lane) * row_bytes;
  for (int i = 0; i < n_in; i++) {
    const auto* block = from + static_cast<size_t>(i / kBlock) * (is_last ? kQ8Bytes : kGroupBytes);
    const auto value = is_last ? block[2 + i % kBlock] : static_cast<uint8_t>(block[PlaceOf(lane, i % kBlock)] ^ 0x80U);
    values[i] = ToFloat(is_last ? block : block + 2 * lane) * static_cast<float>(static_cast<int8_t>(value));
  }
}

}  // namespace aana::compute
