#include "core/llama/sampling/stages/dry.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace aana::llama {
namespace {

// For each distance from the end of `tokens`, how many tokens before that place are the same as at the end. The
// Z-algorithm, from the end to the beginning; linear in the number of tokens.
void FindRepeats(std::span<const TokenId> tokens, std::vector<size_t>& lengths) {
  const size_t n = tokens.size();
  const auto from_end = [&](size_t i) { return tokens[n - 1 - i]; };
  lengths.assign(n, 0);
  size_t box = 0;      // where the match that reaches furthest begins
  size_t box_end = 0;  // exclusive
  for (size_t at = 1; at < n; at++) {
    size_t length = at < box_end ? std::min(lengths[at - box], box_end - at) : 0;
    while (at + length < n && from_end(length) == from_end(at + length)) length++;
    lengths[at] = length;
    if (at + length > box_end) {
      box = at;
      box_end = at + length;
    }
  }
}

}  // namespace

void DryBreakers::Add(std::span<const TokenId> sequence) {
  if (sequence.empty()) return;
  auto& tails = tails_by_head_[sequence.front()];
  std::vector<TokenId> tail(sequence.begin() + 1, sequence.end());
  if (std::ranges::find(tails, tail) == tails.end()) tails.push_back(std::move(tail));
}

bool DryBreakers::IsBreaker(TokenId token) const {
  const auto found = tails_by_head_.find(token);
  return found != tails_by_head_.end() &&
         std::ranges::any_of(found->second, [](const auto& tail) { return tail.empty(); });
}

size_t DryBreakers::CountAfterLast(std::span<const TokenId> tokens) const {
  for (size_t n_after = 0; n_after < tokens.size(); n_after++) {
    const auto found = tails_by_head_.find(tokens[tokens.size() - 1 - n_after]);
    if (found == tails_by_head_.end()) continue;
    const auto after = tokens.last(n_after);
    size_t longest = 0;
    bool is_there = false;
    for (const auto& tail : found->second) {
      if (tail.size() > after.size() || !std::ranges::equal(tail, after.first(tail.size()))) continue;
      is_there = true;
      longest = std::max(longest, tail.size());
    }
    if (is_there) return n_after - longest;
  }
  return tokens.size();
}

void PenalizeRepeats(std::span<float> logits, std::span<const TokenId> history, const DryParams& params,
                     const DryBreakers& breakers, std::vector<size_t>& lengths) {
  const auto allowed = static_cast<size_t>(params.allowed_length);
  const size_t n_recent =
      params.last_n < 0 ? history.size() : std::min(history.size(), static_cast<size_t>(params.last_n));
  const auto recent = history.last(n_recent);
  if (n_recent <= allowed) return;
  const size_t longest = breakers.CountAfterLast(recent);
  if (longest < allowed) return;
  FindRepeats(recent, lengths);

  std::unordered_map<TokenId, size_t> length_by_token;
  for (size_t at = 1; at < n_recent; at++) {
    const size_t length = std::min(lengths[at], longest);
    if (length < allowed || recent[n_recent - at] < 0) continue;  // the tokens of images are never chosen
    auto& known = length_by_token[recent[n_recent - at]];         // the token that came after this repetition
    known = std::max(known, length);
  }
  // The power would leave the range of float.
  const float most =
      params.base > 1.000001F ? std::log(std::numeric_limits<float>::max()) / std::log(params.base) : 0.0F;
  for (const auto& [token, length] : length_by_token) {
    if (breakers.IsBreaker(token)) continue;
    auto exponent = static_cast<float>(length - allowed);
    if (most > 0) exponent = std::min(exponent, std::floor(most));
    logits[static_cast<size_t>(token)] -= params.multiplier * std::pow(params.base, exponent);
  }
}

}  // namespace aana::llama
