#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/deleter.h"
#include "core/whisper/types.h"

struct whisper_vad_context;
extern "C" void whisper_vad_free(whisper_vad_context* context);

namespace aana {

// Detects speech with a Silero model. It hears quiet audio louder than it is, because the model takes quiet speech for
// silence: the loudest sound of the last minutes is raised to the level of speech. Not thread-safe.
class VoiceDetector {
 public:
  static constexpr int64_t kFrameSamples = 512;

  // What the model remembers of the audio so far, about 1 KB, and the level. Empty at the beginning of an audio.
  using State = std::vector<float>;

  // Throws a WhisperError that names the file.
  explicit VoiceDetector(const std::string& model_path);

  // Number of values of a state that is not empty.
  size_t state_size() const;

  // Returns the probability of speech for each frame of the next samples, and updates `state`. The number of samples is
  // a multiple of the frame except at the end of the audio. The result is valid until the next call. Throws a
  // WhisperError.
  std::span<const float> Detect(std::span<const float> samples, State& state);

 private:
  std::unique_ptr<whisper_vad_context, Deleter<whisper_vad_free>> context_;
};

}  // namespace aana
