#pragma once

#include <span>
#include <vector>

#include "core/whisper/search/vocabulary.h"

namespace aana {

// Text between two times, in seconds of the decoded audio.
struct TokenSegment {
  double start;
  double end;
  std::vector<Token> tokens;  // without times; may be empty
};

struct SplitText {
  std::vector<TokenSegment> segments;
  // Where the audio goes on that the text does not cover; at least `duration` when it covers all.
  double next;
};

// Cuts the text of `duration` seconds of audio at pairs of times, as OpenAI's transcribe.py does. Text after the last
// pair is left out and `next` is the time of the pair, unless one more time ends it.
SplitText SplitByTimes(const Vocabulary& vocabulary, std::span<const Token> tokens, double duration);

}  // namespace aana
