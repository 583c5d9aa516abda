#include "core/llama/loop/step_cost.h"

#include <algorithm>

namespace aana::llama {
namespace {

constexpr double kDecay = 0.99;
constexpr double kMostTokens = 64;
// Of the latest estimate in the mean.
constexpr double kPartOfMean = 0.005;
// Steps that are almost alike do not tell a pass from a token.
constexpr double kLeastDeterminant = 0.01;

}  // namespace

void StepCost::Note(int32_t n_passes, int32_t n_tokens, double seconds) {
  const auto passes = static_cast<double>(n_passes);
  const auto tokens = static_cast<double>(n_tokens);
  const auto add = [](double& sum, double value) { sum = kDecay * sum + value; };
  add(passes_passes_, passes * passes);
  add(passes_tokens_, passes * tokens);
  add(tokens_tokens_, tokens * tokens);
  add(passes_seconds_, passes * seconds);
  add(tokens_seconds_, tokens * seconds);
  mean_tokens_per_pass_ += kPartOfMean * (TokensPerPass() - mean_tokens_per_pass_);
}

double StepCost::TokensPerPass() const {
  const double determinant = passes_passes_ * tokens_tokens_ - passes_tokens_ * passes_tokens_;
  if (determinant <= kLeastDeterminant * passes_passes_ * tokens_tokens_) return 0;
  const double pass = passes_seconds_ * tokens_tokens_ - tokens_seconds_ * passes_tokens_;
  const double token = tokens_seconds_ * passes_passes_ - passes_seconds_ * passes_tokens_;
  if (pass <= 0) return 0;
  return token > 0 ? std::min(pass / token, kMostTokens) : kMostTokens;
}

}  // namespace aana::llama
