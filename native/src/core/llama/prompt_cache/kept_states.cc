#include "core/llama/prompt_cache/kept_states.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/llama/common_prefix.h"

namespace aana::llama {

bool KeptStates::Covers(const KeptState& state, const KeptState& text, size_t n) const {
  // Readers are told of their own tenant's texts only, so each tenant has its own.
  if (state.tenant != text.tenant || state.cache_key != text.cache_key) return false;
  if (state.adapter != text.adapter || state.n_fixed < text.n_fixed) return false;
  const size_t n_common = CommonPrefix(state.decoded, std::span(text.decoded).first(n));
  return takes_whole_ ? n_common == n && state.decoded.size() == n : n_common + kLeast > n;
}

bool KeptStates::Wants(const KeptState& text, size_t n) const {
  return max_bytes_ > 0 && n >= kLeast &&
         std::ranges::none_of(states_, [&](const auto& state) { return Covers(*state, text, n); });
}

void KeptStates::Add(KeptState state) {
  if (state.n_bytes() > max_bytes_) return;
  std::erase_if(states_, [&](const auto& other) {
    const bool is_covered = Covers(state, *other, other->decoded.size());
    if (is_covered) n_bytes_ -= other->n_bytes();
    return is_covered;
  });
  state.used_at = ++clock_;
  n_bytes_ += state.n_bytes();
  states_.push_back(std::make_shared<KeptState>(std::move(state)));
  GiveUpBeyond(max_bytes_);
}

void KeptStates::Touch(const KeptState& state) {
  const auto found = std::ranges::find_if(states_, [&](const auto& each) { return each.get() == &state; });
  if (found != states_.end()) (*found)->used_at = ++clock_;
}

void KeptStates::Limit(uint64_t max_bytes) {
  max_bytes_ = max_bytes;
  GiveUpBeyond(max_bytes);
}

void KeptStates::GiveUpBeyond(uint64_t n_bytes) {
  if (n_bytes_ <= n_bytes) return;
  std::map<std::string, uint64_t> bytes_of;
  for (const auto& state : states_) bytes_of[state->tenant] += state->n_bytes();
  while (n_bytes_ > n_bytes) {
    const auto most = std::ranges::max_element(bytes_of, {}, [](const auto& each) { return each.second; });
    const auto rank = [&](const auto& state) { return std::pair(state->tenant != most->first, state->used_at); };
    const auto oldest = std::ranges::min_element(states_, {}, rank);
    most->second -= (*oldest)->n_bytes();
    n_bytes_ -= (*oldest)->n_bytes();
    states_.erase(oldest);
  }
}

}  // namespace aana::llama
