#include "core/llama/sampling/stages/mirostat.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/llama/sampling/weights.h"

namespace aana::llama {
namespace {

// Candidates from which version 1 estimates the exponent of the distribution.
constexpr size_t kEstimated = 100;

}  // namespace

void Mirostat::Select(std::span<const float> logits, Largest largest, float temperature, Candidates& candidates) const {
  if (params_.version == 1) {
    SelectTop(logits, kEstimated, candidates);
    const size_t n_kept = CountToKeep(candidates, temperature, logits.size());
    if (n_kept > candidates.items.size()) SelectTop(logits, n_kept, candidates);
    candidates.items.resize(std::min(n_kept, candidates.items.size()));
  } else {
    // -log2(p) <= mu. The likeliest stays in any case.
    const double least =
        std::log(SumOfWeights(logits, largest, temperature)) - static_cast<double>(mu_) * std::numbers::ln2;
    candidates.items.clear();
    for (size_t i = 0; i < logits.size(); i++) {
      if (logits[i] == largest.logit || (logits[i] - largest.logit) / temperature >= least) {
        candidates.items.push_back({.token = static_cast<TokenId>(i), .logit = logits[i]});
      }
    }
    candidates.is_sorted = false;
    candidates.Sort();
  }
  Softmax(candidates, temperature);
}

void Mirostat::Learn(float p) {
  const float surprise = -std::log2(p);
  mu_ -= params_.eta * (surprise - params_.tau);
}

size_t Mirostat::CountToKeep(const Candidates& candidates, float temperature, size_t n_vocab) const {
  const auto& items = candidates.items;
  float sum_tb = 0.0F;
  float sum_tt = 0.0F;
  for (size_t i = 0; i + 1 < std::min(kEstimated, items.size()); i++) {
    const float t = std::log(static_cast<float>(i + 2) / static_cast<float>(i + 1));
    const float b = (items[i].logit - items[i + 1].logit) / temperature;
    sum_tb += t * b;
    sum_tt += t * t;
  }
  const float s = sum_tb / sum_tt;
  const float epsilon = s - 1;
  const float k = std::pow(epsilon * std::exp2(mu_) / (1 - std::pow(static_cast<float>(n_vocab), -epsilon)), 1 / s);
  // NaN where the probabilities do not fall at all: then as many as there are.
  if (!(k < static_cast<float>(n_vocab))) return n_vocab;
  return std::max<size_t>(static_cast<size_t>(k), 1);
}

}  // namespace aana::llama
