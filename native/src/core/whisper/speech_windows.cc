#include "core/whisper/speech_windows.h"

#include <algorithm>
#include <span>

namespace aana {
namespace {

constexpr size_t kMinimum = kSampleRate;

}  // namespace

std::vector<float> SpeechWindow::Samples(const AudioSource& media) const {
  std::vector<float> samples;
  for (const auto& piece : pieces_) {
    const auto at = samples.size();
    samples.resize(at + static_cast<size_t>(piece.end - piece.begin));
    media.Read(piece.begin, std::span(samples).subspan(at));
  }
  samples.resize(std::max(samples.size(), kMinimum));
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

}  // namespace aana
