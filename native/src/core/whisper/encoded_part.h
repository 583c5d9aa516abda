#pragma once

#include <utility>
#include <vector>

namespace aana {

// The part of a spectrogram that a state of whisper.cpp encoded to detect its language, so that its transcription need not encode it again. A member of
// whisper_state, which native/cmake/whisper.cmake adds.
class EncodedPart {
 public:
  void Set(const std::vector<float>& spectrogram, int offset, int n_positions) {
    spectrogram_ = spectrogram;
    offset_ = offset;
    n_positions_ = n_positions;
    is_there_ = true;
  }
  // Called before the state encodes a part. Returns whether it has encoded that part last, and forgets it.
  bool Take(const std::vector<float>& spectrogram, int offset, int n_positions) {
    return std::exchange(is_there_, false) && offset == offset_ && n_positions == n_positions_ && spectrogram == spectrogram_;
  }

 private:
  std::vector<float> spectrogram_;
  int offset_ = 0;
  int n_positions_ = 0;
  bool is_there_ = false;
};

}  // namespace aana
