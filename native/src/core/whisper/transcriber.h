#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "core/pulse.h"
#include "core/whisper/speech_windows.h"
#include "core/whisper/types.h"
#include "core/whisper/whisper_model.h"

namespace aana {

struct Language {
  std::string code;
  double probability;
};

// Sets `language` and returns true if it is known without audio: because the request names it or the model has only
// one. Throws WhisperError for a name that whisper.cpp does not know.
bool KnownLanguage(whisper_context* context, const std::string& asked, Language& language);

struct TranscriptionJob {
  const SpeechWindow& window;
  const AudioSource& media;
  const WhisperParams& params;
  int threads;
  const std::atomic<bool>& cancelled;
  Pulse& pulse;
  // Empty until the language is detected, then the same for all windows of the request.
  Language& language;
  std::function<void(std::vector<WhisperSegment>)> on_segments;
  // Called continuously during the computation. May set `cancelled`.
  std::function<void()> on_node;
};

// Transcribes one window on the calling thread. Throws WhisperError. Returns early if it is cancelled.
void TranscribeWindow(WhisperModel& model, const TranscriptionJob& job);

}  // namespace aana
