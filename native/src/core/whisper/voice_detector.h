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

// Finds speech with a Silero model. One thread at a time.
class VoiceDetector {
 public:
  // Throws WhisperError that names the file.
  explicit VoiceDetector(const std::string& model_path);

  // Regions of speech, ascending, apart. `is_cancelled` is asked about every 30 s of audio; the result is then incomplete.
  std::vector<SpeechRegion> Detect(std::span<const float> samples, const std::function<bool()>& is_cancelled);

 private:
  std::unique_ptr<whisper_vad_context, Deleter<whisper_vad_free>> context_;
};

// Regions where the probability of speech of successive frames rises over a threshold, until it stays below a lower one.
std::vector<SpeechRegion> RegionsOfSpeech(std::span<const float> probabilities, int64_t frame_samples, int64_t total_samples);

}  // namespace aana
