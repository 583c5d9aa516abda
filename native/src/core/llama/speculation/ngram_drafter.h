#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/llama/sampling/params.h"

namespace aana::llama {

// Guesses the next tokens of a text from its own earlier tokens, as "prompt lookup decoding" does (vLLM's method "ngram"): where the last
// tokens occurred before, what followed then may follow again. Pays where an answer repeats its prompt: code that is edited, quotes,
// extracted fields.
//
// A wrong guess costs computing, so the number of guessed tokens follows the guesses that came true: it grows after a guess that was right
// as a whole, shrinks after another one, and after several wrong guesses in a row nothing is guessed for a while.
class NgramDrafter {
 public:
  // At most `n_most` tokens are guessed at a time.
  explicit NgramDrafter(size_t n_most) : n_most_(n_most), n_next_(n_most < kBegin ? n_most : kBegin) {}

  // Returns the tokens that may follow `history`, at most `n_allowed`; empty where nothing is guessed.
  std::vector<TokenId> Draft(std::span<const TokenId> history, size_t n_allowed);
  // How many of the tokens of the last Draft came true.
  void Learn(size_t n_drafted, size_t n_accepted);

 private:
  // Tokens that must agree at least, and at most as many as are compared: vLLM's prompt_lookup_min and max.
  static constexpr size_t kLeastMatch = 2;
  static constexpr size_t kMostMatch = 4;
  static constexpr size_t kBegin = 2;     // tokens of the first guess
  static constexpr int kMostWrong = 3;    // guesses in a row
  static constexpr int kPauseCalls = 16;  // of Draft

  size_t n_most_;
  size_t n_next_;
  int n_wrong_ = 0;
  int n_paused_ = 0;
};

}  // namespace aana::llama
