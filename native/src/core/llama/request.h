#pragma once

#include <llama.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

#include "core/llama/model/adapter_use.h"
#include "core/llama/prompt/prompt.h"
#include "core/llama/sampling/params.h"
#include "core/llama/sampling/token_rules.h"
#include "core/request_terms.h"

namespace aana::llama {

// The caller's name of a request.
using RequestId = int64_t;

// A request for a completion.
struct Request {
  RequestId id = 0;
  Prompt prompt;
  SamplingParams sampling;
  RequestTerms terms;
  AdapterUse adapter;
  std::chrono::steady_clock::time_point arrived_at = std::chrono::steady_clock::now();
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
  TokenRules rules;  // of the sampling parameters
  std::vector<llama_token> shown_tokens;  // control tokens that are part of the text
  RequestTerms terms;
  AdapterUse adapter;
  std::chrono::steady_clock::time_point arrived_at;
};

}  // namespace aana::llama
