#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/deleter.h"
#include "core/whisper/types.h"

struct whisper_vad_context;
extern "C" void whisper_vad_free(whisper_vad_context* context);

namespace aana {

// Detects speech with a Silero model. Not thread-safe.
class VoiceDetector {
 public:
  // Throws a WhisperError that names the file.
  explicit VoiceDetector(const std::string& model_path);

  // Returns the regions of speech, ascending and apart. Calls `is_cancelled` about every 30 s of audio; after a
  // cancellation the result is incomplete.
  std::vector<SpeechRegion> Detect(std::span<const float> samples, const std::function<bool()>& is_cancelled);

 private:
  std::unique_ptr<whisper_vad_context, Deleter<whisper_vad_free>> context_;
};

// Returns the regions that begin where the probability of speech of successive frames rises above a threshold, and end
// where it stays below a lower threshold.
std::vector<SpeechRegion> RegionsOfSpeech(std::span<const float> probabilities, int64_t frame_samples, int64_t total_samples);

}  // namespace aana
