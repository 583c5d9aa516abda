#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/whisper/search/vocabulary.h"

namespace aana {

struct PromptParts {
  int32_t language = -1;  // index of the language; not used by models that know only English
  bool translate = false;
  bool without_timestamps = false;
  std::vector<int32_t> previous = {};  // text before the window
  std::vector<int32_t> hotwords = {};
  std::vector<int32_t> prefix = {};  // text that the window begins with
};

// The tokens before a text.
struct Prompt {
  std::vector<int32_t> tokens;
  size_t start = 0;            // the place of the token that starts the text
  std::vector<int32_t> begun;  // the end of `tokens` that counts to the text
};

// Returns the prompt, as faster-whisper makes it. What came before the window takes at most half of the model's
// `n_positions`, and its end is kept. Hotwords come first; they are left out if there is a prefix.
Prompt MakePrompt(const Vocabulary& vocabulary, const PromptParts& parts, int n_positions);

// Returns the control tokens that start a text.
std::vector<int32_t> StartTokens(const Vocabulary& vocabulary, int32_t language, bool translate);

}  // namespace aana
