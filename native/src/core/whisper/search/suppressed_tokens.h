#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/whisper/search/vocabulary.h"

namespace aana {

// Returns the tokens of signs that are not spoken, such as brackets and notes: the list of OpenAI's tokenizer.py.
std::vector<int32_t> NonSpeechTokens(const Vocabulary& vocabulary);

// Returns the token with exactly this text, or -1.
int32_t TokenOf(const Vocabulary& vocabulary, std::string_view text);

}  // namespace aana
