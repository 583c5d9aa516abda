#include "core/llama/schedule/sequence.h"

#include <utility>

namespace aana::llama {

Sequence::Sequence(ReadRequest request)
    : id_(request.id),
      terms_(std::move(request.terms)),
      sampling_(std::move(request.sampling)),
      history_(std::move(request.tokens)),
      n_prompt_(static_cast<int32_t>(history_.size())),
      stop_matcher_(sampling_.stop) {}

Sequence::Progress Sequence::Sample(llama_context* context, int32_t index, const Model& model, int32_t n_context) {
  if (!sampler_) sampler_ = std::make_unique<Sampler>(sampling_, model.vocab(), history_);
  if (HasNextToken()) history_.push_back(next_token_);
  next_token_ = sampler_->Sample(context, index);
  if (model.EndsGeneration(next_token_)) return {TakeText(stop_matcher_.Flush()), FinishReason::kStop};

  n_completion_++;
  n_unsent_++;
  auto [text, stopped] = stop_matcher_.Push(utf8_.Push(model.Piece(next_token_)));
  if (stopped) return {TakeText(std::move(text)), FinishReason::kStop};
  const bool is_last = n_completion_ == sampling_.max_tokens || n_prompt() + n_completion_ >= n_context;
  if (!is_last) return {TakeText(std::move(text)), std::nullopt};
  return {TakeText(std::move(text) + stop_matcher_.Flush()), FinishReason::kLength};
}

std::optional<TextEvent> Sequence::TakeText(std::string text) {
  if (text.empty()) return std::nullopt;
  if (++n_unread_ == kMaxUnread) paused_at_ = std::chrono::steady_clock::now();
  return TextEvent{std::move(text), std::exchange(n_unsent_, 0)};
}

Event Sequence::End(FinishReason reason) const { return {id_, EndEvent{reason, n_prompt(), n_reused, n_completion_}}; }

Event Sequence::Failure(ErrorCode code, Fault fault, std::string message, int32_t n_context) const {
  return {id_, ErrorEvent{code, fault, std::move(message), n_prompt(), n_context}};
}

}  // namespace aana::llama
