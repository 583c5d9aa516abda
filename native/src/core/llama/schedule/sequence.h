#pragma once

#include <llama.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/llama/event.h"
#include "core/llama/model/adapter_use.h"
#include "core/llama/model/model.h"
#include "core/llama/request.h"
#include "core/llama/schedule/prompt_scores.h"
#include "core/llama/schedule/suspended.h"
#include "core/llama/sampling/sampler.h"
#include "core/llama/speculation/guess_length.h"
#include "core/llama/text/stop_matcher.h"
#include "core/llama/text/utf8_stream.h"
#include "core/llama/vision/prompt_image.h"

namespace aana::llama {

// One request from its arrival to its end: its prompt, what was sampled since, and the text that its reader has not
// seen.
class Sequence {
 public:
  explicit Sequence(ReadRequest request);

  RequestId id() const { return id_; }
  const RequestTerms& terms() const { return terms_; }
  const AdapterUse& adapter() const { return adapter_; }
  // Only sequences with the same key may use what was computed for it.
  const std::string& cache_key() const { return terms_.cache_key; }
  std::chrono::steady_clock::time_point arrived_at() const { return arrived_at_; }
  // What the context must hold before it goes on: the prompt, then the sampled tokens but for the last one, without the
  // tokens that Shift took out.
  const std::vector<llama_token>& history() const { return history_; }
  // In the order of their places in the history. A sequence with images is never shifted.
  const std::vector<PromptImage>& images() const { return images_; }
  // Returns the image that the history has at this position; null where it has a token.
  const PromptImage* ImageAt(size_t position) const;
  // Returns how many tokens lie between this position and the next image.
  size_t TokensBeforeImage(size_t position) const;
  int32_t n_prompt() const { return n_prompt_; }
  int32_t n_completion() const { return n_completion_; }
  // Whether next_token() is there: the prompt was read to its end once.
  bool HasNextToken() const { return next_token_ != LLAMA_TOKEN_NULL; }
  // The last sampled token, to be decoded next.
  llama_token next_token() const { return next_token_; }

  // Whether its logits must not depend on other requests. Then it is computed in fixed chunks.
  bool is_reproducible() const { return sampling_.is_reproducible; }
  // Whether a full context forgets a part of its history.
  bool may_shift() const { return n_kept_.has_value(); }
  // Tokens of its beginning that need not be computed when they are there.
  size_t MostReused() const;
  // Most tokens that one step may compute for it from `position` on; a reproducible sequence needs exactly so many.
  size_t MostInStep(size_t position) const;
  // Whether the logits of its token at this position are needed, for the next token or for the scores of the prompt.
  bool WantsLogits(size_t position) const;

  // Its reader has too much to read.
  bool IsPaused() const { return n_unread_ >= kMaxUnread; }
  // Since when its reader has taken nothing; of one that is paused.
  std::chrono::steady_clock::time_point paused_at() const { return paused_at_; }
  void Acknowledge(int64_t n_events) { n_unread_ -= n_events < n_unread_ ? n_events : n_unread_; }

  struct Progress {
    std::optional<TextEvent> text;
    std::optional<FinishReason> finished;
  };
  // Tokens that left the history.
  struct Gap {
    size_t first = 0;
    size_t n_tokens = 0;
  };
  // When the context is full, takes the older half of the tokens behind the beginning out of the history, where the
  // request allows it. `n_context` tokens fit into the context.
  std::optional<Gap> Shift(int32_t n_context);

  // Chooses a token by the logits, which it changes. `n_context` tokens fit into the context. Throws SamplingError.
  Progress Sample(std::span<float> logits, SamplingMemory& memory, const Model& model, int32_t n_context);

  // Whether the scores of its prompt's tokens were asked for.
  bool HasPromptScores() const { return prompt_scores_.has_value(); }
  // Whether its prompt is read with scores at the moment.
  bool IsPromptScored() const { return HasPromptScores() && !HasNextToken(); }
  // Takes the scores that the logits of the token at this position give. Throws SamplingError.
  void ScorePrompt(size_t position, std::span<const float> logits, SamplingMemory& memory, const Model& model);
  // Returns the tokens of the prompt that were scored since the last time.
  std::optional<TextEvent> TakePromptScores();

