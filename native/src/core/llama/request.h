#pragma once

#include <llama.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/llama/prompt/prompt.h"
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

// A request for a completion.
struct Request {
  RequestId id = 0;
  Prompt prompt;
  SamplingParams sampling;
  RequestTerms terms;
};

// A request for the number of a prompt's tokens.
struct CountRequest {
  RequestId id = 0;
  Prompt prompt;
  RequestTerms terms;
};

// A request for a completion whose prompt was read.
struct ReadRequest {
  RequestId id = 0;
  std::vector<llama_token> tokens;  // at least one, and fewer than fit into the context
  SamplingParams sampling;
  RequestTerms terms;
};

}  // namespace aana::llama
