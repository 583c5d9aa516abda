#pragma once

#include <llama.h>

#include <cstddef>
#include <span>
#include <vector>

#include "core/llama/event.h"
#include "core/llama/model/model.h"
#include "core/llama/sampling/sampler.h"

namespace aana::llama {

// Log-probabilities of the tokens of a prompt, each given the tokens before it. They are told in pieces while the
// prompt is read, so the engine never holds more than those of a step.
class PromptScores {
 public:
  // Tells the `n_top` likeliest tokens with each token.
  explicit PromptScores(size_t n_top) : n_top_(n_top) {}

  // Tokens of the prompt whose keys and values need not be computed, because the tokens after them were told.
  size_t MostReused() const { return n_told_ > 0 ? n_told_ - 1 : 0; }
  // Whether the logits of the token at this position give the score of a token that was not told.
  bool Wants(size_t position, size_t n_prompt) const { return position + 1 < n_prompt && position >= MostReused(); }

  // The token at this position was computed, with these logits if they are wanted. `prompt` is the whole prompt. Throws
  // SamplingError.
  void Add(size_t position, std::span<const llama_token> prompt, std::span<const float> logits, SamplingMemory& memory,
           const Model& model);
  // Returns the tokens since the last time.
  std::vector<PromptToken> Take();

 private:
  size_t n_top_;
  size_t n_told_ = 0;
  std::vector<PromptToken> untold_;
};

}  // namespace aana::llama
