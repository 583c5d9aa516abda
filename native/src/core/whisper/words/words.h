#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/whisper/search/token_segments.h"
#include "core/whisper/search/vocabulary.h"

namespace aana {

struct WordRules {
  // Whether each character is a word, as in languages that are written without spaces.
  bool by_character = false;
  // Punctuation that is joined to the next word, and to the previous one.
  std::string prepended = "\"'“¿([{-";
  std::string appended = "\"'.。,，!！?？:：”)]}、";
};

// A word with its times in seconds of the decoded audio.
struct TimedWord {
  std::string text;  // with its leading space
  double start;
  double end;
  double probability;  // the mean of its tokens
};

// Whether a language is written without spaces between words.
bool IsWrittenWithoutSpaces(std::string_view language);

// Returns the words of each segment. `starts` has the second at which each token of all segments begins, and the end of
// the last one. As in OpenAI's timing.py, words at the borders of sentences and after pauses are shortened, and
// punctuation is joined to its word. The segments get the times of their words. Times do not decrease.
std::vector<std::vector<TimedWord>> TimeWords(const Vocabulary& vocabulary, std::vector<TokenSegment>& segments,
                                              std::span<const double> starts, const WordRules& rules);

}  // namespace aana
