#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/llama/answer/answer_parser.h"
#include "core/llama/request.h"
#include "core/request_terms.h"

namespace aana::llama {

// A token with its text and its natural log-probability, as the model gave it.
struct ScoredToken {
  llama_token token = LLAMA_TOKEN_NULL;
  std::string text;  // maybe not whole characters; control tokens have theirs, too
  float logprob = 0.0F;
};

// How likely a token of a prompt is at its place.
struct TokenRank {
  int32_t rank = 1;              // 1: the likeliest
  std::vector<ScoredToken> top;  // the likeliest first
};

// A token of a prompt. The first one has no score, because no token is before it.
struct PromptToken {
  ScoredToken token;
  std::optional<TokenRank> rank;
};

struct TokenScores {
  ScoredToken chosen;
  std::vector<ScoredToken> top;  // the likeliest first
};

// Completion text that `n_tokens` tokens made; valid UTF-8. Not empty, unless it only has the scores of tokens that
// made no text, or of the prompt.
struct TextEvent {
  std::string text;
  int32_t n_tokens = 0;
  std::vector<TokenScores> scores = {};  // of those tokens, where the request asks for them
  // Of an answer to a dialog that has a format; then any of these may be empty.
  std::string reasoning = {};
  std::vector<CallDelta> calls = {};
  // The next tokens of the prompt, before the completion begins, where the request asks for their scores.
  std::vector<PromptToken> prompt = {};
};

// How long each part of a request took.
struct Timings {
  using Milliseconds = std::chrono::duration<double, std::milli>;
  Milliseconds queue{0};       // from its arrival until it got a slot; its prompt was tokenized meanwhile
  Milliseconds prompt{0};      // until its first token was sampled
  Milliseconds completion{0};  // until its end
};

enum class FinishReason { kStop, kLength, kCancelled };

struct EndEvent {
  FinishReason reason = FinishReason::kStop;
  int32_t n_prompt = 0;
  int32_t n_reused = 0;  // prompt tokens that were not computed, because the same tenant had sent them before
  int32_t n_completion = 0;
  Timings timings = {};
  int32_t n_reasoning = 0;  // of the completion's tokens
  Dropped dropped = {};
  std::string stop = {};  // the stop string that ended the completion; empty if none did
  int32_t n_image = 0;    // prompt tokens that are images
  int32_t n_sound = 0;    // prompt tokens that are sounds
};

// Answers a CountRequest.
struct CountEvent {
  int32_t n_tokens = 0;
  // Empty unless the request asks for the tokens.
  std::vector<llama_token> tokens = {};
  std::string text = {};              // of all tokens, one after the other; control tokens have theirs, too
  std::vector<int32_t> n_bytes = {};  // in the text, for each token
};

enum class ErrorCode {
  kPromptTooLong,
  kEmptyPrompt,
  kTemplate,
  kInvalidSampling,
  kDeadlineExceeded,
  kSlowReader,
  kNoRoom,
  kEngineEnded,
  kFailed
};

struct ErrorEvent {
  ErrorCode code = ErrorCode::kFailed;
  Fault fault = Fault::kDeployment;
  std::string message;
  int32_t n_prompt = 0;
  int32_t n_context = 0;
};

// What happens to a request: any number of texts, then one end, count or error.
struct Event {
  RequestId id = 0;
  std::variant<TextEvent, EndEvent, CountEvent, ErrorEvent> what;
};

inline Event Cancelled(RequestId id) { return {id, EndEvent{FinishReason::kCancelled}}; }

}  // namespace aana::llama
