#include "core/whisper/speech/whole_cutter.h"

#include <algorithm>
#include <utility>

#include "core/whisper/speech/quiet_place.h"

namespace aana {
namespace {

// Shorter pauses are parts of pauses that lie outside.
constexpr int64_t kMinimumPause = kSampleRate / 10;
// The longest silence before the first speech of a window.
constexpr int64_t kSilentBeginning = kSampleRate / 2;

}  // namespace

std::vector<SpeechWindow> WholeCutter::Cut(const SpeechSoFar& speech) {
  const auto take = [&](const SpeechRegion& region) {
    if (std::exchange(is_last_open_, false))
      speech_.back() = region;
    else
      speech_.push_back(region);
  };
  for (const auto& region : speech.ended) take(region);
  if (speech.open) {
    take(*speech.open);
    is_last_open_ = true;
  }
  const auto settled = speech.is_complete ? audio_.size() : speech.settled;
  std::vector<SpeechWindow> windows;
  while (IsCut()) {
    const auto latest = std::min(begin_ + window_, audio_.size() - ShortestRest(window_));
    if (settled < latest) return windows;
    windows.push_back(WindowTo(Place(begin_ + Filled(window_), latest)));
  }
  if (!audio_.is_growing() && begin_ < audio_.size()) windows.push_back(WindowTo(audio_.size()));
  return windows;
}

bool WholeCutter::IsCut() const {
  const auto left = audio_.size() - begin_;
  // While an audio grows, a window ends only where it would end at any length of the audio.
  return audio_.is_growing() ? left >= window_ + ShortestRest(window_) : left > window_;
}

int64_t WholeCutter::Place(int64_t begin, int64_t end) const {
  std::vector<SpeechRegion> pauses;
  int64_t at = begin;
  for (const auto& region : speech_) {
    if (std::min(region.begin, end) > at) pauses.push_back({at, std::min(region.begin, end)});
    at = std::max(at, region.end);
  }
  if (at < end) pauses.push_back({at, end});
  const auto is_shorter = [](const SpeechRegion& a, const SpeechRegion& b) {
    return a.end - a.begin < b.end - b.begin;
  };
  const auto best = std::max_element(pauses.rbegin(), pauses.rend(), is_shorter);  // of equal pauses the last one
  if (best == pauses.rend() || best->end - best->begin < kMinimumPause) return QuietestPlace(audio_, begin, end);
  // Most of a long pause stays behind the speech before it, because a silent beginning spoils the times of a window.
  return std::max(best->begin + (best->end - best->begin) / 2, best->end - kSilentBeginning);
}

SpeechWindow WholeCutter::WindowTo(int64_t end) {
  SpeechWindow window({{std::exchange(begin_, end), end}});
  const auto is_past = [&](const SpeechRegion& region) {
    return region.end <= begin_ && !(is_last_open_ && &region == &speech_.back());
  };
  speech_.erase(speech_.begin(), std::find_if_not(speech_.begin(), speech_.end(), is_past));
  return window;
}

}  // namespace aana
