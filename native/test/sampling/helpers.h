#pragma once

#include <limits>
#include <string>
#include <vector>

#include "core/llama/sampling/candidates.h"
#include "core/llama/sampling/params.h"
#include "core/llama/sampling/token_rules.h"

namespace aana::test {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::vector<float> LogitsOf(const std::vector<double>& probabilities);
llama::Candidates AllOf(const std::vector<double>& probabilities);

std::string Text(const std::vector<llama::TokenId>& tokens);
void ExpectTokens(const llama::Candidates& candidates, const std::vector<llama::TokenId>& expected);

// The fault and the message with which a sampler fails; `none` when it does not.
std::string FailureOf(std::vector<float> logits, llama::SamplingParams params, llama::TokenRules rules);
// The token after `prompt` at temperature 0.
llama::TokenId Greedy(std::vector<float> logits, llama::SamplingParams params,
                      const std::vector<llama::TokenId>& prompt = {});

}  // namespace aana::test
