// Tests of the kernels against plain loops in double precision. On a processor without the instructions there is
// nothing to test.
#include <ggml.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../check.h"
#include "core/compute/kernel_sets.h"
#include "core/compute/q8_rows.h"

namespace aana::test {
namespace {

using namespace compute;

std::mt19937 random_numbers(7);

std::vector<float> Random(size_t n, float most = 1) {
  std::vector<float> values(n);
  for (auto& value : values) value = std::uniform_real_distribution<float>(-most, most)(random_numbers);
  return values;
}

// Positive halves from 2^-6 to 1.
uint16_t RandomHalf() { return static_cast<uint16_t>(0x2400 + random_numbers() % 0x1800); }
float ToFloat(uint16_t half) {
  const float fraction = 1.0F + static_cast<float>(half & 0x3FFU) / 1024.0F;
  return (half & 0x8000U ? -1.0F : 1.0F) * std::ldexp(fraction, static_cast<int>(half >> 10U & 0x1FU) - 15);
}

// Rows of ggml's Q8_0, and their values.
struct Weights {
  Weights(int in, int out) : n_in(in), n_out(out), values(static_cast<size_t>(in) * static_cast<size_t>(out)) {
    for (size_t block = 0; block < values.size() / kBlock; block++) {
      const auto scale = RandomHalf();
      uint8_t bytes[34];
      std::memcpy(bytes, &scale, 2);
      for (size_t i = 0; i < kBlock; i++) {
        const auto value = static_cast<int8_t>(static_cast<int>(random_numbers() % 255) - 127);
        bytes[2 + i] = static_cast<uint8_t>(value);
        values[block * kBlock + i] = ToFloat(scale) * static_cast<float>(value);
      }
      packed.insert(packed.end(), bytes, bytes + 34);
    }
    PackRows(packed.data(), n_in, n_out);
  }
  float At(int row, int column) const {
    return values[static_cast<size_t>(row) * static_cast<size_t>(n_in) + static_cast<size_t>(column)];
  }

