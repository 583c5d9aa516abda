#pragma once

#include <optional>
#include <vector>

#include "core/whisper/search/token_segments.h"
#include "core/whisper/words/words.h"

namespace aana {

// The text of a part of a window, with its words. Times are in seconds of the part.
struct WordedText {
  std::vector<TokenSegment>& segments;
  std::vector<std::vector<TimedWord>>& words;  // of each segment
  double duration;                             // of the part
  std::optional<double> speech_end;  // of the last word before the part; below 0. None: silence is before the part
};

// Leaves out text that is probably invented and has `silence` seconds without speech, or other invented text, on both
// sides: its words are very short, very long or improbable. Text after it is left out, too, because the audio goes on
// at the returned time. Returns nothing if everything stands. The rules and bounds are those of faster-whisper's
// `hallucination_silence_threshold`; the ends of a window count as silence.
std::optional<double> LeaveOutHallucinations(WordedText text, double silence);

}  // namespace aana
