#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/deleter.h"
#include "core/whisper/types.h"

struct whisper_context;
struct whisper_state;
extern "C" void whisper_free(whisper_context* context);
extern "C" void whisper_free_state(whisper_state* state);

namespace aana {

using WhisperContextPtr = std::unique_ptr<whisper_context, Deleter<whisper_free>>;
using WhisperStatePtr = std::unique_ptr<whisper_state, Deleter<whisper_free_state>>;

// Loaded weights, with the states that compute with them. Any thread.
class WhisperWeights {
 public:
  // `alignment_heads` is a whisper_alignment_heads_preset; 0 means none. The attention of these heads aligns words to
  // the audio. They exclude flash attention and cost a further pass over the text. Throws a WhisperError that names the
  // file.
  WhisperWeights(const WhisperOptions& options, int alignment_heads);

  whisper_context* context() const { return context_.get(); }
  bool has_alignment() const { return has_alignment_; }

  // A state for one transcription, returned on destruction. Borrow makes a new state if none is free.
  class BorrowedState {
   public:
    BorrowedState(WhisperWeights& weights, WhisperStatePtr state) : weights_(weights), state_(std::move(state)) {}
    ~BorrowedState();
    BorrowedState(const BorrowedState&) = delete;
    BorrowedState& operator=(const BorrowedState&) = delete;
    whisper_state* get() const { return state_.get(); }
    // Call this when whisper.cpp has freed the state because of an error.
    void Lost() { (void)state_.release(); }
    // Call this when the content of the state is undefined.
    void Discard() { state_.reset(); }

   private:
    WhisperWeights& weights_;
    WhisperStatePtr state_;
  };
  BorrowedState Borrow();

 private:
  // Destroyed in reverse order: the states before the context that they point into.
  WhisperContextPtr context_;
  bool has_alignment_ = false;
  std::mutex mutex_;
  std::vector<WhisperStatePtr> free_states_;
};

struct WhisperModelInfo {
  bool multilingual;
  int vocabulary_size;
  std::string type;
};

// A model, and a second copy of its weights after the first request for word times.
class WhisperModel {
 public:
  explicit WhisperModel(WhisperOptions options);

  WhisperModelInfo info() const;
  WhisperWeights& plain() { return *plain_; }
  // Returns the same weights as plain() if the model's alignment heads are unknown.
  WhisperWeights& with_word_times();

 private:
  WhisperOptions options_;
  std::unique_ptr<WhisperWeights> plain_;
  std::mutex mutex_;
  std::unique_ptr<WhisperWeights> with_word_times_;
};

}  // namespace aana