  int n_in;
  int n_out;
  std::vector<float> values;
  std::vector<uint8_t> packed;
};

void TestUnpack(int n_in, int n_out) {
  const Weights weights(n_in, n_out);
  std::vector<float> row(static_cast<size_t>(n_in));
  for (int i = 0; i < n_out; i++) {
    UnpackRow(weights.packed.data(), n_in, n_out, i, row.data());
    for (int j = 0; j < n_in; j++)
      Expect(row[static_cast<size_t>(j)] == weights.At(i, j),
             "row " + std::to_string(i) + ", column " + std::to_string(j) + " is another number");
  }
}

// Rounds a block of values as Q8_0 does.
void QuantizeBlock(const float* values, float* quantized) {
  float most = 0;
  for (int i = 0; i < kBlock; i++) most = std::max(most, std::abs(values[i]));
  for (int i = 0; i < kBlock; i++) quantized[i] = most / 127.0F * std::nearbyint(values[i] * (127.0F / most));
}

// With quantized values as they are, so that only the rounding of sums differs.
void TestMultiply(const Kernels& kernels, int n_in, int n_out, int n_rows, int split) {
  const Weights weights(n_in, n_out);
  const auto x = Random(static_cast<size_t>(n_in * n_rows));
  std::vector<uint8_t> rows(QuantizedBytes(n_in) * static_cast<size_t>(n_rows));
  std::vector<float> quantized(x.size());
  for (int row = 0; row < n_rows; row++) {
    kernels.quantize(x.data() + row * n_in, n_in, n_rows, row, rows.data());
    for (int block = row * n_in; block < (row + 1) * n_in; block += kBlock)
      QuantizeBlock(x.data() + block, quantized.data() + block);
  }
  std::vector<float> out(static_cast<size_t>(n_rows * n_out), std::numeric_limits<float>::quiet_NaN());
  for (const auto& [begin, end] : {std::pair(0, split), std::pair(split, n_out)}) {
    kernels.multiply(weights.packed.data(), rows.data(), n_in, n_out, n_rows, begin, end, out.data());
  }
  for (int row = 0; row < n_rows; row++) {
    for (int o = 0; o < n_out; o++) {
      double sum = 0;
      double size = 0;
      for (int i = 0; i < n_in; i++) {
        const double product = static_cast<double>(weights.At(o, i)) * quantized[static_cast<size_t>(row * n_in + i)];
        sum += product;
        size += std::abs(product);
      }
      ExpectNear(out[static_cast<size_t>(row * n_out + o)], sum, 1e-6 * size,
                 "output " + std::to_string(o) + " of row " + std::to_string(row));
    }
  }
}

std::vector<double> Attention(const float* q, const std::vector<float>& k, const std::vector<float>& v, size_t stride,
                              int n, double scale) {
  std::vector<double> weights(static_cast<size_t>(n));
  double most = -1e30;
  for (int t = 0; t < n; t++) {
    auto& weight = weights[static_cast<size_t>(t)];
    for (size_t i = 0; i < kHead; i++) weight += scale * q[i] * k[static_cast<size_t>(t) * stride + i];
    most = std::max(most, weight);
  }
  double sum = 0;
  for (auto& weight : weights) sum += weight = std::exp(weight - most);
  std::vector<double> out(kHead);
  for (int t = 0; t < n; t++) {
    for (size_t i = 0; i < kHead; i++)
      out[i] += weights[static_cast<size_t>(t)] / sum * v[static_cast<size_t>(t) * stride + i];
  }
  return out;
}

// Returns how far sums of 32-bit floats may take the values of an attention from those of `Attention`: each score is
// off by some roundings of the sum of its terms, and its weight by as much of itself. Values are at most 1 or so.
double Margin(const float* q, const std::vector<float>& k, size_t stride, int n, double scale) {
  double most = 0;
  for (int t = 0; t < n; t++) {
    double sum = 0;
    for (size_t i = 0; i < kHead; i++) sum += std::abs(scale * q[i] * k[static_cast<size_t>(t) * stride + i]);
    most = std::max(most, sum);
  }
  return 2e-6 + 2 * std::numeric_limits<float>::epsilon() * most;
}

void TestAttend(const Kernels& kernels, int n, int split, float most) {
  constexpr size_t kStride = 2 * kHead;  // a second head stands beside the one that is computed
  const auto size = static_cast<size_t>(n) * kStride;
  const auto q = Random(size, most), k = Random(size, most), v = Random(size);
  std::vector<float> out(size, 7.0F);
  std::vector<float> scratch(AttentionScratch(n), std::numeric_limits<float>::quiet_NaN());
  kernels.attend(q.data(), k.data(), v.data(), out.data(), kStride, n, 0, split, scratch.data());
  kernels.attend(q.data(), k.data(), v.data(), out.data(), kStride, n, split, n, scratch.data());
  for (int t = 0; t < n; t++) {
    const auto expected = Attention(q.data() + static_cast<size_t>(t) * kStride, k, v, kStride, n, 0.125);
    const auto margin = Margin(q.data() + static_cast<size_t>(t) * kStride, k, kStride, n, 0.125);
    for (size_t i = 0; i < kHead; i++)
      ExpectNear(out[static_cast<size_t>(t) * kStride + i], expected[i], margin, "token " + std::to_string(t));
    Expect(out[static_cast<size_t>(t) * kStride + kHead] == 7.0F, "the other head was written");
  }
}

// Keys and values as halves, with their values.
struct HalfAudio {
  explicit HalfAudio(int n) : k(static_cast<size_t>(n) * kStride), v(k.size()), keys(k.size()), values(k.size()) {
    for (size_t i = 0; i < k.size(); i++) {
      k[i] = static_cast<uint16_t>(RandomHalf() | (random_numbers() % 2) << 15U);
      v[i] = RandomHalf();
      keys[i] = ToFloat(k[i]);
      values[i] = ToFloat(v[i]);
    }
  }

