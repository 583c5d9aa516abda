#include "core/llama/sampling/sampler.h"

#include <cmath>
#include <string>
#include <utility>

#include "core/llama/sampling/sampling_error.h"
#include "core/llama/sampling/stages/truncation.h"
#include "core/llama/sampling/weights.h"

namespace aana::llama {
namespace {

// The first place where the running sum of the weights reaches `target`.
template <class Weights, class WeightOf>
size_t FindInSum(const Weights& items, double target, WeightOf weight_of) {
  double sum = 0.0;
  size_t last = 0;
  for (size_t i = 0; i < items.size(); i++) {
    const double weight = weight_of(items[i]);
    if (weight == 0.0) continue;
    sum += weight;
    last = i;
    if (sum >= target) break;
  }
  return last;
}

}  // namespace

Sampler::Sampler(SamplingParams params, TokenRules rules, std::span<const TokenId> prompt)
    : params_(std::move(params)), rules_(std::move(rules)), n_prompt_(prompt.size()), random_(params_.seed) {
  if (params_.penalties.repetition != 1.0F) counts_.AddPrompt(prompt);
  if (params_.mirostat.version != 0) mirostat_.emplace(params_.mirostat);
}

TokenId Sampler::Sample(std::span<float> logits, std::span<const TokenId> history, SamplingMemory& memory) {
  const bool has_forbidden = Adjust(logits, history, memory);
  const auto token =
      rules_.grammar ? ChooseInGrammar(logits, has_forbidden, memory) : Choose(logits, has_forbidden, memory);
  if (IsActive(params_.penalties)) counts_.AddGenerated(token);
  n_sampled_++;
  return token;
}

TokenId Sampler::Choose(std::span<const float> logits, bool has_forbidden, SamplingMemory& memory) {
  const auto largest = FindLargest(logits);
  if (std::isinf(largest.logit)) {
    const std::string rules =
        rules_.grammar ? "the grammar, bad_words, ignore_eos and min_tokens" : "bad_words, ignore_eos and min_tokens";
    if (has_forbidden) throw SamplingError(Fault::kCaller, rules + " leave no token to choose");
    throw SamplingError(Fault::kDeployment, "the model computed no token that can follow");
  }
  return params_.temperature > 0.0F ? Draw(logits, largest, memory) : largest.token;
}

// The token has the distribution of a draw over the tokens that the grammar allows. That is the draw after Mask. Where
// no stage truncates, the same comes out cheaper: a draw over all tokens that is allowed has that distribution already,
// and so has the second draw, after Mask, which follows if it is not. A truncation would differ, because forbidden
// tokens take places and probability in it, so Mask comes first there. The likeliest token, at temperature 0, is the
// likeliest after Mask if it is allowed.
TokenId Sampler::ChooseInGrammar(std::span<float> logits, bool has_forbidden, SamplingMemory& memory) {
  auto& grammar = *rules_.grammar;
  const bool is_checked_after = params_.temperature <= 0.0F || DrawsFromAll(logits.size()) || grammar.IsWaiting();
  if (!is_checked_after) grammar.Mask(logits);
  auto token = Choose(logits, has_forbidden || !is_checked_after, memory);
  if (is_checked_after && !grammar.Allows(token)) {
    grammar.Mask(logits);
    token = Choose(logits, true, memory);
  }
  grammar.Accept(token);
  return token;
}

bool Sampler::Adjust(std::span<float> logits, std::span<const TokenId> history, SamplingMemory& memory) {
  const auto generated = history.subspan(n_prompt_);
  for (const auto& [token, bias] : params_.logit_bias) logits[static_cast<size_t>(token)] += bias;
  if (IsActive(params_.penalties)) Penalize(logits, counts_, params_.penalties);
  if (rules_.dry_breakers) PenalizeRepeats(logits, history, params_.dry, *rules_.dry_breakers, memory.lengths);
  bool has_forbidden = Forbid(logits, rules_.never);
  if (n_sampled_ < params_.min_tokens) has_forbidden |= Forbid(logits, rules_.ends);
  has_forbidden |= ForbidCompletions(logits, generated, rules_.bad_sequences);
  return has_forbidden;
}

bool Sampler::DrawsFromAll(size_t n_vocab) const {
  return !mirostat_ && !HasTopK(n_vocab) && params_.typical_p >= 1.0F && params_.top_p >= 1.0F &&
         params_.min_p <= 0.0F && params_.xtc.probability <= 0.0F;
}

TokenId Sampler::Draw(std::span<const float> logits, Largest largest, SamplingMemory& memory) {
  if (DrawsFromAll(logits.size())) return DrawFromAll(logits, largest, memory.weights);
  SelectCandidates(logits, largest, memory.candidates);
  const auto& items = memory.candidates.items;
  double sum = 0.0;
  for (const auto& item : items) sum += item.p;
  const auto& drawn = items[FindInSum(items, sum * random_.Next(), [](const Candidate& item) { return item.p; })];
  if (mirostat_) mirostat_->Learn(drawn.p);
  return drawn.token;
}

TokenId Sampler::DrawFromAll(std::span<const float> logits, Largest largest, std::vector<float>& weights) {
  weights.resize(logits.size());
  const double sum = WriteWeights(logits, largest, params_.temperature, weights);
  return static_cast<TokenId>(FindInSum(weights, sum * random_.Next(), [](float weight) { return weight; }));
}

void Sampler::SelectCandidates(std::span<const float> logits, Largest largest, Candidates& candidates) {
  if (mirostat_) return mirostat_->Select(logits, largest, params_.temperature, candidates);
  const bool is_typical = params_.typical_p < 1.0F;
  bool is_top_p = params_.top_p < 1.0F;
  bool is_min_p = params_.min_p > 0.0F;
  // The first stage takes its candidates from the vocabulary, the others from what is left.
  if (HasTopK(logits.size())) {
    SelectTop(logits, static_cast<size_t>(params_.top_k), candidates);
  } else if (is_typical) {
    SelectAll(logits, candidates);
  } else if (is_top_p) {
    SelectTopP(logits, largest, params_.top_p, candidates);
    is_top_p = false;
  } else if (is_min_p) {
    SelectMinP(logits, largest, params_.min_p, candidates);
    is_min_p = false;
  } else {
    SelectAll(logits, candidates);
  }
  if (is_typical) Typical(candidates, params_.typical_p);
  if (is_top_p) TopP(candidates, params_.top_p);
  if (is_min_p) MinP(candidates, params_.min_p);
  const bool may_exclude =
      params_.xtc.probability > 0.0F && params_.xtc.threshold <= 0.5F && candidates.items.size() > 1;
  if (may_exclude && random_.Next() < params_.xtc.probability) ExcludeTopChoices(candidates, params_.xtc.threshold);
  Softmax(candidates, params_.temperature);
}

}  // namespace aana::llama
