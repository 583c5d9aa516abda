#pragma once

#include <cmath>
#include <cstdint>
#include <random>

namespace aana::llama {

// Numbers of one request, the same for the same seed. The generator is MT19937, whose numbers the C++ standard fixes;
// each result is made of two of them, as the GNU library's uniform distribution does it, so llama.cpp's samplers draw
// the same numbers there.
class Random {
 public:
  explicit Random(uint32_t seed) : generator_(seed) {}

  // At least 0, below 1.
  double Next() {
    const auto low = static_cast<double>(generator_());
    const auto high = static_cast<double>(generator_());
    const double number = (low + high * 0x1p32) * 0x1p-64;
    return number < 1.0 ? number : std::nextafter(1.0, 0.0);
  }

 private:
  std::mt19937 generator_;
};

}  // namespace aana::llama
