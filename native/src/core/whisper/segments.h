#pragma once

#include <vector>

#include "core/whisper/speech_windows.h"
#include "core/whisper/types.h"

struct whisper_context;
struct whisper_state;

namespace aana {

struct SegmentReading {
  const SpeechWindow& window;
  double duration;  // of the media, in seconds
  bool with_words;
  bool aligned;  // words have times from the alignment heads
  bool whole_window;  // segments have no times of their own
  const char* language;
};

// Segments `from` to the last that `state` holds, in media time. Tags such as [BLANK_AUDIO] and empty segments are left out.
std::vector<WhisperSegment> ReadSegments(whisper_context* context, whisper_state* state, int from, const SegmentReading& how);

}  // namespace aana
