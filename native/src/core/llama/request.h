#pragma once

#include <llama.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/llama/model/adapter_use.h"
#include "core/llama/prompt/prompt.h"
#include "core/llama/sampling/params.h"
#include "core/llama/sampling/token_rules.h"
#include "core/llama/vision/prompt_image.h"
#include "core/request_terms.h"

namespace aana::llama {

// The caller's name of a request.
using RequestId = int64_t;

// What happens when the context has no room.
enum class Overflow {
  kError,           // a prompt that is too long is refused, and an answer ends when the context is full
  kTruncateMiddle,  // a prompt that is too long loses its middle
  kShift,           // a full context forgets the older half behind its beginning, and the answer goes on
};

// What a request lost because the context had no room.
struct Dropped {
  int32_t n_tokens = 0;    // of the prompt, and with kShift also of the answer
  int32_t n_messages = 0;  // whole messages of the dialog
};

// A request for a completion.
struct Request {
  RequestId id = 0;
  Prompt prompt;
  SamplingParams sampling;
  RequestTerms terms;
  AdapterUse adapter;
  Overflow overflow = Overflow::kError;
  std::chrono::steady_clock::time_point arrived_at = std::chrono::steady_clock::now();
};

// A request for the tokens of a prompt.
struct CountRequest {
  RequestId id = 0;
  Prompt prompt;
  RequestTerms terms;
  // Whether the answer has the tokens with their texts, and not only their number.
  bool tells_tokens = false;
  // Whether a text gets the tokens that the model wants around texts.
  bool has_outer_tokens = true;
};

// A request for a completion whose prompt was read.
struct ReadRequest {
  RequestId id = 0;
  std::vector<llama_token> tokens;  // at least one, and fewer than fit into the context
  SamplingParams sampling;
  TokenRules rules;                       // of the sampling parameters
  std::vector<llama_token> shown_tokens;  // control tokens that are part of the text
  std::optional<size_t> n_kept =
      {};                // tokens of the beginning that stay when the full context shifts; empty: it does not shift
  Dropped dropped = {};  // from the prompt
  RequestTerms terms;
  AdapterUse adapter;
  std::chrono::steady_clock::time_point arrived_at;
  std::vector<PromptImage> images = {};                  // in the order of their places
  std::shared_ptr<const MediaPrompt> media_prompt = {};  // until the images are encoded
};

inline RequestId IdOf(const ReadRequest& request) { return request.id; }
inline const RequestTerms& TermsOf(const ReadRequest& request) { return request.terms; }

}  // namespace aana::llama
