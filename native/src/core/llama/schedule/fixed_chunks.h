#pragma once

#include <algorithm>
#include <cstddef>

namespace aana::llama {

// How a reproducible sequence is computed: each pass over the weights has tokens of this sequence alone, and the same
// number of them from the same position each time. The number of tokens in a pass decides which kernels compute it, and
// their results differ in the last bits.

// Tokens of a pass over a prompt. With 32 a prompt takes 14 to 30 % more time than with 256, but a pass holds up other
// sequences shortly.
constexpr size_t kFixedChunk = 32;

// Returns how many tokens are computed in the pass from `position` on: a prompt of `n_prompt` tokens in chunks that
// begin at multiples of `n_chunk`, and what follows it token by token, also where it is computed again.
inline size_t FixedChunk(size_t position, size_t n_prompt, size_t n_chunk = kFixedChunk) {
  if (position >= n_prompt) return 1;
  return std::min(n_chunk - position % n_chunk, n_prompt - position);
}

// Returns how many of the first `n` tokens are in whole chunks.
inline size_t WholeChunks(size_t n) { return n - n % kFixedChunk; }

}  // namespace aana::llama
