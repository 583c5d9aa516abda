#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

#include "core/llama/sampling/params.h"

namespace aana::llama {

// How often the tokens of a request were used, counted as they come.
class TokenCounts {
 public:
  struct Entry {
    TokenId token;
    int32_t n_generated;  // 0: only in the prompt
  };

  void AddPrompt(std::span<const TokenId> prompt);
  void AddGenerated(TokenId token) { Find(token).n_generated++; }
  // Each used token once.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  Entry& Find(TokenId token);

  std::vector<Entry> entries_;
  std::unordered_map<TokenId, size_t> places_;  // in entries_
};

// Changes the logits of used tokens: repetition first, then frequency, then presence.
void Penalize(std::span<float> logits, const TokenCounts& counts, const PenaltyParams& params);

inline bool IsActive(const PenaltyParams& params) {
  return params.repetition != 1.0F || params.presence != 0.0F || params.frequency != 0.0F;
}

}  // namespace aana::llama
