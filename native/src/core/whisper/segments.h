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
  bool aligned;  // word times come from the alignment heads
  bool whole_window;  // segments have no times and get those of the window
  const char* language;
};

// Returns the segments of `state` from index `from` on, in media time. Leaves out tags such as [BLANK_AUDIO] and empty
// segments.
std::vector<WhisperSegment> ReadSegments(whisper_context* context, whisper_state* state, int from, const SegmentReading& how);

}  // namespace aana
