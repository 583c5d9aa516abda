// The spectrogram, beside its definition.
#include "core/whisper/audio/spectrogram.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <string>
#include <vector>

#include "../check.h"
#include "../events/random.h"
#include "tests.h"

namespace aana::test {
namespace {

constexpr size_t kBins = Spectrogram::kBins;

// Triangles over some bins, one over all of them, one over the last bin, and one over none.
std::vector<float> Filters() {
  constexpr size_t kBands = 12;
  std::vector<float> filters(kBands * kBins);
  const auto set = [&](size_t band, size_t bin, float weight) { filters[band * kBins + bin] = weight; };
  for (size_t band = 0; band + 3 < kBands; band++) {
    const size_t middle = 3 + 20 * band;
    for (size_t i = 0; i < 5; i++) set(band, middle + i - 2, 0.01F * static_cast<float>(i < 3 ? i + 1 : 5 - i));
  }
  for (size_t bin = 0; bin < kBins; bin++) set(kBands - 3, bin, 0.001F);
  set(kBands - 2, kBins - 1, 0.5F);
  return filters;
}

// The same in numbers of 64 bits, by the definition of each step.
std::vector<double> Defined(const std::vector<float>& filters, const std::vector<float>& samples) {
  std::array<double, 400> cosines{};
  std::array<double, 400> sines{};
  for (size_t i = 0; i < cosines.size(); i++) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(i) / 400;
    cosines[i] = std::cos(angle);
    sines[i] = std::sin(angle);
  }
  const auto n = static_cast<std::ptrdiff_t>(samples.size());
  const size_t n_frames = samples.size() / 160 + 3000;
  const size_t n_bands = filters.size() / kBins;
  const auto sample = [&](std::ptrdiff_t at) -> double {
    at = std::abs(at);
    return at < n ? static_cast<double>(samples[static_cast<size_t>(at)]) : 0;
  };
  std::vector<double> bands(n_bands * n_frames, 1e-10);
  for (size_t frame = 0; frame < n_frames; frame++) {
    std::array<double, 400> windowed{};
    for (size_t i = 0; i < windowed.size(); i++) {
      const auto at = static_cast<std::ptrdiff_t>(frame * 160 + i) - 200;
      windowed[i] = sample(at) * 0.5 * (1 - cosines[i]);
    }
    if (std::ranges::all_of(windowed, [](double value) { return value == 0; })) continue;
    std::array<double, kBins> powers{};
    for (size_t bin = 0; bin < kBins; bin++) {
      double real = 0;
      double imaginary = 0;
      for (size_t i = 0; i < windowed.size(); i++) {
        real += windowed[i] * cosines[bin * i % 400];
        imaginary -= windowed[i] * sines[bin * i % 400];
      }
      powers[bin] = real * real + imaginary * imaginary;
    }
    for (size_t band = 0; band < n_bands; band++) {
      double sum = 0;
      for (size_t bin = 0; bin < kBins; bin++) sum += static_cast<double>(filters[band * kBins + bin]) * powers[bin];
      bands[band * n_frames + frame] = std::max(sum, 1e-10);
    }
  }
  const double loudest = std::log10(std::ranges::max(bands));
  for (double& value : bands) value = (std::max(std::log10(value), loudest - 8) + 4) / 4;
  return bands;
}

void ExpectAsDefined(const std::vector<float>& samples, const std::string& what) {
  const auto filters = Filters();
  const auto found = Spectrogram(filters).Of(samples);
  const auto expected = Defined(filters, samples);
  Expect(found.size() == expected.size(), what + ": " + std::to_string(found.size()) + " values");
  double most = 0;
  for (size_t i = 0; i < found.size(); i++) {
    const double difference = std::abs(static_cast<double>(found[i]) - expected[i]);
    most = difference <= most ? most : difference;  // also when it is no number
  }
  ExpectNear(most, 0, 1e-4, what + ": the largest difference");
}

}  // namespace

void TestSpectrogram() {
  Test("the spectrogram of audio of any length and loudness is that of the definition", [] {
    Random random(7);
    // Below, at and above the sizes of a mirrored beginning, a frame, the distance of frames and a group of them.
    for (const size_t n : {0, 1, 2, 159, 160, 161, 199, 200, 201, 202, 399, 400, 401, 1119, 1120, 1121, 4000}) {
      for (const float loudness : {1e-4F, 1.0F, 100.0F}) {
        std::vector<float> samples(n);
        for (auto& sample : samples) sample = loudness * static_cast<float>(random.UpTo(2000) - 1000) / 1000;
        ExpectAsDefined(samples, std::to_string(n) + " samples up to " + std::to_string(loudness));
      }
    }
  });

  Test("tones, a click, an offset and silence have the spectrogram of the definition", [] {
    constexpr size_t kSamples = 3000;
    const auto of = [&](const std::string& what, const auto& sample_at) {
      std::vector<float> samples(kSamples);
      for (size_t i = 0; i < kSamples; i++) samples[i] = static_cast<float>(sample_at(i));
      ExpectAsDefined(samples, what);
    };
    for (const double bin : {1.0, 24.0, 100.5, 199.0, 200.0}) {
      of("a tone in bin " + std::to_string(bin),
         [&](size_t i) { return std::cos(2 * std::numbers::pi * bin * static_cast<double>(i) / 400); });
    }
    // Loud and quiet frames are transformed together.
    of("a loud beginning", [](size_t i) { return (i < 700 ? 1.0 : 0.001) * std::sin(0.3 * static_cast<double>(i)); });
    of("a click", [](size_t i) { return i == 1234 ? 1 : 0; });
    of("an offset", [](size_t) { return 0.25; });
    of("silence", [](size_t) { return 0; });
  });
}

}  // namespace aana::test
