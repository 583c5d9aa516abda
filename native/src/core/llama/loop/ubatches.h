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

// Returns how many passes over the weights (ubatches) llama.cpp makes for a batch whose sequences lie in this order. A
// pass takes at most `n_ubatch` tokens. With `has_streams`, when each sequence has cells of its own, a pass takes the
// same number of tokens of sequences with consecutive ids only.
int32_t CountUbatches(std::span<const SequenceTokens> batch, int32_t n_ubatch, bool has_streams);

}  // namespace aana::llama
