#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/whisper/speech/window_cutter.h"

namespace aana {

// Cuts windows that cover the speech. Windows end in silence. A region that is too long is cut at its quietest places.
// Long silences are left out. A window spans at most 2 minutes of the audio, so it is known soon after its speech.
class SpeechCutter : public WindowCutter {
 public:
  explicit SpeechCutter(const AudioSource& audio, const SpeechRules& rules = {});

  std::vector<SpeechWindow> Cut(const SpeechSoFar& speech) override;
  int64_t next_begin() const override;
  bool is_complete() const override { return is_complete_; }

 private:
  // The last region of speech that is known.
  struct Tail {
    int64_t begin;  // with its padding, or where it was cut last
    int64_t end;    // without padding
    bool is_open;   // it may go on
  };

  bool FitIntoWindow(std::span<const SpeechRegion> parts) const;
  // Returns how many of the first `n_fitting` parts form a window. More parts follow.
  size_t BestCount(std::span<const SpeechRegion> parts, size_t n_fitting) const;
  void Take(const SpeechRegion& region, bool is_open);
  // The padding before a region that begins there. The silence between two regions is shared by their paddings.
  int64_t PadBefore(int64_t begin) const;
  // The least padded end of the tail.
  int64_t TailEnd() const;
  // The least end of the next part, because a tail that becomes too long is cut.
  int64_t LeastPartEnd() const;
  bool IsTailSettled() const;
  // Cuts the tail, which ends at `end` or later.
  void CutTail(int64_t end);
  void EndTail(int64_t end);
  std::optional<SpeechWindow> NextWindow();

  const AudioSource& audio_;
  const int64_t pad_;
  const int64_t longest_window_;
  const int64_t longest_part_;
  // Regions with their padding, cut where they are too long, that are in no window yet. All but the last known region.
  std::vector<SpeechRegion> parts_;
  std::optional<Tail> tail_;
  int64_t previous_end_ = -1;  // of the last known region, without padding
  int64_t speech_next_begin_ = 0;
  bool is_complete_ = false;
};

}  // namespace aana
