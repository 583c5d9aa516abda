#include "core/llama/sampling/weights.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace aana::llama {
namespace {

constexpr size_t kLanes = 16;
// Floats that are summed before their sum goes into a double.
constexpr size_t kBlock = 1024;

// exp(x) for x <= 0, without branches: 2^n * exp(r), where r is at most ln(2) / 2. 0 below -87, where exp leaves the
// normal floats. Coefficients: Moshier, Cephes Mathematical Library, expf.
inline float Exp(float x) {
  constexpr float kLeast = -87.0F;
  constexpr float kRound = 0x1.8p23F;  // adding it leaves the nearest whole number in the last bits
  const float in_range = x > kLeast ? x : kLeast;
  const float shifted = in_range * 1.44269504F + kRound;
  const float n = shifted - kRound;
  const float r = in_range - n * 0.693359375F + n * 2.12194440e-4F;
  float y = 1.9875691500e-4F;
  y = y * r + 1.3981999507e-3F;
  y = y * r + 8.3334519073e-3F;
  y = y * r + 4.1665795894e-2F;
  y = y * r + 1.6666665459e-1F;
  y = y * r + 5.0000001201e-1F;
  y = y * r * r + r + 1.0F;
  const int32_t exponent = std::bit_cast<int32_t>(shifted) - std::bit_cast<int32_t>(kRound) + 127;
  const float power = std::bit_cast<float>(exponent << 23);
  return x > kLeast ? y * power : 0.0F;
}

// Calls `take(index, weight)` for each logit.
template <class Take>
double ForEachWeight(std::span<const float> logits, float largest, float temperature, Take take) {
  double sum = 0.0;
  for (size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const size_t end = std::min(begin + kBlock, logits.size());
    std::array<float, kLanes> sums{};
    size_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      for (size_t lane = 0; lane < kLanes; lane++) {
        const float weight = Exp((logits[i + lane] - largest) / temperature);
        take(i + lane, weight);
        sums[lane] += weight;
      }
    }
    for (; i < end; i++) {
      const float weight = Exp((logits[i] - largest) / temperature);
      take(i, weight);
      sums[0] += weight;
    }
    for (const float part : sums) sum += part;
  }
  return sum;
}

}  // namespace

double SumOfWeights(std::span<const float> logits, Largest largest, float temperature) {
  return ForEachWeight(logits, largest.logit, temperature, [](size_t, float) {});
}

double WriteWeights(std::span<const float> logits, Largest largest, float temperature, std::span<float> weights) {
  return ForEachWeight(logits, largest.logit, temperature, [&](size_t i, float weight) { weights[i] = weight; });
}

}  // namespace aana::llama
