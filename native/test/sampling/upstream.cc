#include "upstream.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>

#include "../check.h"

namespace aana::test {
namespace {

using namespace aana::llama;

constexpr double kTolerance = 1e-5;

template <class Items, class TokenOf>
Probabilities ProbabilitiesOf(const Items& items, TokenOf token_of) {
  double largest = -INFINITY;
  for (const auto& item : items) largest = std::max(largest, static_cast<double>(item.logit));
  double sum = 0.0;
  for (const auto& item : items) sum += std::exp(item.logit - largest);
  Probabilities probabilities;
  for (const auto& item : items) probabilities[token_of(item)] = std::exp(item.logit - largest) / sum;
  return probabilities;
}

}  // namespace

std::vector<llama_token_data> ToUpstream(std::span<const float> logits) {
  std::vector<llama_token_data> data;
  for (size_t i = 0; i < logits.size(); i++) data.push_back({static_cast<llama_token>(i), logits[i], 0.0F});
  return data;
}

Probabilities Apply(const std::vector<llama_sampler*>& samplers, std::span<const float> logits) {
  auto data = ToUpstream(logits);
  llama_token_data_array array{data.data(), data.size(), -1, false};
  for (auto* sampler : samplers) llama_sampler_apply(sampler, &array);
  return ProbabilitiesOf(std::span(array.data, array.size), [](const llama_token_data& item) { return item.id; });
}

Probabilities ProbabilitiesOf(const Candidates& candidates) {
  return ProbabilitiesOf(candidates.items, [](const Candidate& item) { return item.token; });
}

void ExpectSame(const Probabilities& ours, const Probabilities& theirs) {
  double sum_ours = 0.0;
  double sum_theirs = 0.0;
  for (const auto& [token, p] : theirs) {
    const auto found = ours.find(token);
    if (found == ours.end()) continue;
    sum_ours += found->second;
    sum_theirs += p;
  }
  const auto sizes = std::to_string(ours.size()) + " tokens, upstream " + std::to_string(theirs.size());
  const bool is_few = theirs.size() < 50;
  Expect(sum_ours > 0.999 && sum_theirs > 0.999 && (!is_few || std::abs(std::ssize(ours) - std::ssize(theirs)) <= 1),
         sizes);
  for (const auto& [token, p] : theirs) {
    if (const auto found = ours.find(token); found != ours.end()) {
      ExpectNear(found->second / sum_ours, p / sum_theirs, kTolerance, "p of token " + std::to_string(token));
    }
  }
}

Mirostats::Mirostats(const MirostatParams& params, int32_t n_vocabulary, float temperature)
    : ours_(params),
      theirs_(params.version == 1 ? llama_sampler_init_mirostat(n_vocabulary, 10, params.tau, params.eta, 100)
                                  : llama_sampler_init_mirostat_v2(10, params.tau, params.eta)),
      temperature_(llama_sampler_init_temp(temperature)),
      value_(temperature) {}

void Mirostats::Select(std::span<const float> logits) {
  auto data = ToUpstream(logits);
  llama_token_data_array array{data.data(), data.size(), -1, false};
  llama_sampler_apply(temperature_.get(), &array);
  llama_sampler_apply(theirs_.get(), &array);
  Probabilities theirs;
  for (const auto& item : std::span(array.data, array.size)) theirs[item.id] = item.p;
  Candidates candidates;
  ours_.Select(logits, FindLargest(logits), value_, candidates);
  Probabilities ours;
  for (const auto& item : candidates.items) ours[item.token] = item.p;
  ExpectSame(ours, theirs);
  ours_.Learn(array.data[array.selected].p);
}

}  // namespace aana::test
