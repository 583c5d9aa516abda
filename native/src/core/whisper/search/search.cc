#include "core/whisper/search/search.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "core/llama/sampling/candidates.h"
#include "core/llama/sampling/weights.h"

namespace aana {

Search::Search(const Vocabulary& vocabulary, const LogitRules& rules, SearchOptions options, std::vector<int32_t> begun)
    : vocabulary_(vocabulary), rules_(rules), options_(options), begun_(std::move(begun)), random_(options.seed) {}

const std::vector<Continuation>& Search::Advance(std::span<float> logits) {
  const auto n_rows = static_cast<int>(running_.size());
  for (int row = 0; row < n_rows; row++) Filter(logits, row);
  n_tokens_++;
  if (options_.temperature > 0)
    AdvanceSamples(logits);
  else
    AdvanceBeams(logits);
  if (n_tokens_ >= options_.max_tokens && !next_.empty()) {
    for (auto& hypothesis : running_) ended_.push_back(std::move(hypothesis));
    running_.clear();
    next_.clear();
  }
  return next_;
}

void Search::Filter(std::span<float> logits, int row) const {
  std::vector<int32_t> text = begun_;
  for (const auto& token : running_[static_cast<size_t>(row)].tokens) text.push_back(token.id);
  rules_.Apply(text,
               logits.subspan(static_cast<size_t>(row) * static_cast<size_t>(size()), static_cast<size_t>(size())));
}

std::vector<Search::Candidate> Search::LikeliestOf(std::span<const float> logits, int row, size_t n) const {
  const auto own = logits.subspan(static_cast<size_t>(row) * static_cast<size_t>(size()), static_cast<size_t>(size()));
  llama::Candidates top;
  llama::SelectTop(own, n, top);
  if (top.items.empty()) return {};
  const float total = LogSumExp(own, top.items.front().logit);
  const double before = running_[static_cast<size_t>(row)].log_probability;
  std::vector<Candidate> likeliest;
  for (const auto& [token, logit, p, score] : top.items)
    likeliest.push_back({row, token, logit - total, before + static_cast<double>(logit - total)});
  return likeliest;
}

void Search::AdvanceBeams(std::span<float> logits) {
  const auto n_beams = static_cast<size_t>(std::max(1, options_.beam_size));
  std::vector<Candidate> candidates;
  for (int row = 0; row < static_cast<int>(running_.size()); row++) {
    // One more than the beams, because one of them may be the end.
    const auto likeliest = LikeliestOf(logits, row, n_beams == 1 ? 1 : n_beams + 1);
    candidates.insert(candidates.end(), likeliest.begin(), likeliest.end());
  }
  std::ranges::sort(candidates, [](const Candidate& a, const Candidate& b) {
    return std::tuple(-a.sum, a.row, a.token) < std::tuple(-b.sum, b.row, b.token);
  });
  const auto most = static_cast<size_t>(std::max(1.0F, std::round(static_cast<float>(n_beams) * options_.patience)));
  std::vector<Candidate> chosen;
  for (const auto& candidate : candidates) {
    if (chosen.size() == n_beams) break;
    if (candidate.token != vocabulary_.end) {
      chosen.push_back(candidate);
    } else if (ended_.size() < most) {
      auto hypothesis = running_[static_cast<size_t>(candidate.row)];
      hypothesis.log_probability = candidate.sum;
      hypothesis.has_ended = true;
      ended_.push_back(std::move(hypothesis));
    }
  }
  if (ended_.size() >= most) chosen.clear();
  Take(chosen);
}

Search::Candidate Search::SampleFrom(std::span<const float> logits, int row) {
  const auto own = logits.subspan(static_cast<size_t>(row) * static_cast<size_t>(size()), static_cast<size_t>(size()));
  const auto largest = llama::FindLargest(own);
  std::vector<float> weights(own.size());
  const double sum = llama::WriteWeights(own, largest, options_.temperature, weights);
  // The same number on every platform, which the distributions of the standard library do not promise.
  double left = static_cast<double>(random_()) / 4294967296.0 * sum;
  int32_t token = largest.token;
  for (size_t i = 0; i < weights.size(); i++) {
    if (weights[i] <= 0) continue;
    token = static_cast<int32_t>(i);
    left -= static_cast<double>(weights[i]);
    if (left < 0) break;
  }
  // The score is the one without a temperature, so that texts of different temperatures compare.
  const float log_probability = own[static_cast<size_t>(token)] - LogSumExp(own, largest.logit);
  return {row, token, log_probability,
          running_[static_cast<size_t>(row)].log_probability + static_cast<double>(log_probability)};
}

void Search::AdvanceSamples(std::span<float> logits) {
  // The first row stands for all texts, which begin alike.
  const int n_texts = n_tokens_ == 1 ? std::max(1, options_.best_of) : static_cast<int>(running_.size());
  std::vector<Candidate> chosen;
  for (int text = 0; text < n_texts; text++) {
    const int row = n_tokens_ == 1 ? 0 : text;
    const auto candidate = SampleFrom(logits, row);
    if (candidate.token != vocabulary_.end) {
      chosen.push_back(candidate);
      continue;
    }
    auto hypothesis = running_[static_cast<size_t>(row)];
    hypothesis.log_probability = candidate.sum;
    hypothesis.has_ended = true;
    ended_.push_back(std::move(hypothesis));
  }
  Take(chosen);
}

void Search::Take(const std::vector<Candidate>& chosen) {
  std::vector<Hypothesis> running;
  next_.clear();
  for (const auto& candidate : chosen) {
    auto hypothesis = running_[static_cast<size_t>(candidate.row)];
    hypothesis.tokens.push_back({candidate.token, candidate.log_probability});
    hypothesis.log_probability = candidate.sum;
    running.push_back(std::move(hypothesis));
    next_.push_back({candidate.row, candidate.token});
  }
  // Hypotheses that did not end stand for those that are missing, the likeliest first.
  if (chosen.empty() && options_.temperature <= 0 && ended_.empty()) ended_ = running_;
  running_ = std::move(running);
}

double Search::ScoreOf(const Hypothesis& hypothesis) const {
  const auto length = static_cast<double>(std::max<size_t>(1, hypothesis.tokens.size()));
  return hypothesis.log_probability / std::pow(length, static_cast<double>(options_.length_penalty));
}

Hypothesis Search::Best() const {
  const auto best = std::ranges::max_element(
      ended_, [&](const Hypothesis& a, const Hypothesis& b) { return ScoreOf(a) < ScoreOf(b); });
  return best == ended_.end() ? Hypothesis{} : *best;
}

}  // namespace aana
