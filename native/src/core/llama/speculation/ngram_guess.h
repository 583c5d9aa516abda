#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/llama/sampling/params.h"

namespace aana::llama {

// Guesses the next tokens of a text from its own earlier tokens, as "prompt lookup decoding" does (vLLM's method
// "ngram"): where the last tokens occurred before, what followed then may follow again. Pays where an answer repeats
// its prompt: code that is edited, quotes, extracted fields.
//
// Returns `n_wanted` tokens that may follow `history`, or none where the last tokens are new.
std::vector<TokenId> GuessByNgram(std::span<const TokenId> history, size_t n_wanted);

}  // namespace aana::llama
