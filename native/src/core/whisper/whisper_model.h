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

// Loaded weights with the states that compute over them. Any thread.
class WhisperWeights {
 public:
  // `alignment_heads` (a whisper_alignment_heads_preset, 0 is none) are those whose attention aligns words to the audio; they rule out
  // flash attention and cost a further pass over the text. Throws WhisperError that names the file.
  WhisperWeights(const WhisperOptions& options, int alignment_heads);

  whisper_context* context() const { return context_.get(); }
  bool has_alignment() const { return has_alignment_; }

  // A state for one transcription, given back on destruction. Made when none is free.
  class Lease {
   public:
    Lease(WhisperWeights& weights, WhisperStatePtr state) : weights_(weights), state_(std::move(state)) {}
    ~Lease();
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    whisper_state* get() const { return state_.get(); }
    // whisper.cpp freed it on an error of its own.
    void Lost() { (void)state_.release(); }
    // It cannot be told what is in it.
    void Discard() { state_.reset(); }

   private:
    WhisperWeights& weights_;
    WhisperStatePtr state_;
  };
  Lease Acquire();

 private:
  // Destroyed in reverse order: states go before the context they point into.
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

// A model, and a second copy of its weights once somebody asks for word times.
class WhisperModel {
 public:
  explicit WhisperModel(WhisperOptions options);

  WhisperModelInfo info() const;
  WhisperWeights& plain() { return *plain_; }
  // The same as plain() where the model's alignment heads are not known.
  WhisperWeights& with_word_times();

 private:
  WhisperOptions options_;
  std::unique_ptr<WhisperWeights> plain_;
  std::mutex mutex_;
  std::unique_ptr<WhisperWeights> with_word_times_;
};

}  // namespace aana
