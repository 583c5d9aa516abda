#include "core/compute/matrix/matrix_source.h"

#include <array>
#include <cstring>

namespace aana::compute {
namespace {

using Bytes = const uint8_t*;

float Half(Bytes bytes) {
  ggml_fp16_t half;
  std::memcpy(&half, bytes, sizeof half);
  return ggml_fp16_to_fp32(half);
}

// 32 values of 4 bits: the low halves of 16 bytes, then the high ones.
void ReadNibbles(Bytes from, uint8_t* values) {
  for (int i = 0; i < 16; i++) {
    values[i] = from[i] & 0xFU;
    values[i + 16] = static_cast<uint8_t>(from[i] >> 4U);
  }
}

void ReadFifthBits(Bytes from, uint8_t* values) {
  uint32_t bits;
  std::memcpy(&bits, from, sizeof bits);
  for (unsigned i = 0; i < 32; i++) values[i] = static_cast<uint8_t>(values[i] | ((bits >> i & 1U) << 4U));
}

// The scale and the factor of the least value of a part of 32 values in Q4_K and Q5_K: 6 bits each, of eight parts in
// 12 bytes.
std::array<unsigned, 2> SixBitScales(Bytes scales, unsigned part) {
  if (part < 4) return {scales[part] & 63U, scales[part + 4] & 63U};
  return {(scales[part + 4] & 0xFU) | (scales[part - 4] >> 6U << 4U),
          static_cast<unsigned>(scales[part + 4] >> 4U) | (scales[part] >> 6U << 4U)};
}

// A block of 256 values in Q4_K or Q5_K has two scales, 12 bytes of smaller ones, in Q5_K 32 bytes of high bits, and
// the low bits.
MatrixBlock ReadTwoLevels(Bytes from, unsigned part, bool has_fifth) {
  MatrixBlock block;
  const auto [scale, least] = SixBitScales(from + 4, part);
  block.scale = Half(from) * static_cast<float>(scale);
  block.second = -Half(from + 2) * static_cast<float>(least);
  const auto* high = from + 16;
  const auto* low = from + (has_fifth ? 48 : 16) + part / 2 * 32;
  for (int i = 0; i < kMatrixBlock; i++) {
    auto value = part % 2 == 0 ? low[i] & 0xFU : static_cast<unsigned>(low[i] >> 4U);
    if (has_fifth) value |= (high[i] >> part & 1U) << 4U;
    block.values[i] = static_cast<uint8_t>(value);
  }
  return block;
}

// A block of 256 values in Q6_K: 128 bytes of low bits, 64 of high bits, 16 scales, and one of all.
MatrixBlock ReadSix(Bytes from, unsigned part) {
  MatrixBlock block;
  const unsigned quarter = part % 4;
  const auto* low = from + part / 4 * 64 + quarter % 2 * 32;
  const auto* high = from + 128 + part / 4 * 32;
  for (int i = 0; i < kMatrixBlock; i++) {
    const unsigned nibble = quarter < 2 ? low[i] & 0xFU : static_cast<unsigned>(low[i] >> 4U);
    block.values[i] = static_cast<uint8_t>(nibble | ((high[i] >> 2 * quarter & 3U) << 4U));
  }
  const auto scale_at = [&](unsigned i) {
    return Half(from + 208) * static_cast<float>(static_cast<int8_t>(from[192 + i]));
  };
  block.scale = scale_at(part * 2);
  block.second = scale_at(part * 2 + 1);
  return block;
}

// Returns 32 values of a row.
MatrixBlock Read(ggml_type type, Bytes row, int64_t number) {
  const auto n_parts = ggml_blck_size(type) / kMatrixBlock;
  const auto part = static_cast<unsigned>(number % n_parts);
  const auto* from = row + static_cast<size_t>(number / n_parts) * ggml_type_size(type);
  if (type == GGML_TYPE_Q4_K || type == GGML_TYPE_Q5_K) return ReadTwoLevels(from, part, type == GGML_TYPE_Q5_K);
  if (type == GGML_TYPE_Q6_K) return ReadSix(from, part);
  const bool has_least = type == GGML_TYPE_Q4_1 || type == GGML_TYPE_Q5_1;
  MatrixBlock block{.scale = Half(from), .second = has_least ? Half(from + 2) : 0, .values = {}};
  from += has_least ? 4 : 2;
  if (type == GGML_TYPE_Q8_0) {
    for (int i = 0; i < kMatrixBlock; i++) block.values[i] = from[i] ^ 0x80U;
    return block;
  }
  const bool has_fifth = type == GGML_TYPE_Q5_0 || type == GGML_TYPE_Q5_1;
  ReadNibbles(from + (has_fifth ? 4 : 0), block.values);
  if (has_fifth) ReadFifthBits(from, block.values);
  return block;
}

}  // namespace

std::optional<MatrixForm> FormOf(ggml_type type) {
  switch (type) {
    case GGML_TYPE_Q4_0:
      return MatrixForm::kFour;
    case GGML_TYPE_Q4_1:
    case GGML_TYPE_Q4_K:
      return MatrixForm::kFourLeast;
    case GGML_TYPE_Q5_0:
      return MatrixForm::kFive;
    case GGML_TYPE_Q5_1:
    case GGML_TYPE_Q5_K:
      return MatrixForm::kFiveLeast;
    case GGML_TYPE_Q6_K:
      return MatrixForm::kSix;
    case GGML_TYPE_Q8_0:
      return MatrixForm::kEight;
    default:
      return std::nullopt;
  }
}

void PackMatrix(ggml_type type, const void* weights, int64_t n_in, int64_t n_out, void* packed) {
  const auto form = FormOf(type).value();
  const size_t row_bytes = ggml_row_size(type, n_in);
  auto* group = static_cast<uint8_t*>(packed);
  std::array<MatrixBlock, kMatrixRows> blocks;
  for (int64_t first = 0; first < n_out; first += kMatrixRows) {
    const auto n_rows = static_cast<int>(n_out - first < kMatrixRows ? n_out - first : kMatrixRows);
    for (int64_t block = 0; block < n_in / kMatrixBlock; block++) {
      for (int row = 0; row < n_rows; row++) {
        blocks[static_cast<size_t>(row)] =
            Read(type, static_cast<Bytes>(weights) + static_cast<size_t>(first + row) * row_bytes, block);
      }
      PackGroup(form, blocks.data(), n_rows, group);
      group += MatrixGroupBytes(form);
    }
  }
}

}  // namespace aana::compute
