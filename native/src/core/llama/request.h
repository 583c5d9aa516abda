#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/request_terms.h"

namespace aana::llama {

// The caller's name of a request.
using RequestId = int64_t;

struct SamplingParams {
  float temperature = 1.0F;  // 0: always the likeliest token
  int32_t top_k = -1;        // -1: off
  float top_p = 1.0F;
  float min_p = 0.0F;
  float repetition_penalty = 1.0F;
  uint32_t seed = 0;
  int32_t max_tokens = 0;
  std::vector<std::string> stop;
};

struct Request {
  RequestId id = 0;
  std::string prompt;
  // Reads control tokens in the prompt's text.
  bool parse_special = false;
  SamplingParams sampling;
  RequestTerms terms;
};

}  // namespace aana::llama
