#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "core/whisper/search/vocabulary.h"

namespace aana {

// The logit of a token that may not follow.
constexpr float kNever = -std::numeric_limits<float>::infinity();

struct LogitOptions {
  std::vector<int32_t> suppressed = {};  // tokens that are never chosen; without control tokens, which never are
  int32_t space = -1;  // the token of a space, or -1; `suppress_blank` forbids it and the end as the first token
  bool suppress_blank = true;
  bool without_timestamps = false;
  int32_t max_initial_time = 50;    // the last token of time that may be the first one, counted from the first
  float repetition_penalty = 1.0F;  // above 1: tokens of the text become less likely
  int no_repeat_ngram_size = 0;     // above 0: no sequence of so many tokens occurs twice
};

// Which tokens may follow a text. The rules are those of OpenAI's decoding.py, and the last two those of CTranslate2.
class LogitRules {
 public:
  // `vocabulary` must outlive the rules. Throws std::invalid_argument for a suppressed token that is not in the
  // vocabulary.
  LogitRules(const Vocabulary& vocabulary, LogitOptions options);

  // Changes the logits of the token after `text`, which begins after the prompt. Tokens that may not follow get minus
  // infinity.
  void Apply(std::span<const int32_t> text, std::span<float> logits) const;

 private:
  void ApplyTimes(std::span<const int32_t> text, std::span<float> logits) const;
  void PenaliseRepetitions(std::span<const int32_t> text, std::span<float> logits) const;

  const Vocabulary& vocabulary_;
  const LogitOptions options_;
};

// Throws SamplingError (fault kDeployment) if a logit is not a number. Without this, a damaged model would write random
// texts.
void RequireNumbers(std::span<const float> logits);

// A sum of exponentials of logits, as a logarithm. Minus infinity where all are.
float LogSumExp(std::span<const float> logits);
// The same, where the largest of the logits is known.
float LogSumExp(std::span<const float> logits, float largest);

}  // namespace aana
