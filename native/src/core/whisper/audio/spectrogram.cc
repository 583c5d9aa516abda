#include "core/whisper/audio/spectrogram.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace aana {
namespace {

constexpr size_t kSize = Spectrogram::kFrameSamples;
constexpr size_t kLanes = 4;

// Numbers of as many frames, which compilers compute together.
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));

// Numbers of twice as many frames: a transform of complex numbers is that of two real ones.
struct Complex {
  Lanes re;
  Lanes im;
};

constexpr size_t kFramesTogether = 2 * kLanes;

Complex operator+(const Complex& a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(const Complex& a, const Complex& b) { return {a.re - b.re, a.im - b.im}; }
Complex operator*(const Complex& a, float b) { return {a.re * b, a.im * b}; }
// a · −i
Complex MinusI(const Complex& a) { return {a.im, -a.re}; }

// e^(−2πi n / 400)
struct Turn {
  float cosine;
  float sine;
};

Complex operator*(const Complex& a, const Turn& turn) {
  return {a.re * turn.cosine - a.im * turn.sine, a.re * turn.sine + a.im * turn.cosine};
}

std::array<Turn, kSize> MakeTurns() {
  std::array<Turn, kSize> turns{};
  for (size_t n = 0; n < kSize; n++) {
    const double angle = -2 * std::numbers::pi * static_cast<double>(n) / kSize;
    turns[n] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
  }
  return turns;
}

const std::array<Turn, kSize> kTurns = MakeTurns();

std::array<Complex, 4> Transform(const std::array<Complex, 4>& a) {
  const auto even = a[0] + a[2];
  const auto even_difference = a[0] - a[2];
  const auto odd = a[1] + a[3];
  const auto odd_difference = MinusI(a[1] - a[3]);
  return {even + odd, even_difference + odd_difference, even - odd, even_difference - odd_difference};
}

std::array<Complex, 5> Transform(const std::array<Complex, 5>& a) {
  // The cosines and sines of 72 and 144 degrees.
  constexpr float kCosine1 = 0.30901699437494742F;
  constexpr float kCosine2 = -0.80901699437494742F;
  constexpr float kSine1 = 0.95105651629515357F;
  constexpr float kSine2 = 0.58778525229247313F;
  const auto outer = a[1] + a[4];
  const auto inner = a[2] + a[3];
  const auto outer_difference = a[1] - a[4];
  const auto inner_difference = a[2] - a[3];
  const auto real1 = a[0] + outer * kCosine1 + inner * kCosine2;
  const auto real2 = a[0] + outer * kCosine2 + inner * kCosine1;
  const auto imaginary1 = MinusI(outer_difference * kSine1 + inner_difference * kSine2);
  const auto imaginary2 = MinusI(outer_difference * kSine2 - inner_difference * kSine1);
  return {a[0] + outer + inner, real1 + imaginary1, real2 + imaginary2, real2 - imaginary2, real1 - imaginary1};
}

using Buffer = std::array<Complex, kSize>;

// A step of the transform, which divides each of `kStride` transforms into `kRadix` smaller ones (Stockham's algorithm,
// which leaves the frequencies in their order).
template <size_t kRadix, size_t kStride>
void Divide(const Buffer& from, Buffer& to) {
  constexpr size_t kSmaller = kSize / kStride / kRadix;
  for (size_t p = 0; p < kSmaller; p++) {
    for (size_t q = 0; q < kStride; q++) {
      std::array<Complex, kRadix> parts;
      for (size_t i = 0; i < kRadix; i++) parts[i] = from[q + kStride * (p + kSmaller * i)];
      parts = Transform(parts);
      to[q + kStride * kRadix * p] = parts[0];
      for (size_t i = 1; i < kRadix; i++)
        to[q + kStride * (kRadix * p + i)] = kSmaller == 1 ? parts[i] : parts[i] * kTurns[p * i * kStride];
    }
  }
}

// Transforms `values`.
void Transform(Buffer& values, Buffer& scratch) {
  Divide<4, 1>(values, scratch);
  Divide<4, 4>(scratch, values);
  Divide<5, 16>(values, scratch);
  Divide<5, 80>(scratch, values);
}

// Four times the power of each frequency, of the real and of the imaginary frames.
void ToPowers(const Buffer& values, std::array<Complex, Spectrogram::kBins>& powers) {
  for (size_t bin = 0; bin < powers.size(); bin++) {
    const auto& value = values[bin];
    const auto& mirrored = values[(kSize - bin) % kSize];
    const Complex real{value.re + mirrored.re, value.im - mirrored.im};
    const Complex imaginary{value.im + mirrored.im, mirrored.re - value.re};
    powers[bin] = {real.re * real.re + real.im * real.im, imaginary.re * imaginary.re + imaginary.im * imaginary.im};
  }
}

// The samples with what the frames hear before and after them, for groups of whole frames.
std::vector<float> Padded(std::span<const float> samples, size_t n_frames) {
  constexpr size_t kBefore = kSize / 2;
  std::vector<float> padded(std::max(kBefore + samples.size(), n_frames * Spectrogram::kHopSamples + kSize));
  std::ranges::copy(samples, padded.begin() + kBefore);
  // Without the first sample, and as far as there are others.
  for (size_t i = 1; i < std::min(kBefore + 1, samples.size()); i++) padded[kBefore - i] = samples[i];
  return padded;
}

}  // namespace

