#pragma once

#include <cstdint>
#include <span>
#include <vector>

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

  // Returns the samples of all pieces. Adds silence up to one second, because the model fails on shorter audio.
  std::vector<float> Samples(std::span<const float> media) const;

  enum class Side { kStart, kEnd };
  // Converts seconds in the window to seconds in the media. Where two pieces meet, a start gets the later time and an
  // end the earlier one.
  double ToMedia(double seconds, Side side) const;

 private:
  std::vector<SpeechRegion> pieces_;
};

// Returns windows of at most 30 s that cover the regions in order. Windows end in silence. A longer region is cut at
// its quietest place. The regions must be ascending and must not overlap.
std::vector<SpeechWindow> MakeSpeechWindows(std::span<const SpeechRegion> regions, std::span<const float> media);

}  // namespace aana
