#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "core/whisper/audio/audio_source.h"
#include "core/whisper/types.h"

namespace aana {

// Audio that is transcribed in one pass: pieces of the media joined end to end. Only long silences between pieces are
// left out.
class SpeechWindow {
 public:
  explicit SpeechWindow(std::vector<SpeechRegion> pieces) : pieces_(std::move(pieces)) {}

  const std::vector<SpeechRegion>& pieces() const { return pieces_; }
  int64_t begin() const { return pieces_.front().begin; }
  int64_t end() const { return pieces_.back().end; }

  // Reads the samples of all pieces. Adds silence up to one second, because the model fails on shorter audio. Throws an
  // AudioError.
  std::vector<float> Samples(const AudioSource& media) const;

  enum class Side { kStart, kEnd };
  // Converts seconds in the window to seconds in the media. Where two pieces meet, a start gets the later time and an
  // end the earlier one.
  double ToMedia(double seconds, Side side) const;

 private:
  std::vector<SpeechRegion> pieces_;
};

}  // namespace aana
