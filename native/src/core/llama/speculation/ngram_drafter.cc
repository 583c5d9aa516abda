#include "core/llama/speculation/ngram_drafter.h"

#include <algorithm>

namespace aana::llama {

std::vector<TokenId> NgramDrafter::Draft(std::span<const TokenId> history, size_t n_allowed) {
  if (n_paused_ > 0) {
    n_paused_--;
    return {};
  }
  const size_t n_wanted = std::min(n_next_, n_allowed);
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
  std::vector<TokenId> drafted;
  for (size_t at = best_end + 1; drafted.size() < n_wanted; at++) drafted.push_back(at <= last ? history[at] : drafted[at - last - 1]);
  return drafted;
}

void NgramDrafter::Learn(size_t n_drafted, size_t n_accepted) {
  if (n_drafted == 0) return;
  if (n_accepted == n_drafted) {
    n_wrong_ = 0;
    n_next_ = std::min(2 * n_next_, n_most_);
    return;
  }
  n_next_ = std::max<size_t>(n_accepted, 1);
  n_wrong_ = n_accepted == 0 ? n_wrong_ + 1 : 0;
  if (n_wrong_ < kMostWrong) return;
  n_wrong_ = 0;
  n_paused_ = kPauseCalls;
}

}  // namespace aana::llama
