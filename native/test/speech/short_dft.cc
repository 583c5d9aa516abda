// The transform of 25 samples, beside its definition.
#include <array>
#include <cmath>
#include <string>

#include "../check.h"
#include "core/whisper/audio/short_dft.h"
#include "tests.h"

namespace aana::test {

void TestShortDft() {
  Test("25 samples have the waves of the definition", [] {
    constexpr int kAngles = 400;
    constexpr double kPi = 3.14159265358979323846;
    std::array<float, kAngles> cosines{};
    std::array<float, kAngles> sines{};
    for (int angle = 0; angle < kAngles; angle++) {
      cosines[static_cast<size_t>(angle)] = static_cast<float>(std::cos(2 * kPi * angle / kAngles));
      sines[static_cast<size_t>(angle)] = static_cast<float>(std::sin(2 * kPi * angle / kAngles));
    }
    const ShortDft transform(cosines.data(), sines.data(), kAngles);
    std::array<float, ShortDft::kSize> samples{};
    for (size_t i = 0; i < samples.size(); i++)
      samples[i] = std::sin(1.7F * static_cast<float>(i)) + (i % 3 == 0 ? 0.5F : -0.25F);
    std::array<float, 2 * ShortDft::kSize> waves{};
    transform.Transform(samples.data(), waves.data());
    for (size_t wave = 0; wave < samples.size(); wave++) {
      double real = 0;
      double imaginary = 0;
      for (size_t i = 0; i < samples.size(); i++) {
        const double angle = 2 * kPi * static_cast<double>(wave * i) / ShortDft::kSize;
        real += static_cast<double>(samples[i]) * std::cos(angle);
        imaginary -= static_cast<double>(samples[i]) * std::sin(angle);
      }
      ExpectNear(static_cast<double>(waves[2 * wave]), real, 1e-5, "real part of wave " + std::to_string(wave));
      ExpectNear(static_cast<double>(waves[2 * wave + 1]), imaginary, 1e-5,
                 "imaginary part of wave " + std::to_string(wave));
    }
  });
}

}  // namespace aana::test
