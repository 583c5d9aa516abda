#include "core/whisper/speech/speech_regions.h"

#include <algorithm>

namespace aana {

std::vector<SpeechRegion> SpeechRegionFinder::Add(std::span<const float> probabilities) {
  std::vector<SpeechRegion> ended;
  for (const float probability : probabilities) {
    const auto at = n_frames_++ * frame_samples_;
    if (probability >= rules_.threshold) {
      if (speech_begin_ < 0) speech_begin_ = at;
      silence_begin_ = -1;
    } else if (speech_begin_ >= 0 && probability < rules_.neg_threshold) {
      if (silence_begin_ < 0) silence_begin_ = at;
      if (at + frame_samples_ - silence_begin_ >= rules_.min_silence) Close(silence_begin_, ended);
    }
  }
  return ended;
}

std::vector<SpeechRegion> SpeechRegionFinder::Finish() {
  std::vector<SpeechRegion> ended;
  if (speech_begin_ >= 0) Close(silence_begin_ >= 0 ? silence_begin_ : total_samples_, ended);
  return ended;
}

std::optional<SpeechRegion> SpeechRegionFinder::open() const {
  if (speech_begin_ < 0 || least_end() - speech_begin_ < rules_.min_speech) return std::nullopt;
  return SpeechRegion{speech_begin_, least_end()};
}

int64_t SpeechRegionFinder::settled() const { return speech_begin_ < 0 || open() ? least_end() : speech_begin_; }

int64_t SpeechRegionFinder::position() const { return std::min(n_frames_ * frame_samples_, total_samples_); }

void SpeechRegionFinder::Close(int64_t end, std::vector<SpeechRegion>& ended) {
  if (end - speech_begin_ >= rules_.min_speech) ended.push_back({speech_begin_, end});
  speech_begin_ = silence_begin_ = -1;
}

}  // namespace aana
