#pragma once

#include <cstddef>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/llama/sampling/params.h"

namespace aana::llama {

// Sequences of tokens over which no repetition is counted, by their first token.
class DryBreakers {
 public:
  // Sequences that are there already, and empty ones, are left out.
  void Add(std::span<const TokenId> sequence);

  // Whether the token is a breaker by itself.
  bool IsBreaker(TokenId token) const;
  // Tokens after the last breaker of `tokens`; all when there is none.
  size_t CountAfterLast(std::span<const TokenId> tokens) const;

 private:
  std::unordered_map<TokenId, std::vector<std::vector<TokenId>>> tails_by_head_;
};

// Lowers the logits of tokens that would continue a repetition in `history`, the text so far.
//   lengths  memory for the computation
void PenalizeRepeats(std::span<float> logits, std::span<const TokenId> history, const DryParams& params,
                     const DryBreakers& breakers, std::vector<size_t>& lengths);

inline bool IsActive(const DryParams& params) { return params.multiplier != 0.0F && params.last_n != 0; }

}  // namespace aana::llama
