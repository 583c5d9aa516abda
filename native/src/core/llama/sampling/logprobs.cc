#include "core/llama/sampling/logprobs.h"

#include <cmath>

#include "core/llama/sampling/weights.h"

namespace aana::llama {

Logprobs FindLogprobs(std::span<const float> raw_logits, TokenId chosen, size_t n_top, Candidates& candidates) {
  const auto largest = FindLargest(raw_logits);
  const double log_sum = std::log(SumOfWeights(raw_logits, largest));
  const auto logprob = [&](float logit) {
    return static_cast<float>(static_cast<double>(logit - largest.logit) - log_sum);
  };
  Logprobs logprobs{{chosen, logprob(raw_logits[static_cast<size_t>(chosen)])}, {}};
  if (n_top == 0) return logprobs;
  SelectTop(raw_logits, n_top, candidates);
  for (const auto& item : candidates.items) logprobs.top.push_back({item.token, logprob(item.logit)});
  return logprobs;
}

int32_t RankOf(std::span<const float> logits, TokenId token) {
  const float own = logits[static_cast<size_t>(token)];
  int32_t n_above = 0;
  for (const float logit : logits) n_above += logit > own ? 1 : 0;
  return n_above + 1;
}

}  // namespace aana::llama
