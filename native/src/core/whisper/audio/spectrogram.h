#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace aana {

// The spectrogram that Whisper's models hear: for each 10 ms, the logarithm of the power in some bands of a frame of
// 25 ms, at 16 kHz. The numbers are whisper.cpp's up to rounding. Any thread.
class Spectrogram {
 public:
  static constexpr size_t kFrameSamples = 400;
  static constexpr size_t kHopSamples = 160;
  // Frequencies of the power spectrum of a frame.
  static constexpr size_t kBins = kFrameSamples / 2 + 1;

  // `filters` has a row for each band: how much each of `kBins` counts.
  explicit Spectrogram(std::span<const float> filters);

  size_t n_bands() const { return bands_.size(); }
  // Frames of an audio of `n_samples`: those that begin in it, and 30 s of silence.
  static size_t FramesOf(size_t n_samples) { return n_samples / kHopSamples + kSilentFrames; }

  // Returns a row of FramesOf() values for each band. The loudest value of an audio is at most 2 above the quietest.
  // A frame is centred on its time: the audio is mirrored at its beginning, and silent after its end.
  std::vector<float> Of(std::span<const float> samples) const;

 private:
  static constexpr size_t kSilentFrames = 3000;

  // The bins that a band has, which are consecutive.
  struct Band {
    size_t first;
    std::vector<float> weights;
  };

  std::vector<Band> bands_;
  std::array<float, kFrameSamples> window_{};
};

}  // namespace aana
