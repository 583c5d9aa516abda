#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/whisper/types.h"

namespace aana {

// Mono audio at 16 kHz that is read in ranges, so that memory does not depend on its length. Several threads may read
// at the same time.
class AudioSource {
 public:
  virtual ~AudioSource() = default;

  // Number of samples that can be read. Any thread.
  virtual int64_t size() const = 0;

  // Whether further samples may follow.
  virtual bool is_growing() const { return false; }

  // Number of samples at the end, as far as it is known. At least size(). Any thread.
  virtual int64_t expected_size() const { return size(); }

  // Looks for further samples of an audio that grows. Only here, size() and is_growing() change. One thread at a time.
  // Throws an AudioError, also if the audio cannot become complete.
  virtual void Refresh() {}

  // Reads the samples from `begin` on. The range must lie inside the audio. All values are usable (see Usable). Throws
  // an AudioError.
  virtual void Read(int64_t begin, std::span<float> samples) const = 0;
};

// Opens the audio of a request. A thread of the engine calls it, because file systems may be slow. Throws an
// AudioError.
using OpenAudio = std::function<std::shared_ptr<AudioSource>()>;

// Audio that could not be read.
class AudioError : public WhisperError {
 public:
  using WhisperError::WhisperError;
};

// Returns a sample with which the model can compute. One infinite or NaN value would invalidate the whole spectrogram,
// and so would the square of a huge one. Loud audio is up to 1; decoders of lossy formats exceed this a little.
inline float Usable(float sample) {
  constexpr float kLoudest = 100;
  return std::isfinite(sample) ? std::clamp(sample, -kLoudest, kLoudest) : 0;
}

class AudioInMemory : public AudioSource {
 public:
  explicit AudioInMemory(std::vector<float> samples) : samples_(std::move(samples)) {
    for (auto& sample : samples_) sample = Usable(sample);
  }

  int64_t size() const override { return static_cast<int64_t>(samples_.size()); }
  void Read(int64_t begin, std::span<float> samples) const override {
    std::copy_n(samples_.begin() + begin, samples.size(), samples.begin());
  }

 private:
  std::vector<float> samples_;
};

}  // namespace aana
