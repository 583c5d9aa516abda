#include "core/whisper/speech/quiet_place.h"

#include <limits>
#include <vector>

namespace aana {

int64_t QuietestPlace(const AudioSource& audio, int64_t begin, int64_t end) {
  constexpr int64_t kStep = kSampleRate / 50;
  constexpr int64_t kSpan = 10 * kStep;
  std::vector<float> samples(static_cast<size_t>(end - begin));
  audio.Read(begin, samples);
  int64_t best = end;
  double least = std::numeric_limits<double>::infinity();
  for (int64_t at = begin; at + kSpan <= end; at += kStep) {
    double energy = 0;
    for (int64_t i = at; i < at + kSpan; i++) {
      const double sample = samples[static_cast<size_t>(i - begin)];
      energy += sample * sample;
    }
    if (energy < least) {
      least = energy;
      best = at + kSpan / 2;
    }
  }
  return best;
}

}  // namespace aana
