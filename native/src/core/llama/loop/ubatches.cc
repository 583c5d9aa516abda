#include "core/llama/loop/ubatches.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "core/llama/model/model.h"

namespace aana::llama {

UbatchRule UbatchRuleOf(const Model& model, const Context& context) {
  if (!context.has_streams()) return UbatchRule::kTokens;
  return context.is_unified() && llama_model_is_hybrid(model.get()) ? UbatchRule::kSequences : UbatchRule::kNeighbours;
}

int32_t CountUbatches(std::span<const SequenceTokens> batch, int32_t n_ubatch, UbatchRule rule) {
  if (rule == UbatchRule::kTokens) {
    int32_t n_tokens = 0;
    for (const auto& sequence : batch) n_tokens += sequence.n_tokens;
    return (n_tokens + n_ubatch - 1) / n_ubatch;
  }
  std::vector<SequenceTokens> left(batch.begin(), batch.end());
  int32_t n_ubatches = 0;
  while (true) {
    std::vector<SequenceTokens*> pass;
    int32_t n_least = n_ubatch;
    for (auto& sequence : left) {
      if (sequence.n_tokens == 0) continue;
      if (rule == UbatchRule::kNeighbours && !pass.empty() && sequence.sequence != pass.back()->sequence + 1) continue;
      pass.push_back(&sequence);
      n_least = std::min(n_least, sequence.n_tokens);
      if (static_cast<int32_t>(pass.size()) > n_ubatch) break;
    }
    if (pass.empty()) return n_ubatches;
    const int32_t n_each = std::max(1, std::min(n_least, n_ubatch / static_cast<int32_t>(pass.size())));
    for (auto* sequence : pass) sequence->n_tokens -= n_each;
    n_ubatches++;
  }
}

}  // namespace aana::llama
