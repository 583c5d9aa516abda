#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/llama/sampling/candidates.h"
#include "core/llama/sampling/params.h"

namespace aana::llama {

struct TokenLogprob {
  TokenId token = 0;
  float logprob = 0.0F;  // natural logarithm
};

struct Logprobs {
  TokenLogprob chosen;
  std::vector<TokenLogprob> top;  // the likeliest first
};

// Log-probabilities as the model gave them, in OpenAI's meaning: log-softmax of the raw logits, before bias, penalties,
// temperature and truncation. `candidates` is memory for the computation.
Logprobs FindLogprobs(std::span<const float> raw_logits, TokenId chosen, size_t n_top, Candidates& candidates);

// Returns the place of a token among all tokens by their logits; 1: no token is likelier.
int32_t RankOf(std::span<const float> logits, TokenId token);

}  // namespace aana::llama
