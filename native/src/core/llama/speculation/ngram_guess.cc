#include "core/llama/speculation/ngram_guess.h"

namespace aana::llama {
namespace {

// Tokens that must agree at least, and at most as many as are compared: vLLM's prompt_lookup_min and max.
constexpr size_t kLeastMatch = 2;
constexpr size_t kMostMatch = 4;

}  // namespace

std::vector<TokenId> GuessByNgram(std::span<const TokenId> history, size_t n_wanted) {
  if (n_wanted == 0 || history.size() <= kLeastMatch) return {};
  const size_t last = history.size() - 1;
  size_t best_length = kLeastMatch - 1;
  size_t best_end = 0;
  // The latest of the longest matches.
  for (size_t end = last; end-- > 0 && best_length < kMostMatch;) {
    if (history[end] != history[last]) continue;
    size_t length = 1;
    while (length < kMostMatch && length <= end && history[end - length] == history[last - length]) length++;
    if (length <= best_length) continue;
    best_length = length;
    best_end = end;
  }
  if (best_length < kLeastMatch) return {};
  // Where the text has ended, the guess goes on with itself: what repeats is a period of the text.
  std::vector<TokenId> guessed;
  for (size_t at = best_end + 1; guessed.size() < n_wanted; at++)
    guessed.push_back(at <= last ? history[at] : guessed[at - last - 1]);
  return guessed;
}

}  // namespace aana::llama
