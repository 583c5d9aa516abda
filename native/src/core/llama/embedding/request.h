#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "core/llama/event.h"
#include "core/llama/request.h"
#include "core/request_terms.h"

namespace aana::llama {

// Which tokens of a text that is too long are left out.
enum class Truncation { kNone, kStart, kEnd };

// A text, or its tokens as a caller gives them: all tokens that the model computes, also those around a text.
using TextOrTokens = std::variant<std::string, std::vector<int32_t>>;

// A request for the answers for some texts, or only for the number of their tokens.
struct EmbeddingRequest {
  RequestId id = 0;
  std::string query;  // of a reranker; the texts are documents, which have no tokens
  std::vector<TextOrTokens> texts;
  Truncation truncation = Truncation::kNone;
  bool only_counts = false;
  RequestTerms terms;
};

// The answers for all texts, one after the other.
struct VectorsEvent {
  std::vector<float> values;               // n_values of the model for each text; empty for only_counts
  std::vector<int32_t> n_tokens;           // of each text, after truncation
  std::chrono::duration<double> waited{};  // from the arrival of the request until its first text was chosen
};

struct CancelledEvent {};

// The end of a request.
struct EmbeddingEvent {
  RequestId id = 0;
  std::variant<VectorsEvent, CancelledEvent, ErrorEvent> what;
};

}  // namespace aana::llama