Spectrogram::Spectrogram(std::span<const float> filters) {
  for (; filters.size() >= kBins; filters = filters.subspan(kBins)) {
    const auto row = filters.first(kBins);
    const auto is_used = [](float weight) { return weight != 0; };
    const auto first = std::ranges::find_if(row, is_used);
    const auto last = std::find_if(row.rbegin(), row.rend() - (first - row.begin()), is_used).base();
    bands_.push_back({static_cast<size_t>(first - row.begin()), {first, std::max(first, last)}});
  }
  // Half of Hann's window, because powers are four times too large.
  for (size_t i = 0; i < kSize; i++)
    window_[i] = static_cast<float>(
        0.25 * (1 - std::cos(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(kSize))));
}

std::vector<float> Spectrogram::Of(std::span<const float> samples) const {
  const size_t n_frames = FramesOf(samples.size());
  // Frames behind these hear nothing.
  const size_t n_heard = std::min(n_frames, (samples.size() + kSize / 2) / kHopSamples + 1);
  const auto padded = Padded(samples, n_heard + kFramesTogether);
  std::vector<float> bands(bands_.size() * n_frames);
  Buffer values;
  Buffer scratch;
  std::array<Complex, kBins> powers;
  for (size_t frame = 0; frame < n_heard; frame += kFramesTogether) {
    const float* from = padded.data() + frame * kHopSamples;
    for (size_t i = 0; i < kSize; i++, from++) {
      for (size_t lane = 0; lane < kLanes; lane++) {
        values[i].re[lane] = from[lane * kHopSamples] * window_[i];
        values[i].im[lane] = from[(kLanes + lane) * kHopSamples] * window_[i];
      }
    }
    Transform(values, scratch);
    ToPowers(values, powers);
    // There is room for a whole group, because the last frames are silent.
    float* to = bands.data() + frame;
    for (const auto& band : bands_) {
      Complex sum{};
      for (size_t i = 0; i < band.weights.size(); i++) sum = sum + powers[band.first + i] * band.weights[i];
      for (size_t lane = 0; lane < kLanes; lane++) {
        to[lane] = sum.re[lane];
        to[kLanes + lane] = sum.im[lane];
      }
      to += n_frames;
    }
  }
  constexpr float kLeast = 1e-10F;
  // 80 dB below the loudest.
  const float floor = std::max(kLeast, 1e-8F * (bands.empty() ? 0 : std::ranges::max(bands)));
  const auto scaled = [](float power) { return std::log10(power) / 4 + 1; };
  const float quietest = scaled(floor);
  for (float& power : bands) power = power > floor ? scaled(power) : quietest;
  return bands;
}

}  // namespace aana
