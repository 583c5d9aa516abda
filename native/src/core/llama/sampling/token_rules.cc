#include "core/llama/sampling/token_rules.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace aana::llama {

bool Forbid(std::span<float> logits, std::span<const TokenId> tokens) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  bool has_changed = false;
  for (const auto token : tokens) has_changed |= std::exchange(logits[static_cast<size_t>(token)], kNever) != kNever;
  return has_changed;
}

bool ForbidCompletions(std::span<float> logits, std::span<const TokenId> generated,
                       std::span<const std::vector<TokenId>> sequences) {
  bool has_changed = false;
  for (const auto& sequence : sequences) {
    const auto beginning = std::span(sequence).first(sequence.size() - 1);
    if (beginning.size() > generated.size() || !std::ranges::equal(beginning, generated.last(beginning.size())))
      continue;
    has_changed |= Forbid(logits, std::span(sequence).last(1));
  }
  return has_changed;
}

}  // namespace aana::llama
