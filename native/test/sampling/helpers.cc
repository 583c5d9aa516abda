#include "helpers.h"

#include <cmath>
#include <utility>

#include "../check.h"
#include "core/llama/sampling/sampler.h"
#include "core/llama/sampling/sampling_error.h"

namespace aana::test {

using namespace aana::llama;

std::vector<float> LogitsOf(const std::vector<double>& probabilities) {
  std::vector<float> logits;
  for (const double p : probabilities) logits.push_back(static_cast<float>(std::log(p)));
  return logits;
}

Candidates AllOf(const std::vector<double>& probabilities) {
  Candidates candidates;
  SelectAll(LogitsOf(probabilities), candidates);
  return candidates;
}

std::string Text(const std::vector<TokenId>& tokens) {
  std::string text;
  for (const auto token : tokens) text.append(text.empty() ? "" : " ").append(std::to_string(token));
  return text;
}

void ExpectTokens(const Candidates& candidates, const std::vector<TokenId>& expected) {
  std::vector<TokenId> tokens;
  for (const auto& item : candidates.items) tokens.push_back(item.token);
  Expect(tokens == expected, "tokens " + Text(tokens) + ", not " + Text(expected));
}

std::string FailureOf(std::vector<float> logits, SamplingParams params, TokenRules rules) {
  SamplingMemory memory;
  try {
    Sampler(std::move(params), std::move(rules), {}).Sample(logits, {}, memory);
  } catch (const SamplingError& error) {
    return (error.fault() == Fault::kCaller ? "caller: " : "deployment: ") + std::string(error.what());
  }
  return "none";
}

TokenId Greedy(std::vector<float> logits, SamplingParams params, const std::vector<TokenId>& prompt) {
  params.temperature = 0.0F;
  SamplingMemory memory;
  return Sampler(std::move(params), {}, prompt).Sample(logits, prompt, memory);
}

}  // namespace aana::test
