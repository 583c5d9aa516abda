#pragma once

#include <string_view>
#include <vector>

#include "core/whisper/search/token_segments.h"
#include "core/whisper/words/words.h"
#include "core/whisper/speech_windows.h"
#include "core/whisper/types.h"

namespace aana {

// The text of a part of a window.
struct PartText {
  double begin;  // of the part, in seconds of the window
  std::vector<TokenSegment> segments;
  std::vector<std::vector<TimedWord>> words;  // of each segment; empty without times of words
  double no_speech_probability;
};

struct SegmentReading {
  const SpeechWindow& window;
  double duration;    // of the media, in seconds
  bool whole_window;  // segments have no times and get those of the window
  bool with_tokens;
};

// Returns the segments in media time. Leaves out tags such as [BLANK_AUDIO] and empty segments. The tokens of a segment
// are those of text, also of its tags.
std::vector<WhisperSegment> ReadSegments(const Vocabulary& vocabulary, const PartText& part, const SegmentReading& how);

}  // namespace aana
