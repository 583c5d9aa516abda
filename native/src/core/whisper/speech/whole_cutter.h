#pragma once

#include <cstdint>
#include <vector>

#include "core/whisper/speech/window_cutter.h"
#include "core/whisper/speech/window_size.h"

namespace aana {

// Cuts windows that cover the whole audio without gaps. They end in the longest pauses of the speech near `window`;
// without a pause, at the quietest place.
class WholeCutter : public WindowCutter {
 public:
  explicit WholeCutter(const AudioSource& audio, int64_t window = kWindow) : audio_(audio), window_(window) {}

  std::vector<SpeechWindow> Cut(const SpeechSoFar& speech) override;
  int64_t next_begin() const override { return begin_; }
  bool is_complete() const override { return !audio_.is_growing() && begin_ == audio_.size(); }

 private:
  // Whether a window ends before the audio does, and its place can be chosen.
  bool IsCut() const;
  // Returns the place in [begin, end) where a window ends.
  int64_t Place(int64_t begin, int64_t end) const;
  // Returns a window from the end of the last one to `end`.
  SpeechWindow WindowTo(int64_t end);

  const AudioSource& audio_;
  const int64_t window_;
  int64_t begin_ = 0;                 // of the next window
  std::vector<SpeechRegion> speech_;  // the regions that end later; the last one may go on
  bool is_last_open_ = false;
};

}  // namespace aana
