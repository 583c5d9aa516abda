#include "core/llama/schedule/sequence.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "core/llama/sampling/logprobs.h"
#include "core/llama/schedule/fixed_chunks.h"
#include "core/llama/speculation/ngram_guess.h"

namespace aana::llama {
namespace {

TokenScores ToScores(const Logprobs& logprobs, const Model& model) {
  const auto scored = [&](const TokenLogprob& item) {
    return ScoredToken{item.token, model.PieceOrControlText(item.token), item.logprob};
  };
  TokenScores scores{scored(logprobs.chosen), {}};
  for (const auto& item : logprobs.top) scores.top.push_back(scored(item));
  return scores;
}

// More bytes are not added to an answer that was cut.
constexpr size_t kMaxClosingBytes = 64U << 10;

}  // namespace

Sequence::Sequence(ReadRequest request)
    : id_(request.id),
      terms_(std::move(request.terms)),
      adapter_(request.adapter),
      sampling_(std::move(request.sampling)),
      rules_(std::move(request.rules)),
      shown_tokens_(std::move(request.shown_tokens)),
      history_(std::move(request.tokens)),
      images_(std::move(request.images)),
      n_prompt_(static_cast<int32_t>(history_.size())),
      n_prompt_held_(history_.size()),
      n_kept_(request.n_kept),
      dropped_(request.dropped),
      stop_matcher_(sampling_.stop),
      arrived_at_(request.arrived_at) {
  if (sampling_.n_prompt_logprobs >= 0) prompt_scores_.emplace(static_cast<size_t>(sampling_.n_prompt_logprobs));
}

const PromptImage* Sequence::ImageAt(size_t position) const {
  const auto found = std::ranges::find_if(
      images_, [&](const PromptImage& image) { return image.first <= position && position < image.end(); });
  return found == images_.end() ? nullptr : &*found;
}

size_t Sequence::TokensBeforeImage(size_t position) const {
  const auto next = std::ranges::find_if(images_, [&](const PromptImage& image) { return image.first >= position; });
  return next == images_.end() ? SIZE_MAX : next->first - position;
}

size_t Sequence::MostReused() const {
  if (HasNextToken()) return history_.size();
  // The logits of the last prompt token give the first token of the completion.
  return prompt_scores_ ? prompt_scores_->MostReused() : history_.size() - 1;
}

size_t Sequence::MostInStep(size_t position) const {
  const size_t n_chunk = prompt_scores_ ? size_t{Context::kMostScored} : kFixedChunk;
  if (is_reproducible()) return FixedChunk(position, static_cast<size_t>(n_prompt()), n_chunk);
  return prompt_scores_ && !HasNextToken() ? n_chunk : SIZE_MAX;
}

bool Sequence::WantsLogits(size_t position) const {
  if (HasNextToken()) return position >= history_.size();
  return position + 1 >= history_.size() || (prompt_scores_ && prompt_scores_->Wants(position, history_.size()));
}

void Sequence::NoteAdmitted() {
  n_in_turn = 0;
  if (!admitted_at_) admitted_at_ = std::chrono::steady_clock::now();
}

void Sequence::NoteHeld(size_t n) {
  if (n <= n_most_held_) return;
  n_in_turn += n - n_most_held_;
  n_most_held_ = n;
}

std::optional<Sequence::Gap> Sequence::Shift(int32_t n_context) {
  if (!HasNextToken() || !IsFull(n_context) || !CanShift()) return std::nullopt;
  const Gap gap{*n_kept_, (history_.size() - *n_kept_ + 1) / 2};
  const auto first = history_.begin() + static_cast<std::ptrdiff_t>(gap.first);
  history_.erase(first, first + static_cast<std::ptrdiff_t>(gap.n_tokens));
  dropped_.n_tokens += static_cast<int32_t>(gap.n_tokens);
  n_prompt_held_ -= std::min(gap.n_tokens, n_prompt_held_ - std::min(gap.first, n_prompt_held_));
  n_most_held_ = std::min(n_most_held_, history_.size());
  sampler_->NoteShift(n_prompt_held_);
  return gap;
}

Sequence::Progress Sequence::Sample(std::span<float> logits, SamplingMemory& memory, const Model& model,
                                    int32_t n_context) {
  if (!sampler_) sampler_.emplace(sampling_, std::move(rules_), history_);
  if (HasNextToken()) history_.push_back(next_token_);
  if (!first_token_at_) first_token_at_ = std::chrono::steady_clock::now();
  const bool is_scored = sampling_.n_logprobs >= 0;
  if (is_scored) memory.raw_logits.assign(logits.begin(), logits.end());
  next_token_ = sampler_->Sample(logits, history_, memory);
  if (IsEnd(next_token_, model)) return Ended(stop_matcher_.Flush(), FinishReason::kStop);

  n_completion_++;
  n_unsent_++;
  if (is_scored) {
    const auto n_top = static_cast<size_t>(sampling_.n_logprobs);
    unsent_scores_.push_back(ToScores(FindLogprobs(memory.raw_logits, next_token_, n_top, memory.candidates), model));
  }
  StopMatcher::Result shown{utf8_.Push(PieceOf(next_token_, model))};
  // As in vLLM: stop strings are looked for in the text after min_tokens.
  if (n_completion_ > sampling_.min_tokens) shown = stop_matcher_.Push(shown.text);
  if (shown.stop) {
    stop_ = std::move(*shown.stop);
    return Ended(std::move(shown.text), FinishReason::kStop);
  }
  auto* grammar = sampler_->grammar();
  if (grammar && grammar->IsComplete())
    return Ended(std::move(shown.text) + stop_matcher_.Flush(), FinishReason::kStop);
  const bool is_last = n_completion_ == sampling_.max_tokens || (IsFull(n_context) && !CanShift());
  if (!is_last) return {TakeText(std::move(shown.text)), std::nullopt};
  auto text = std::move(shown.text) + stop_matcher_.Flush();
  if (grammar && sampling_.grammar.closes) text += utf8_.Push(grammar->FindCompletion(kMaxClosingBytes).value_or(""));
  return Ended(std::move(text), FinishReason::kLength);
}

Sequence::Progress Sequence::Ended(std::string text, FinishReason reason) {
  if (text.empty() && !unsent_scores_.empty()) return {TextEvent{{}, n_unsent_, std::move(unsent_scores_)}, reason};
  return {TakeText(std::move(text)), reason};
}

std::string Sequence::PieceOf(llama_token token, const Model& model) const {
  const bool is_shown = std::ranges::find(shown_tokens_, token) != shown_tokens_.end();
  return is_shown ? model.PieceOrControlText(token) : model.Piece(token);
}

size_t Sequence::GuessedTokens(size_t n_most, size_t n_allowed, int32_t n_context) {
  if (!guess_length_) guess_length_.emplace(n_most);
  // The token after the last guessed one is sampled, too.
  const int32_t n_room = n_context - static_cast<int32_t>(history_.size()) - 1;
  const int32_t n_left = std::min(sampling_.max_tokens - n_completion_, n_room) - 1;
  if (n_left <= 0) return 0;
  return std::min({guess_length_->Next(), n_allowed, static_cast<size_t>(n_left)});
}

std::vector<llama_token> Sequence::GuessFromText(size_t n_wanted) {
  history_.push_back(next_token_);
  auto guessed = GuessByNgram(history_, n_wanted);
  history_.pop_back();
  return guessed;
}

bool Sequence::IsEnd(llama_token token, const Model& model) const {
  return model.EndsGeneration(token) || std::ranges::find(sampling_.stop_tokens, token) != sampling_.stop_tokens.end();
}

std::optional<TextEvent> Sequence::TakeText(std::string text) {
  if (text.empty()) return std::nullopt;
  NoteUnread();
  return TextEvent{std::move(text), std::exchange(n_unsent_, 0), std::exchange(unsent_scores_, {})};
}

void Sequence::NoteUnread() {
  if (++n_unread_ == kMaxUnread) paused_at_ = std::chrono::steady_clock::now();
}

void Sequence::ScorePrompt(size_t position, std::span<const float> logits, SamplingMemory& memory, const Model& model) {
  prompt_scores_->Add(position, history_, logits, memory, model);
}

std::optional<TextEvent> Sequence::TakePromptScores() {
  auto scored = prompt_scores_->Take();
  if (scored.empty()) return std::nullopt;
  NoteUnread();
  TextEvent event;
  event.prompt = std::move(scored);
  return event;
}

Event Sequence::End(FinishReason reason) const {
  EndEvent event{reason, n_prompt(), std::min(n_reused, n_own), n_completion_, TimingsNow(), 0, dropped_, stop_};
  event.n_image = MediaTokens(images_, false);
  event.n_sound = MediaTokens(images_, true);
  return {id_, std::move(event)};
}

Timings Sequence::TimingsNow() const {
  const auto now = std::chrono::steady_clock::now();
  const auto admitted_at = admitted_at_.value_or(now);
  const auto first_token_at = first_token_at_.value_or(now);
  return {
      .queue = admitted_at - arrived_at_, .prompt = first_token_at - admitted_at, .completion = now - first_token_at};
}

Event Sequence::Failure(ErrorCode code, Fault fault, std::string message, int32_t n_context) const {
  return {id_, ErrorEvent{code, fault, std::move(message), n_prompt(), n_context}};
}

}  // namespace aana::llama
