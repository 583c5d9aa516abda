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

  // The highest probability of speech in a frame of 32 ms; 1 if it was not looked for.
  float voice() const { return voice_; }
  void set_voice(float voice) { voice_ = voice; }
  const std::vector<SpeechRegion>& pieces() const { return pieces_; }
  int64_t begin() const { return pieces_.front().begin; }
  int64_t end() const { return pieces_.back().end; }

  // Reads the samples of all pieces. Adds silence up to one second, because the model fails on shorter audio. Throws an
  // AudioError.
  std::vector<float> Samples(const AudioSource& media) const;

  // Whether there is a sample that is not 0 between the begin and the end. Throws an AudioError.
  bool HasSound(const AudioSource& media) const;

  enum class Side { kStart, kEnd };
  // Converts seconds in the window to seconds in the media. Where two pieces meet, a start gets the later time and an
  // end the earlier one.
  double ToMedia(double seconds, Side side) const;

 private:
  std::vector<SpeechRegion> pieces_;
  float voice_ = 1;
};

// Leaves out what the model has probably invented in a window with hardly a voice: text of which it is not very sure,
// and text where it hears no speech.
void LeaveOutInvented(const SpeechWindow& window, const WhisperParams& params, std::vector<WhisperSegment>& segments);

}  // namespace aana
