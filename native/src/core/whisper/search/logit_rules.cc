#include "core/whisper/search/logit_rules.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/llama/sampling/candidates.h"
#include "core/llama/sampling/weights.h"

namespace aana {
namespace {

void Forbid(std::span<float> logits, int32_t begin, int32_t end) {
  const auto size = static_cast<int32_t>(logits.size());
  begin = std::clamp(begin, 0, size);
  end = std::clamp(end, begin, size);
  std::fill(logits.begin() + begin, logits.begin() + end, kNever);
}

}  // namespace

void RequireNumbers(std::span<const float> logits) { llama::FindLargest(logits); }

float LogSumExp(std::span<const float> logits) { return LogSumExp(logits, llama::FindLargest(logits).logit); }

float LogSumExp(std::span<const float> logits, float largest) {
  if (largest == kNever) return kNever;
  return largest + static_cast<float>(std::log(llama::SumOfWeights(logits, {.token = 0, .logit = largest})));
}

LogitRules::LogitRules(const Vocabulary& vocabulary, LogitOptions options)
    : vocabulary_(vocabulary), options_(std::move(options)) {
  for (const auto token : options_.suppressed) {
    if (token < 0 || token >= vocabulary_.size())
      throw std::invalid_argument("there is no token " + std::to_string(token));
  }
}

void LogitRules::Apply(std::span<const int32_t> text, std::span<float> logits) const {
  PenaliseRepetitions(text, logits);
  for (const auto token : options_.suppressed) logits[static_cast<size_t>(token)] = kNever;
  if (text.empty() && options_.suppress_blank) {
    logits[static_cast<size_t>(vocabulary_.end)] = kNever;
    if (options_.space >= 0) logits[static_cast<size_t>(options_.space)] = kNever;
  }
  Forbid(logits, vocabulary_.end + 1, vocabulary_.first_time);
  if (options_.without_timestamps)
    Forbid(logits, vocabulary_.first_time, vocabulary_.size());
  else
    ApplyTimes(text, logits);
}

void LogitRules::ApplyTimes(std::span<const int32_t> text, std::span<float> logits) const {
  const auto first = vocabulary_.first_time;
  const auto size = vocabulary_.size();
  // Times stand in pairs: the end of a segment and the start of the next. Only the first and the last may stand alone.
  const bool last_is_time = !text.empty() && vocabulary_.IsTime(text.back());
  const bool is_pair = text.size() < 2 || vocabulary_.IsTime(text[text.size() - 2]);
  if (last_is_time) {
    if (is_pair)
      Forbid(logits, first, size);
    else
      Forbid(logits, 0, vocabulary_.end);
  }
  // They do not decrease, and a segment has a length.
  const auto last_time =
      std::find_if(text.rbegin(), text.rend(), [&](int32_t token) { return vocabulary_.IsTime(token); });
  if (last_time != text.rend()) Forbid(logits, first, last_is_time && !is_pair ? *last_time : *last_time + 1);
  if (text.empty()) {
    Forbid(logits, 0, first);
    Forbid(logits, first + options_.max_initial_time + 1, size);
  }
  // A time is chosen when all times together are likelier than any token of text.
  const auto times = logits.subspan(static_cast<size_t>(first));
  const auto others = logits.first(static_cast<size_t>(first));
  if (LogSumExp(times) > llama::FindLargest(others).logit) Forbid(logits, 0, first);
}

void LogitRules::PenaliseRepetitions(std::span<const int32_t> text, std::span<float> logits) const {
  if (options_.repetition_penalty != 1.0F) {
    std::vector<int32_t> tokens(text.begin(), text.end());
    std::ranges::sort(tokens);
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    for (const auto token : tokens) {
      auto& logit = logits[static_cast<size_t>(token)];
      logit = logit < 0 ? logit * options_.repetition_penalty : logit / options_.repetition_penalty;
    }
  }
  const auto n = static_cast<size_t>(std::max(0, options_.no_repeat_ngram_size));
  if (n == 0 || text.size() < n) return;
  const auto ending = text.last(n - 1);
  for (size_t begin = 0; begin + n <= text.size(); begin++) {
    if (std::ranges::equal(text.subspan(begin, n - 1), ending))
      logits[static_cast<size_t>(text[begin + n - 1])] = kNever;
  }
}

}  // namespace aana
