#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/whisper/audio/audio_source.h"
#include "core/whisper/speech/speech_regions.h"
#include "core/whisper/speech/window_cutter.h"
#include "core/whisper/voice_detector.h"

namespace aana {

// The windows of an audio that a request asks for.
enum class Coverage {
  kSpeech,  // only the parts with voice activity
  kWhole,   // everything
};

// Analyses an audio part by part, so that windows are known long before its end. It holds a few seconds of audio. The
// windows of an audio that grows are those of the complete audio. Not thread-safe.
class SpeechScan {
 public:
  SpeechScan(const AudioSource& audio, Coverage coverage, const SpeechRules& rules = {});

  // Whether the audio has the samples that Advance needs next.
  bool CanAdvance() const;
  // Analyses the next 4 seconds. The detectors of successive calls may differ. Returns the windows that became known.
  // Throws a WhisperError.
  std::vector<SpeechWindow> Advance(VoiceDetector& detector);
  bool is_complete() const;
  // Number of samples analysed so far.
  int64_t position() const { return position_; }
  // No further window begins before this.
  int64_t next_begin() const { return unheard_.empty() ? cutter_->next_begin() : unheard_.front().begin(); }

 private:
  bool IsAtEnd() const;
  // Returns the windows that were analysed to their end and have a voice.
  std::vector<SpeechWindow> TakeHeard();
  // Returns the highest probability of speech of the window's frames.
  float VoiceIn(const SpeechWindow& window) const;

  const AudioSource& audio_;
  const Coverage coverage_;
  SpeechRegionFinder finder_;
  std::unique_ptr<WindowCutter> cutter_;
  VoiceDetector::State state_;
  int64_t position_ = 0;
  std::vector<SpeechWindow> unheard_;  // windows that end after `position_`, for Coverage::kWhole
  std::vector<float> voices_;          // the highest probability of each second so far, for Coverage::kWhole
};

}  // namespace aana
