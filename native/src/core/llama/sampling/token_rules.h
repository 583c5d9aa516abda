#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "core/llama/grammar/matcher.h"
#include "core/llama/sampling/stages/dry.h"
#include "core/llama/sampling/params.h"

namespace aana::llama {

// What a request's sampling parameters mean in the tokens of its model.
struct TokenRules {
  std::vector<TokenId> never;                       // never chosen
  std::vector<TokenId> ends;                        // not chosen before min_tokens
  std::vector<std::vector<TokenId>> bad_sequences;  // never completed
  std::shared_ptr<const DryBreakers> dry_breakers;  // null without DRY
  std::optional<GrammarMatcher> grammar = std::nullopt;
};

// Both set logits to minus infinity, and return whether one was not minus infinity before.
bool Forbid(std::span<float> logits, std::span<const TokenId> tokens);
// The tokens that would complete one of the sequences, none of which is empty. `generated` is the completion so far.
bool ForbidCompletions(std::span<float> logits, std::span<const TokenId> generated,
                       std::span<const std::vector<TokenId>> sequences);

}  // namespace aana::llama
