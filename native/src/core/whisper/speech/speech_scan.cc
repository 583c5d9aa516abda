#include "core/whisper/speech/speech_scan.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <span>

#include "core/whisper/speech/speech_cutter.h"
#include "core/whisper/speech/whole_cutter.h"

namespace aana {
namespace {

constexpr int64_t kPartSamples = 4 * kSampleRate;
// A window without a frame of this probability has no voice. Noise, tones and instruments lie below it.
constexpr float kNoVoice = 0.1F;
static_assert(kPartSamples % VoiceDetector::kFrameSamples == 0);

std::unique_ptr<WindowCutter> MakeCutter(const AudioSource& audio, Coverage coverage, const SpeechRules& rules) {
  if (coverage == Coverage::kSpeech) return std::make_unique<SpeechCutter>(audio, rules);
  return std::make_unique<WholeCutter>(audio, rules.max_window);
}

}  // namespace

SpeechScan::SpeechScan(const AudioSource& audio, Coverage coverage, const SpeechRules& rules)
    : audio_(audio),
      coverage_(coverage),
      finder_(VoiceDetector::kFrameSamples, std::numeric_limits<int64_t>::max(), rules),
      cutter_(MakeCutter(audio, coverage, rules)) {}

// A part that ends where the samples end may be the last one, which is not known before the audio is complete.
bool SpeechScan::CanAdvance() const { return !audio_.is_growing() || audio_.size() - position_ > kPartSamples; }

std::vector<SpeechWindow> SpeechScan::Advance(VoiceDetector& detector) {
  std::vector<float> part(static_cast<size_t>(std::min(kPartSamples, audio_.size() - position_)));
  audio_.Read(position_, part);
  const auto probabilities = detector.Detect(part, state_);
  if (!audio_.is_growing()) finder_.set_total(audio_.size());
  if (coverage_ == Coverage::kWhole) {
    for (size_t i = 0; i < probabilities.size(); i++) {
      const auto second =
          static_cast<size_t>((position_ + static_cast<int64_t>(i) * VoiceDetector::kFrameSamples) / kSampleRate);
      voices_.resize(std::max(voices_.size(), second + 1));
      voices_[second] = std::max(voices_[second], probabilities[i]);
    }
  }
  auto ended = finder_.Add(probabilities);
  position_ += static_cast<int64_t>(part.size());
  const bool is_end = IsAtEnd();
  if (is_end) {
    for (const auto& region : finder_.Finish()) ended.push_back(region);
  }
  auto windows = cutter_->Cut({ended, finder_.open(), finder_.next_begin(), finder_.settled(), is_end});
  if (coverage_ == Coverage::kSpeech) {
    // The model invents words for zeros, which are speech if the caller's threshold is 0.
    std::erase_if(windows, [this](const SpeechWindow& window) { return !window.HasSound(audio_); });
    return windows;
  }
  std::move(windows.begin(), windows.end(), std::back_inserter(unheard_));
  return TakeHeard();
}

std::vector<SpeechWindow> SpeechScan::TakeHeard() {
  std::vector<SpeechWindow> heard;
  const auto rest = std::find_if(unheard_.begin(), unheard_.end(),
                                 [this](const SpeechWindow& window) { return window.end() > position_; });
  for (auto window = unheard_.begin(); window != rest; ++window) {
    window->set_voice(VoiceIn(*window));
    // Where nobody speaks, the model may invent words.
    if (window->voice() >= kNoVoice && window->HasSound(audio_)) heard.push_back(std::move(*window));
  }
  unheard_.erase(unheard_.begin(), rest);
  return heard;
}

float SpeechScan::VoiceIn(const SpeechWindow& window) const {
  float voice = 0;
  for (int64_t at = window.begin() / kSampleRate;
       at * kSampleRate < window.end() && static_cast<size_t>(at) < voices_.size(); at++) {
    voice = std::max(voice, voices_[static_cast<size_t>(at)]);
  }
  return voice;
}

bool SpeechScan::IsAtEnd() const { return !audio_.is_growing() && position_ == audio_.size(); }

bool SpeechScan::is_complete() const { return IsAtEnd() || (cutter_->is_complete() && unheard_.empty()); }

}  // namespace aana
