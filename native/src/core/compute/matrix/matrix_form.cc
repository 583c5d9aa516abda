#include "core/compute/matrix/matrix_form.h"

#include <ggml.h>

#include <cstring>

namespace aana::compute {
namespace {

constexpr int kSteps = kMatrixBlock / 4;

void PutHalf(uint8_t* to, float value) {
  const ggml_fp16_t half = ggml_fp32_to_fp16(value);
  std::memcpy(to, &half, sizeof half);
}

// Puts bytes of a row, four for each step, to their places.
void PutSteps(const uint8_t* bytes, int n_steps, int row, uint8_t* steps) {
  for (int step = 0; step < n_steps; step++) std::memcpy(steps + step * kMatrixStep + 4 * row, bytes + 4 * step, 4);
}

}  // namespace

void PackGroup(MatrixForm form, const MatrixBlock* blocks, int n_rows, uint8_t* group) {
  std::memset(group, 0, MatrixGroupBytes(form));
  auto* steps = group + MatrixHeadBytes(form);
  auto* high_steps = steps + 4 * kMatrixStep;
  const int bits = BitsOf(form);
  for (int row = 0; row < n_rows; row++) {
    const auto& block = blocks[row];
    const auto* values = block.values;
    PutHalf(group + 2 * row, block.scale);
    if (HasLeast(form) || HasHalves(form)) PutHalf(group + 2 * (kMatrixRows + row), block.second);
    if (bits == 8) {
      PutSteps(values, kSteps, row, steps);
      continue;
    }
    // The low halves of bytes have the first four steps, the high halves the others.
    uint8_t low[16];
    for (int i = 0; i < 16; i++)
      low[i] = static_cast<uint8_t>((values[i] & 0xFU) | static_cast<unsigned>(values[i + 16]) << 4U);
    PutSteps(low, 4, row, steps);
    if (bits == 5) {  // a byte has one bit of each of 8 steps
      uint8_t high[4] = {};
      for (unsigned i = 0; i < kMatrixBlock; i++)
        high[i % 4] = static_cast<uint8_t>(high[i % 4] | values[i] >> 4U << i / 4);
      PutSteps(high, 1, row, high_steps);
    } else if (bits == 6) {  // two bits of each of 4 steps
      uint8_t high[8] = {};
      for (unsigned i = 0; i < kMatrixBlock; i++) {
        auto& byte = high[i / 16 * 4 + i % 4];
        byte = static_cast<uint8_t>(byte | values[i] >> 4U << i % 16 / 4 * 2);
      }
      PutSteps(high, 2, row, high_steps);
    }
  }
}

}  // namespace aana::compute
