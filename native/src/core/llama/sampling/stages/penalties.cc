#include "core/llama/sampling/stages/penalties.h"

namespace aana::llama {

void TokenCounts::AddPrompt(std::span<const TokenId> prompt) {
  for (const auto token : prompt) {
    if (token >= 0) Find(token);  // not the tokens of images
  }
}

TokenCounts::Entry& TokenCounts::Find(TokenId token) {
  const auto [place, is_new] = places_.try_emplace(token, entries_.size());
  if (is_new) entries_.push_back({token, 0});
  return entries_[place->second];
}

void Penalize(std::span<float> logits, const TokenCounts& counts, const PenaltyParams& params) {
  for (const auto& [token, n_generated] : counts.entries()) {
    auto& logit = logits[static_cast<size_t>(token)];
    // Dividing a negative logit would make its token likelier.
    logit = logit > 0 ? logit / params.repetition : logit * params.repetition;
    logit -= static_cast<float>(n_generated) * params.frequency;
    if (n_generated > 0) logit -= params.presence;
  }
}

}  // namespace aana::llama
