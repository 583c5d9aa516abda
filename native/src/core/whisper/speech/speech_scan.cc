#include "core/whisper/speech/speech_scan.h"

#include <algorithm>
#include <span>

#include "core/whisper/speech/speech_cutter.h"
#include "core/whisper/speech/whole_cutter.h"

namespace aana {
namespace {

constexpr int64_t kPartSamples = 4 * kSampleRate;
static_assert(kPartSamples % VoiceDetector::kFrameSamples == 0);

std::unique_ptr<WindowCutter> MakeCutter(const AudioSource& audio, Coverage coverage) {
  switch (coverage) {
    case Coverage::kSpeech: return std::make_unique<SpeechCutter>(audio);
    case Coverage::kWhole: return std::make_unique<WholeCutter>(audio);
    case Coverage::kNone: break;
  }
  return nullptr;
}

}  // namespace

SpeechScan::SpeechScan(const AudioSource& audio, Coverage coverage)
    : audio_(audio), coverage_(coverage), finder_(VoiceDetector::kFrameSamples, audio.size()), cutter_(MakeCutter(audio, coverage)) {}

std::vector<SpeechWindow> SpeechScan::Advance(VoiceDetector& detector) {
  std::vector<float> part(static_cast<size_t>(std::min(kPartSamples, audio_.size() - position_)));
  audio_.Read(position_, part);
  auto ended = finder_.Add(detector.Detect(part, state_));
  position_ += static_cast<int64_t>(part.size());
  const bool is_end = position_ == audio_.size();
  if (is_end) {
    for (const auto& region : finder_.Finish()) ended.push_back(region);
  }
  if (!cutter_) {
    regions_.insert(regions_.end(), ended.begin(), ended.end());
    return {};
  }
  auto windows = cutter_->Cut({ended, finder_.open(), finder_.next_begin(), finder_.settled(), is_end});
  // Zeros have no words, but the model may invent some.
  if (coverage_ == Coverage::kWhole) std::erase_if(windows, [this](const SpeechWindow& window) { return !HasSound(window); });
  return windows;
}

bool SpeechScan::is_complete() const { return position_ == audio_.size() || (cutter_ && cutter_->is_complete()); }

bool SpeechScan::HasSound(const SpeechWindow& window) const {
  std::vector<float> samples;
  for (int64_t at = window.begin(); at < window.end(); at += kSampleRate) {
    samples.resize(static_cast<size_t>(std::min<int64_t>(kSampleRate, window.end() - at)));
    audio_.Read(at, samples);
    if (std::any_of(samples.begin(), samples.end(), [](float sample) { return sample != 0; })) return true;
  }
  return false;
}

}  // namespace aana
