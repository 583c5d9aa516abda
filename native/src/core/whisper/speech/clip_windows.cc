#include "core/whisper/speech/clip_windows.h"

#include <algorithm>

#include "core/whisper/speech/quiet_place.h"

namespace aana {

bool CanCutClips(const AudioSource& audio, const std::vector<SpeechRegion>& clips) {
  return !audio.is_growing() ||
         std::all_of(clips.begin(), clips.end(), [&](const SpeechRegion& clip) { return clip.end <= audio.size(); });
}

std::vector<SpeechWindow> ClipWindows(const AudioSource& audio, std::vector<SpeechRegion> clips, int64_t window) {
  std::stable_sort(clips.begin(), clips.end(),
                   [](const SpeechRegion& a, const SpeechRegion& b) { return a.begin < b.begin; });
  std::vector<SpeechWindow> windows;
  const auto add = [&](int64_t begin, int64_t end) {
    SpeechWindow added({{begin, end}});
    if (added.HasSound(audio)) windows.push_back(std::move(added));
  };
  for (const auto& clip : clips) {
    auto begin = std::clamp<int64_t>(clip.begin, 0, audio.size());
    const auto end = std::clamp<int64_t>(clip.end, begin, audio.size());
    while (end - begin > window) {
      const auto place =
          QuietestPlace(audio, begin + Filled(window), std::min(begin + window, end - ShortestRest(window)));
      add(begin, place);
      begin = place;
    }
    if (begin < end) add(begin, end);
  }
  return windows;
}

}  // namespace aana
