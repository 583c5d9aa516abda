#pragma once

#include <cstdint>
#include <vector>

#include "core/whisper/audio/audio_source.h"
#include "core/whisper/speech/speech_regions.h"
#include "core/whisper/speech_windows.h"

namespace aana {

// Cuts an audio into windows while its speech is being found. The windows do not depend on the size of
// the parts in which the audio is analysed.
class WindowCutter {
 public:
  virtual ~WindowCutter() = default;

  // Returns the next windows, in order of time. Throws an AudioError.
  virtual std::vector<SpeechWindow> Cut(const SpeechSoFar& speech) = 0;

  // No further window begins before this.
  virtual int64_t next_begin() const = 0;
  // Whether all windows were returned.
  virtual bool is_complete() const = 0;
};

}  // namespace aana
