#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/deleter.h"
#include "core/whisper/audio/spectrogram.h"
#include "core/whisper/decoder/whisper_access.h"
#include "core/whisper/search/vocabulary.h"
#include "core/whisper/types.h"

struct whisper_context;
struct whisper_state;
extern "C" void whisper_free(whisper_context* context);
extern "C" void whisper_free_state(whisper_state* state);

namespace aana {

using WhisperContextPtr = std::unique_ptr<whisper_context, Deleter<whisper_free>>;
using WhisperStatePtr = std::unique_ptr<whisper_state, Deleter<whisper_free_state>>;

struct WhisperModelInfo {
  bool multilingual;
  int vocabulary_size;
  std::string type;
};

// Loaded weights, and what belongs to them. Any thread.
class WhisperModel {
 public:
  // Throws a WhisperError that names the file.
  explicit WhisperModel(const WhisperOptions& options);

  WhisperModelInfo info() const;
  whisper_context* context() const { return context_.get(); }
  const Vocabulary& vocabulary() const { return vocabulary_; }
  // The signs that are not spoken.
  const std::vector<int32_t>& non_speech_tokens() const { return non_speech_tokens_; }
  // The heads whose attention follows the speech. Those of the upper half of the layers where nobody has looked for
  // them.
  const std::vector<AlignmentHead>& alignment_heads() const { return alignment_heads_; }
  // Whether it cannot write times: the first distilled models.
  bool lacks_timestamps() const { return lacks_timestamps_; }

  std::vector<int32_t> Tokenise(const std::string& text) const;
  // Returns a state that encodes audio. Throws a WhisperError without memory.
  WhisperStatePtr NewState() const;
  // Gives the state the spectrogram of this audio, which it encodes from now on.
  void SetAudio(whisper_state* state, std::span<const float> samples) const;

 private:
  WhisperContextPtr context_;
  Spectrogram spectrogram_;
  Vocabulary vocabulary_;
  std::vector<int32_t> non_speech_tokens_;
  std::vector<AlignmentHead> alignment_heads_;
  bool lacks_timestamps_ = false;
};

}  // namespace aana
