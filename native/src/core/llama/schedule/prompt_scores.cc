#include "core/llama/schedule/prompt_scores.h"

#include <utility>

#include "core/llama/sampling/logprobs.h"

namespace aana::llama {

void PromptScores::Add(size_t position, std::span<const llama_token> prompt, std::span<const float> logits,
                       SamplingMemory& memory, const Model& model) {
  if (n_told_ == 0) {
    untold_.push_back({{prompt[0], model.PieceOrControlText(prompt[0])}, std::nullopt});
    n_told_ = 1;
  }
  if (!Wants(position, prompt.size())) return;
  const auto token = prompt[position + 1];
  const auto found = FindLogprobs(logits, token, n_top_, memory.candidates);
  const auto scored = [&](const TokenLogprob& item) {
    return ScoredToken{item.token, model.PieceOrControlText(item.token), item.logprob};
  };
  TokenRank rank{.rank = RankOf(logits, token), .top = {}};
  for (const auto& item : found.top) rank.top.push_back(scored(item));
  untold_.push_back({scored(found.chosen), std::move(rank)});
  n_told_++;
}

std::vector<PromptToken> PromptScores::Take() { return std::exchange(untold_, {}); }

}  // namespace aana::llama
