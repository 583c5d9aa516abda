#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/whisper/types.h"

namespace aana {

// Finds regions of speech in the probabilities of successive frames, as they become known. A region begins where the
// probability rises above a threshold, and ends where it stays below a lower threshold. Regions are ascending and
// apart.
class SpeechRegionFinder {
 public:
  // `total_samples` is the length of the audio, or more while it is not known.
  SpeechRegionFinder(int64_t frame_samples, int64_t total_samples, const SpeechRules& rules = {})
      : frame_samples_(frame_samples), total_samples_(total_samples), rules_(rules) {}

  // Tells the length of the audio, before its last frame is added.
  void set_total(int64_t total_samples) { total_samples_ = total_samples; }

  // Each returns the regions that ended.
  std::vector<SpeechRegion> Add(std::span<const float> probabilities);
  std::vector<SpeechRegion> Finish();

  // The region that has begun. Its `end` is the least that is possible. Empty while it may still be too short.
  std::optional<SpeechRegion> open() const;
  // No region that has not ended begins before this.
  int64_t next_begin() const { return speech_begin_ >= 0 ? speech_begin_ : position(); }
  // It is known for each sample before this one whether it is speech.
  int64_t settled() const;

 private:
  int64_t position() const;
  // The least end of the region that has begun.
  int64_t least_end() const { return silence_begin_ >= 0 ? silence_begin_ : position(); }
  void Close(int64_t end, std::vector<SpeechRegion>& ended);

  const int64_t frame_samples_;
  int64_t total_samples_;
  const SpeechRules rules_;
  int64_t n_frames_ = 0;
  int64_t speech_begin_ = -1;   // of the region that has begun
  int64_t silence_begin_ = -1;  // inside of it
};

// What is known about the speech of an audio after a part of it was analysed.
struct SpeechSoFar {
  std::span<const SpeechRegion> ended;  // since the last time
  // See SpeechRegionFinder.
  std::optional<SpeechRegion> open;
  int64_t next_begin;
  int64_t settled;
  bool is_complete;  // the whole audio was analysed
};

}  // namespace aana
