#include "core/llama/grammar/matcher.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <utility>

#include "core/llama/sampling/sampling_error.h"

namespace aana::llama {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

}  // namespace

GrammarMatcher::GrammarMatcher(std::shared_ptr<const Grammar> grammar, Tokens tokens,
                               std::vector<std::string> trigger_words)
    : grammar_(std::move(grammar)),
      shared_(grammar_->states()),
      tokens_(std::move(tokens)),
      trigger_words_(std::move(trigger_words)),
      state_(shared_->states.start()),
      is_waiting_(!trigger_words_.empty()) {}

bool GrammarMatcher::Skip(std::string_view text) {
  if (is_waiting_) return true;
  std::lock_guard lock(shared_->mutex);
  for (const char c : text) state_ = shared_->states.Next(state_, static_cast<uint8_t>(c));
  return state_ != GrammarStates::kDead;
}

bool GrammarMatcher::IsEnd(TokenId token) const { return std::ranges::find(tokens_.ends, token) != tokens_.ends.end(); }

std::string_view GrammarMatcher::PieceOf(TokenId token) const {
  const auto found = tokens_.visible.find(token);
  return found == tokens_.visible.end() ? tokens_.trie->PieceOf(token) : found->second;
}

bool GrammarMatcher::Allows(TokenId token) {
  std::lock_guard lock(shared_->mutex);
  if (IsEnd(token)) return is_waiting_ || shared_->states.IsAccepting(state_);
  const auto next = Next(token);
  return !next || *next != GrammarStates::kDead;
}

std::optional<GrammarStates::Id> GrammarMatcher::Next(TokenId token) {
  auto& states = shared_->states;
  const auto piece = PieceOf(token);
  if (!is_waiting_) return states.Next(state_, token, piece);
  const auto text = tail_ + std::string(piece);
  auto begin = std::string::npos;
  for (const auto& word : trigger_words_) begin = std::min(begin, text.find(word));
  if (begin == std::string::npos) return std::nullopt;
  auto state = state_;
  for (size_t i = begin; i < text.size() && state != GrammarStates::kDead; i++)
    state = states.Next(state, static_cast<uint8_t>(text[i]));
  return state;
}

void GrammarMatcher::Mask(std::span<float> logits) {
  if (is_waiting_) return MaskWaiting(logits);
  std::vector<std::pair<TokenId, float>> kept;
  const auto keep = [&](TokenId token) { kept.emplace_back(token, logits[static_cast<size_t>(token)]); };
  const auto& allowed = [&]() -> const GrammarStates::TokenSet& {
    std::lock_guard lock(shared_->mutex);
    if (shared_->states.IsAccepting(state_)) std::ranges::for_each(tokens_.ends, keep);
    for (const auto& [token, text] : tokens_.visible) {
      if (!IsEnd(token) && Next(token) != GrammarStates::kDead) keep(token);
    }
    return shared_->states.FindAllowed(state_, *tokens_.trie);
  }();
  // Other requests with this grammar go on meanwhile.
  if (allowed.bits.empty()) {
    for (const auto token : allowed.tokens) {
      if (!IsEnd(token)) keep(token);
    }
    std::ranges::fill(logits, kNever);
  }
  for (size_t word = 0; word < allowed.bits.size(); word++) {
    const uint64_t bits = allowed.bits[word];
    if (bits == ~uint64_t{0}) continue;
    const auto part = logits.subspan(64 * word, std::min<size_t>(64, logits.size() - 64 * word));
    for (size_t i = 0; i < part.size(); i++) part[i] = (bits >> i & 1) != 0 ? part[i] : kNever;
  }
  for (const auto token : tokens_.ends) logits[static_cast<size_t>(token)] = kNever;
  for (const auto& [token, logit] : kept) logits[static_cast<size_t>(token)] = logit;
}

void GrammarMatcher::MaskWaiting(std::span<float> logits) {
  std::lock_guard lock(shared_->mutex);
  for (TokenId token = 0; std::cmp_less(token, logits.size()); token++) {
    if (!IsEnd(token) && Next(token) == GrammarStates::kDead) logits[static_cast<size_t>(token)] = kNever;
  }
}

void GrammarMatcher::Accept(TokenId token) {
  if (IsEnd(token)) return;
  {
    std::lock_guard lock(shared_->mutex);
    if (const auto next = Next(token)) {
      state_ = *next;
      is_waiting_ = false;
    } else {
      size_t n_kept = 0;
      for (const auto& word : trigger_words_) n_kept = std::max(n_kept, word.size() - 1);
      tail_ += PieceOf(token);
      if (tail_.size() > n_kept) tail_.erase(0, tail_.size() - n_kept);
    }
  }
  ReplaceLargeStates();
}

void GrammarMatcher::ReplaceLargeStates() {
  {
    std::lock_guard lock(shared_->mutex);
    if (!shared_->states.IsLarge()) return;
  }
  const auto fresh = grammar_->Replace(shared_);
  if (fresh == shared_) return;
  const auto large = std::exchange(shared_, fresh);  // alive until its lock has ended
  std::scoped_lock lock(fresh->mutex, large->mutex);
  state_ = fresh->states.Adopt(large->states, state_);
}

bool GrammarMatcher::IsComplete() {
  std::lock_guard lock(shared_->mutex);
  return !is_waiting_ && shared_->states.IsAccepting(state_) && !shared_->states.CanContinue(state_);
}

std::optional<std::string> GrammarMatcher::FindCompletion(size_t n_most) {
  if (is_waiting_) return std::nullopt;
  std::lock_guard lock(shared_->mutex);
  return shared_->states.FindCompletion(state_, n_most);
}

}  // namespace aana::llama