  // Returns how many tokens after next_token() to guess, at most `n_allowed` now and `n_most` ever; `n_context` tokens
  // fit into the context.
  size_t GuessedTokens(size_t n_most, size_t n_allowed, int32_t n_context);
  // Guesses them from the text itself. Empty where nothing is guessed.
  std::vector<llama_token> GuessFromText(size_t n_wanted);
  // How many of the guessed tokens were sampled.
  void NoteAccepted(size_t n_guessed, size_t n_accepted) { guess_length_->Learn(n_guessed, n_accepted); }

  // It got a slot, for the first time or again.
  void NoteAdmitted();
  // The context holds the first `n` tokens of it, or will when a guess comes true.
  void NoteHeld(size_t n);

  Event End(FinishReason reason) const;
  Event Failure(ErrorCode code, Fault fault, std::string message, int32_t n_context) const;

  // Prompt tokens that were there when it began.
  int32_t n_reused = 0;
  // Tokens of its beginning that texts of its own tenant had then. Its reader is told of no others, because they would
  // tell what others sent.
  int32_t n_own = 0;
  // Order of arrival.
  uint64_t number = 0;
  // Tokens that were computed for it since it got its slot, without those that had been computed before.
  size_t n_in_turn = 0;
  // What it had computed when it was paused for another tenant; empty: nothing, or it has a slot.
  std::optional<Suspended> suspended;
  // Lost its slot because the cells ran out.
  bool is_preempted = false;
  // Began to compute.
  bool has_begun = false;
  // Tokens of its prompt for which its tenant was charged since it got its slot.
  int64_t n_charged = 0;
  // Those that were not computed before it lost its slot, to be charged when it goes on.
  int64_t n_refunded = 0;

 private:
  Timings TimingsNow() const;

  static constexpr int64_t kMaxUnread = 64;  // text events

  // The context has no room for a token after the next one.
  bool IsFull(int32_t n_context) const { return history_.size() + 1 >= static_cast<size_t>(n_context); }
  bool CanShift() const { return n_kept_ && history_.size() > *n_kept_; }
  // The answer ends with this token, which is no part of it.
  bool IsEnd(llama_token token, const Model& model) const;
  std::string PieceOf(llama_token token, const Model& model) const;
  std::optional<TextEvent> TakeText(std::string text);
  // Counts an event that the reader has to take.
  void NoteUnread();
  // With the scores that no text has taken.
  Progress Ended(std::string text, FinishReason reason);

  RequestId id_;
  RequestTerms terms_;
  AdapterUse adapter_;
  SamplingParams sampling_;
  TokenRules rules_;
  std::vector<llama_token> shown_tokens_;  // control tokens that are part of the text
  std::vector<llama_token> history_;
  std::vector<PromptImage> images_;
  int32_t n_prompt_;
  size_t n_most_held_ = 0;        // tokens of the history that the context held at some time
  size_t n_prompt_held_;          // tokens of the prompt that are left in the history
  std::optional<size_t> n_kept_;  // tokens of the history that no shift takes out
  Dropped dropped_;
  std::optional<Sampler> sampler_;           // made when it is needed first
  std::optional<GuessLength> guess_length_;  // made when it is needed first
  std::optional<PromptScores> prompt_scores_;
  Utf8Stream utf8_;
  StopMatcher stop_matcher_;
  std::string stop_;  // the stop string that came
  llama_token next_token_ = LLAMA_TOKEN_NULL;
  int32_t n_completion_ = 0;
  int32_t n_unsent_ = 0;  // tokens whose text is not in an event yet
  std::vector<TokenScores> unsent_scores_;
  int64_t n_unread_ = 0;
  std::chrono::steady_clock::time_point paused_at_;
  const std::chrono::steady_clock::time_point arrived_at_;
  std::optional<std::chrono::steady_clock::time_point> admitted_at_;
  std::optional<std::chrono::steady_clock::time_point> first_token_at_;
};

}  // namespace aana::llama
