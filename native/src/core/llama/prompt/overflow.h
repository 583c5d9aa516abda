#pragma once

#include <llama.h>

#include <cstddef>
#include <span>

#include "core/llama/prompt/prompt.h"
#include "core/llama/prompt/prompt_tokenizer.h"
#include "core/llama/request.h"

namespace aana::llama {

// Returns the tokens of the longest dialog that is read as a whole although it does not fit: reading a longer one would
// hold up other requests.
size_t MostRead(int32_t n_context);

// Returns how many tokens a prompt may have whose middle is cut: the context without the room for an answer of
// `max_tokens`, which takes at most half of it.
size_t RoomForPrompt(int32_t n_context, int32_t max_tokens);

// Reads a prompt and cuts its middle when it has more than `n_most` tokens: of a dialog as Shorten does, of a text by
// tokens. Returns the whole prompt where that is not possible.
PromptTokenizer::Tokens ReadShortened(const PromptTokenizer& tokenizer, const Prompt& prompt, size_t n_most,
                                      int32_t n_context, Dropped& dropped);

// Returns how many tokens at the beginning of a prompt stay when the context shifts: of a dialog everything before the
// first message that is not of the system, of a text the first few. At most three quarters of the context.
size_t KeptTokens(const PromptTokenizer& tokenizer, const Prompt& prompt, std::span<const llama_token> tokens,
                  int32_t n_context);

}  // namespace aana::llama
