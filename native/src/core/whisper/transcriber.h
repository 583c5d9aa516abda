#pragma once

#include <atomic>
#include <functional>
#include <span>
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

// The language of a request, if no audio is needed to tell it: given, or the model's only one.
// Throws WhisperError for a name that whisper.cpp does not know.
bool KnownLanguage(whisper_context* context, const std::string& asked, Language& language);

struct TranscriptionJob {
  const SpeechWindow& window;
  std::span<const float> media;
  const WhisperParams& params;
  int threads;
  const std::atomic<bool>& cancelled;
  Pulse& pulse;
  // Empty until it was found; then the same for all windows of the request.
  Language& language;
  std::function<void(std::vector<WhisperSegment>)> on_segments;
  // Called all the time while it computes; may set `cancelled`.
  std::function<void()> on_node;
};

// Transcribes one window on the calling thread. Throws WhisperError; returns early when cancelled.
void TranscribeWindow(WhisperModel& model, const TranscriptionJob& job);

}  // namespace aana
