#pragma once

#include <array>
#include <cstddef>

namespace aana {

// whisper.cpp halves the 400 samples of a frame until 25 are left, and transforms these 25 by the definition. This is
// the same sum in the same order, so the same numbers, without a division for each factor.
class ShortDft {
 public:
  static constexpr int kSize = 25;

  // `cosines` and `sines` are those of `n_angles` angles of a circle, a multiple of 25.
  ShortDft(const float* cosines, const float* sines, int n_angles) {
    for (int sample = 0; sample < kSize; sample++) {
      for (int wave = 0; wave < kSize; wave++) {
        const int angle = sample * wave * (n_angles / kSize) % n_angles;
        cosines_[static_cast<size_t>(sample)][static_cast<size_t>(wave)] = cosines[angle];
        sines_[static_cast<size_t>(sample)][static_cast<size_t>(wave)] = sines[angle];
      }
    }
  }

  // Writes the real and the imaginary part of each wave in turn: 50 values for 25 samples.
  void Transform(const float* samples, float* out) const {
    Row real{};
    Row imaginary{};
    for (size_t sample = 0; sample < kSize; sample++) {
      for (size_t wave = 0; wave < kPadded; wave++) real[wave] += samples[sample] * cosines_[sample][wave];
      for (size_t wave = 0; wave < kPadded; wave++) imaginary[wave] -= samples[sample] * sines_[sample][wave];
    }
    for (size_t wave = 0; wave < kSize; wave++) {
      out[2 * wave] = real[wave];
      out[2 * wave + 1] = imaginary[wave];
    }
  }

 private:
  static constexpr size_t kPadded = 28;  // so that compilers compute four at a time
  using Row = std::array<float, kPadded>;

  std::array<Row, kSize> cosines_{};
  std::array<Row, kSize> sines_{};
};

}  // namespace aana
