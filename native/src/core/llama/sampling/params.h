#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/llama/grammar/quotes/quotable.h"

namespace aana::llama {

using TokenId = int32_t;

struct LogitBias {
  TokenId token = 0;
  float bias = 0.0F;
};

// Factors against tokens that were used before, as vLLM counts them: `repetition` looks at prompt and completion, the
// other two at the completion.
struct PenaltyParams {
  float repetition = 1.0F;  // divides a positive logit, multiplies a negative one; 1: off
  float presence = 0.0F;    // subtracted once from the logit of a used token
  float frequency = 0.0F;   // subtracted for each use
};

// "Don't repeat yourself": tokens that would continue a repetition of at least `allowed_length` tokens lose
// multiplier * base^(length - allowed_length).
struct DryParams {
  float multiplier = 0.0F;  // 0: off
  float base = 1.75F;
  int32_t allowed_length = 2;
  int32_t last_n = -1;  // tokens back that are searched; -1: all
  std::vector<std::string> sequence_breakers = {"\n", ":", "\"", "*"};
};

// "Exclude top choices": with `probability`, of all tokens that have at least `threshold`, only the unlikeliest stays.
struct XtcParams {
  float probability = 0.0F;  // 0: off
  float threshold = 0.1F;    // above 0.5: off
};

// Truncation that holds the surprise of the text at `tau` bits; replaces top-k, typical, top-p, min-p and XTC.
struct MirostatParams {
  int32_t version = 0;  // 0: off, 1, 2
  float tau = 5.0F;
  float eta = 0.1F;  // learning rate
};

// A grammar that the text must meet.
struct GrammarParams {
  std::string text;  // in llama.cpp's notation (GBNF); empty: none
  std::string root = "root";
  std::string prefix;  // comes before the answer, and the grammar describes it, too
  // With these the text is free until one of them comes. The grammar applies from the first byte of the word.
  std::vector<std::string> trigger_words;
  std::vector<TokenId> visible_tokens;       // control tokens that the grammar reads as their texts
  std::shared_ptr<const Quotable> quotable;  // the sources of `%quote` in the grammar; null: there are none
  bool closes = false;  // an answer that max_tokens cuts gets the shortest end that meets the grammar
};

struct SamplingParams {
  float temperature = 1.0F;  // 0: always the likeliest token
  int32_t top_k = -1;        // -1: off
  float top_p = 1.0F;
  float min_p = 0.0F;
  float typical_p = 1.0F;
  PenaltyParams penalties;
  DryParams dry;
  XtcParams xtc;
  MirostatParams mirostat;
  std::vector<LogitBias> logit_bias;
  std::vector<std::string> bad_words;
  uint32_t seed = 0;
  int32_t max_tokens = 0;
  int32_t min_tokens = 0;   // before these the answer does not end by itself
  bool ignore_eos = false;  // the model's own end tokens are never chosen
  std::vector<std::string> stop;
  std::vector<TokenId> stop_tokens;
  // How many of the likeliest tokens are told with each token and its log-probability; -1: nothing is told.
  int32_t n_logprobs = -1;
  // The same for the tokens of the prompt.
  int32_t n_prompt_logprobs = -1;
  // The text does not depend on other requests.
  bool is_reproducible = false;
  GrammarParams grammar;
};

}  // namespace aana::llama
