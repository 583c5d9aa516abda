#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace aana {

// Attention of tokens to positions of the audio, in the order [head][token][position].
struct AttentionScores {
  std::span<const float> scores;  // before the softmax
  size_t n_heads;
  size_t n_tokens;
  size_t n_positions;
};

// Returns for each token from `first` to `end` the position where it begins, in order. The path of the greatest
// attention through tokens and positions gives it, as in OpenAI's timing.py: softmax over the positions, normalised
// over the tokens, a median filter over 7 positions, the mean of the heads, dynamic time warping.
std::vector<size_t> AlignTokens(const AttentionScores& attention, size_t first, size_t end);

}  // namespace aana
