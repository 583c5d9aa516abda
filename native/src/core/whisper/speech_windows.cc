#include "core/whisper/speech_windows.h"

#include <algorithm>
#include <span>

namespace aana {
namespace {

constexpr size_t kMinimum = kSampleRate;
// Above this probability a frame has a voice.
constexpr float kVoice = 0.5F;
// The mean log-probability of the tokens of a text that counts although there is hardly a voice: a probability of 0.61.
constexpr double kVerySure = -0.5;

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

bool SpeechWindow::HasSound(const AudioSource& media) const {
  std::vector<float> samples;
  for (int64_t at = begin(); at < end(); at += kSampleRate) {
    samples.resize(static_cast<size_t>(std::min<int64_t>(kSampleRate, end() - at)));
    media.Read(at, samples);
    if (std::any_of(samples.begin(), samples.end(), [](float sample) { return sample != 0; })) return true;
  }
  return false;
}

double SpeechWindow::ToMedia(double seconds, Side side) const {
  auto at = static_cast<int64_t>(seconds * kSampleRate);
  for (const auto& piece : pieces_) {
    const auto length = piece.end - piece.begin;
    if (at < length || (at == length && side == Side::kEnd))
      return static_cast<double>(piece.begin + std::max<int64_t>(0, at)) / kSampleRate;
    at -= length;
  }
  return static_cast<double>(end()) / kSampleRate;
}

void LeaveOutInvented(const SpeechWindow& window, const WhisperParams& params, std::vector<WhisperSegment>& segments) {
  if (window.voice() >= kVoice) return;
  std::erase_if(segments, [&](const WhisperSegment& segment) {
    return segment.average_log_probability < kVerySure ||
           segment.no_speech_probability > static_cast<double>(params.no_speech_threshold);
  });
}

}  // namespace aana
