#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/llama/model/model.h"
#include "core/llama/model/purpose.h"

namespace aana::llama {

// What an embedding engine computes.
enum class EmbeddingTask {
  kEmbed,  // a vector for each text
  kRank,   // scores for each pair of a query and a document
};

struct EmbeddingOptions : ModelOptions {
  EmbeddingTask task = EmbeddingTask::kEmbed;
  std::optional<enum llama_pooling_type> pooling;  // of kEmbed; nothing: the pooling that the model's file states
  int32_t n_context = 0;                           // most tokens of a text; 0: what the model was trained with
  int32_t n_batch = 512;      // tokens of one computation; more where a longer text must be computed whole
  std::string rank_template;  // of kRank, with {query} and {document}; empty: the template of the model's file
};

struct EmbeddingModelInfo {
  std::string description;
  int32_t n_vocab = 0;
  int32_t n_context = 0;  // most tokens of a text, with the tokens that the model wants around it
  int32_t n_batch = 0;
  int32_t n_values = 0;  // numbers in the answer for a text
  enum llama_pooling_type pooling = LLAMA_POOLING_TYPE_MEAN;
  bool has_probabilities = false;  // the scores are the probabilities of "yes" and "no"
};

}  // namespace aana::llama