  static constexpr size_t kStride = 3 * kHead;
  std::vector<uint16_t> k, v;
  std::vector<float> keys, values;
};

void TestAttendMany(const Kernels& kernels, int n) {
  const HalfAudio audio(n);
  constexpr int kQueries = 5;
  constexpr size_t kQueryStride = 2 * kHead;
  const auto q = Random(kQueries * kQueryStride, 3);
  const auto attend = [&](int first, int n_queries) {
    std::vector<float> out(q.size(), 7.0F),
        scratch(SharedAttentionScratch(n, n_queries), std::numeric_limits<float>::quiet_NaN());
    kernels.attend_many(q.data() + static_cast<size_t>(first) * kQueryStride, kQueryStride, n_queries, audio.k.data(),
                        audio.v.data(), HalfAudio::kStride, n, out.data(), scratch.data());
    return out;
  };
  const auto together = attend(0, kQueries);
  for (int row = 0; row < kQueries; row++) {
    const auto at = static_cast<size_t>(row) * kQueryStride;
    const auto expected = Attention(q.data() + at, audio.keys, audio.values, HalfAudio::kStride, n, 1);
    const auto alone = attend(row, 1);
    const auto margin = Margin(q.data() + at, audio.keys, HalfAudio::kStride, n, 1);
    for (size_t i = 0; i < kHead; i++) {
      const auto what =
          "value " + std::to_string(i) + " of query " + std::to_string(row) + " for " + std::to_string(n) + " tokens";
      ExpectNear(together[at + i], expected[i], margin, what);
      Expect(together[at + i] == alone[i], what + " depends on the other queries");
    }
    Expect(together[at + kHead] == 7.0F, "the other head was written");
  }
}

void TestAttendCells(const Kernels& kernels, int n) {
  const HalfAudio audio(2 * n);
  std::vector<int32_t> cells;
  std::vector<float> keys, values;
  for (int i = 0; i < n; i++) {
    cells.push_back((7 * i + 3) % (2 * n));
    const auto at = static_cast<std::ptrdiff_t>(static_cast<size_t>(cells.back()) * HalfAudio::kStride);
    keys.insert(keys.end(), audio.keys.begin() + at, audio.keys.begin() + at + kHead);
    values.insert(values.end(), audio.values.begin() + at, audio.values.begin() + at + kHead);
  }
  const auto q = Random(kHead, 3);
  std::vector<float> out(kHead), scratch(SharedAttentionScratch(n, 1), std::numeric_limits<float>::quiet_NaN());
  kernels.attend_cells(q.data(), audio.k.data(), audio.v.data(), HalfAudio::kStride, cells.data(), n, out.data(),
                       scratch.data());
  const auto expected = Attention(q.data(), keys, values, kHead, n, 1);
  const auto margin = Margin(q.data(), keys, kHead, n, 1);
  for (size_t i = 0; i < kHead; i++)
    ExpectNear(out[i], expected[i], margin, "value " + std::to_string(i) + " of " + std::to_string(n) + " cells");
}

void TestConvolve(const Kernels& kernels, int n_in_channels, int n_out_channels, int n_in, int stride) {
  const auto n_weights = static_cast<size_t>(kConvolutionTaps * n_in_channels);
  const auto x = Random(static_cast<size_t>(n_in_channels * n_in), 3);
  std::vector<uint16_t> weights(n_weights * static_cast<size_t>(n_out_channels));
  for (auto& weight : weights) weight = static_cast<uint16_t>(RandomHalf() | (random_numbers() % 2) << 15U);
  const int n_out = n_in / stride;
  std::vector<float> out(static_cast<size_t>(n_out_channels * n_out), std::numeric_limits<float>::quiet_NaN());
  std::vector<float> scratch(ConvolutionScratch(n_out_channels), std::numeric_limits<float>::quiet_NaN());
  const ConvolutionTask task{weights.data(), x.data(), out.data(), n_in_channels, n_out_channels, n_in, n_out, stride};
  const int split = n_out / 2 / 64 * 64;
  kernels.convolve(task, 0, split, scratch.data());
  kernels.convolve(task, split, n_out, scratch.data());
  for (int channel = 0; channel < n_out_channels; channel++) {
    for (int position = 0; position < n_out; position++) {
      double sum = 0;
      double size = 0;
      for (int i = 0; i < n_in_channels * kConvolutionTaps; i++) {
        const int at = position * stride + i % kConvolutionTaps - 1;
        if (at < 0 || at >= n_in) continue;
        const double product =
            static_cast<double>(ToFloat(weights[static_cast<size_t>(channel) * n_weights + static_cast<size_t>(i)])) *
            x[static_cast<size_t>(i / kConvolutionTaps * n_in + at)];
        sum += product;
        size += std::abs(product);
      }
      ExpectNear(out[static_cast<size_t>(channel * n_out + position)], sum, 1e-6 * size,
                 "position " + std::to_string(position) + " of channel " + std::to_string(channel));
    }
  }
}

void TestPacking() {
  Test("packed weights keep their values, also the last rows", [] {
    for (const int n_out : {16, 64, 41, 9, 1}) TestUnpack(96, n_out);
  });
}

void TestKernels(const KernelSet& set) {
  const auto& kernels = set.speech;
  const std::string with = std::string(" with ") + set.name;
  Test("products are those of the quantized values, for any number of rows and outputs" + with, [&kernels] {
    for (int n_rows = 1; n_rows <= 34; n_rows++) TestMultiply(kernels, 64, 48, n_rows, 16);
    TestMultiply(kernels, 384, 105, 3, 64);
    TestMultiply(kernels, 384, 105, 21, 96);
    TestMultiply(kernels, 2048, 32, 450, 16);  // more rows than fit into a cache
  });
  Test("the products of a row of zeros are zeros" + with, [&kernels] {
    const Weights weights(64, 16);
    const std::vector<float> zeros(64);
    std::vector<uint8_t> row(QuantizedBytes(64), 1);
    kernels.quantize(zeros.data(), 64, 1, 0, row.data());
    std::vector<float> out(16, 1);
    kernels.multiply(weights.packed.data(), row.data(), 64, 16, 1, 0, 16, out.data());
    Expect(std::ranges::all_of(out, [](float value) { return value == 0; }), "something else is there");
  });
  Test("attention is that of a plain loop, for any number of tokens and from any row on" + with, [&kernels] {
    for (const int n : {1, 2, 15, 16, 63, 64, 65, 130}) TestAttend(kernels, n, n / 3, 2);
  });
  Test("attention to one token by large scores has no overflow" + with,
       [&kernels] { TestAttend(kernels, 70, 24, 40); });
  Test("attention of several tokens to halves is that of a plain loop, and no token changes the result of another" +
           with,
       [&kernels] {
         for (const int n : {1, 2, 15, 16, 17, 100, 1499, 1500}) TestAttendMany(kernels, n);
       });
  Test("attention to cells of a cache is that of a plain loop over them" + with, [&kernels] {
    for (const int n : {1, 2, 15, 16, 17, 100, 448}) TestAttendCells(kernels, n);
  });
  Test("a convolution is that of a plain loop, for any number of channels and positions" + with, [&kernels] {
    for (const int n_in : {2, 6, 62, 64, 66, 128, 250}) {
      for (const int stride : {1, 2}) TestConvolve(kernels, 5, 7, n_in, stride);
    }
    TestConvolve(kernels, 80, 48, 300, 1);
    TestConvolve(kernels, 64, 50, 300, 2);
  });
  Test("values are rounded to the nearest halves, also to infinite and to subnormal ones" + with, [&kernels] {
    auto x = Random(1024, 70'000);
    for (size_t i = 0; i < 512; i++) x[i] *= std::ldexp(1.0F, -static_cast<int>(i % 48));
    std::vector<uint16_t> halves(x.size());
    kernels.to_halves(x.data(), x.size(), halves.data());
    for (size_t i = 0; i < x.size(); i++)
      Expect(halves[i] == ggml_fp32_to_fp16(x[i]), "another half of " + std::to_string(x[i]));
  });
  Test("GELU is that of its formula, also where it is flat" + with, [&kernels] {
    auto x = Random(1003, 12);
    x.insert(x.end(), {0.0F, 1e6F, -1e6F, 1e-20F});
    std::vector<float> out(x.size());
    kernels.gelu(x.data(), out.data(), x.size());
    for (size_t i = 0; i < x.size(); i++) {
      const double value = x[i];
      const double expected =
          0.5 * value * (1 + std::tanh(0.79788456080286535588 * value * (1 + 0.044715 * value * value)));
      ExpectNear(out[i], expected, 1e-6 * std::max(1.0, std::abs(expected)), "GELU of " + std::to_string(value));
    }
  });
}

}  // namespace
}  // namespace aana::test

int main() {
  aana::test::TestPacking();
  for (const auto& set : aana::compute::KernelSets()) aana::test::TestKernels(set);
  return aana::test::ExitStatus();
}
