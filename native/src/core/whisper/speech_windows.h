#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/whisper/types.h"

namespace aana {

// Audio that is transcribed in one go: pieces of the media laid end to end. Only long silences are left out between pieces.
class SpeechWindow {
 public:
  explicit SpeechWindow(std::vector<SpeechRegion> pieces) : pieces_(std::move(pieces)) {}

  const std::vector<SpeechRegion>& pieces() const { return pieces_; }
  int64_t begin() const { return pieces_.front().begin; }
  int64_t end() const { return pieces_.back().end; }

  // Samples of all pieces, at least a second: shorter audio confuses the model, silence is added.
  std::vector<float> Samples(std::span<const float> media) const;

  enum class Side { kStart, kEnd };
  // Seconds in the window to seconds in the media. A time where two pieces meet is the later one for a start, the earlier for an end.
  double ToMedia(double seconds, Side side) const;

 private:
  std::vector<SpeechRegion> pieces_;
};

// Windows of at most 30 s that cover the regions in order. Windows end in silence; a region that is longer is cut where it is quietest.
// Regions are ascending and do not overlap.
std::vector<SpeechWindow> MakeSpeechWindows(std::span<const SpeechRegion> regions, std::span<const float> media);

}  // namespace aana
