#pragma once

#include <llama.h>

#include <cstdint>
#include <span>

namespace aana::llama {

// Tokens of one sequence in a batch.
struct SequenceTokens {
  llama_seq_id sequence = 0;
  int32_t n_tokens = 0;
};

// What a pass over the weights (ubatch) takes of a batch.
enum class UbatchRule {
  kTokens,      // the next tokens
  kSequences,   // the same number of tokens of each sequence
  kNeighbours,  // the same number of tokens of each sequence, and only sequences with consecutive ids
};

class Context;
class Model;

// Returns the rule that llama.cpp follows for the memory of the context.
UbatchRule UbatchRuleOf(const Model& model, const Context& context);

// Returns how many passes llama.cpp makes for a batch whose sequences lie in this order. A pass takes at most
// `n_ubatch` tokens.
int32_t CountUbatches(std::span<const SequenceTokens> batch, int32_t n_ubatch, UbatchRule rule);

}  // namespace aana::llama
