#include "core/whisper/speech_windows.h"

#include <algorithm>
#include <limits>

namespace aana {
namespace {

constexpr int64_t Seconds(double seconds) { return static_cast<int64_t>(seconds * kSampleRate); }

constexpr int64_t kWindow = Seconds(30);
constexpr int64_t kMinimum = Seconds(1);
// Added around each region, so that soft beginnings and endings are not lost.
constexpr int64_t kPad = Seconds(0.2);
// A longer silence inside a window is shortened to this, half on each side.
constexpr int64_t kLongSilence = Seconds(2);
// A window may end at a silence of at least this length, even if more regions would fit.
constexpr int64_t kGoodSilence = Seconds(1);
// The part of a window that must be filled before it may end early, because each window costs the same.
constexpr double kFilled = 0.6;

std::vector<SpeechRegion> Pad(std::span<const SpeechRegion> regions, int64_t media_end) {
  std::vector<SpeechRegion> padded;
  for (size_t i = 0; i < regions.size(); i++) {
    const int64_t before = i == 0 ? regions[i].begin : (regions[i].begin - regions[i - 1].end) / 2;
    const int64_t after = (i + 1 == regions.size() ? media_end - regions[i].end : (regions[i + 1].begin - regions[i].end) / 2);
    padded.push_back({regions[i].begin - std::min(kPad, std::max<int64_t>(0, before)), regions[i].end + std::min(kPad, std::max<int64_t>(0, after))});
  }
  return padded;
}

// Returns the middle of the 0.2 s with the least energy in [begin, end).
int64_t QuietestPlace(std::span<const float> media, int64_t begin, int64_t end) {
  constexpr int64_t kStep = Seconds(0.02);
  constexpr int64_t kSpan = 10 * kStep;
  int64_t best = end;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t at = begin; at + kSpan <= end; at += kStep) {
    double energy = 0;
    for (int64_t i = at; i < at + kSpan; i++) energy += static_cast<double>(media[i]) * media[i];
    if (energy < least) {
      least = energy;
      best = at + kSpan / 2;
    }
  }
  return best;
}

std::vector<SpeechRegion> CutLong(const std::vector<SpeechRegion>& regions, std::span<const float> media) {
  std::vector<SpeechRegion> cut;
  for (auto region : regions) {
    while (region.end - region.begin > kWindow) {
      const auto at = QuietestPlace(media, region.begin + static_cast<int64_t>(kFilled * kWindow), region.begin + kWindow);
      cut.push_back({region.begin, at});
      region.begin = at;
    }
    cut.push_back(region);
  }
  return cut;
}

// Returns the pieces of the regions [first, last].
std::vector<SpeechRegion> Pieces(const std::vector<SpeechRegion>& regions, size_t first, size_t last) {
  std::vector<SpeechRegion> pieces{regions[first]};
  for (size_t i = first + 1; i <= last; i++) {
    const auto silence = regions[i].begin - pieces.back().end;
    if (silence <= kLongSilence) {
      pieces.back().end = regions[i].end;
    } else {
      pieces.back().end += kLongSilence / 2;
      pieces.push_back({regions[i].begin - kLongSilence / 2, regions[i].end});
    }
  }
  return pieces;
}

int64_t Length(const std::vector<SpeechRegion>& pieces) {
  int64_t length = 0;
  for (const auto& piece : pieces) length += piece.end - piece.begin;
  return length;
}

// Returns the last region of a window that starts with region `first`.
size_t LastRegion(const std::vector<SpeechRegion>& regions, size_t first) {
  size_t fitting = first;
  while (fitting + 1 < regions.size() && Length(Pieces(regions, first, fitting + 1)) <= kWindow) fitting++;
  if (fitting + 1 == regions.size()) return fitting;
  size_t best = fitting;
  int64_t longest = -1;
  for (size_t last = fitting;; last--) {
    if (Length(Pieces(regions, first, last)) < static_cast<int64_t>(kFilled * kWindow) && longest >= 0) break;
    const auto silence = regions[last + 1].begin - regions[last].end;
    if (silence > longest) {
      longest = silence;
      best = last;
    }
    if (silence >= kGoodSilence || last == first) break;
  }
  return best;
}

}  // namespace

std::vector<float> SpeechWindow::Samples(std::span<const float> media) const {
  std::vector<float> samples;
  for (const auto& piece : pieces_) samples.insert(samples.end(), media.begin() + piece.begin, media.begin() + piece.end);
  samples.resize(std::max<size_t>(samples.size(), kMinimum));
  return samples;
}

double SpeechWindow::ToMedia(double seconds, Side side) const {
  auto at = static_cast<int64_t>(seconds * kSampleRate);
  for (const auto& piece : pieces_) {
    const auto length = piece.end - piece.begin;
    if (at < length || (at == length && side == Side::kEnd)) return static_cast<double>(piece.begin + std::max<int64_t>(0, at)) / kSampleRate;
    at -= length;
  }
  return static_cast<double>(end()) / kSampleRate;
}

std::vector<SpeechWindow> MakeSpeechWindows(std::span<const SpeechRegion> regions, std::span<const float> media) {
  const auto parts = CutLong(Pad(regions, static_cast<int64_t>(media.size())), media);
  std::vector<SpeechWindow> windows;
  for (size_t first = 0; first < parts.size();) {
    const auto last = LastRegion(parts, first);
    windows.emplace_back(Pieces(parts, first, last));
    first = last + 1;
  }
  return windows;
}

}  // namespace aana
