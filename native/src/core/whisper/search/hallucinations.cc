#include "core/whisper/search/hallucinations.h"

#include <algorithm>
#include <cstddef>
#include <span>

namespace aana {
namespace {

constexpr double kLeastProbability = 0.15;
constexpr double kLeastDuration = 0.133;
constexpr double kLongestDuration = 2.0;
// The anomaly of a word grows by this with each second that it is too short.
constexpr double kShortness = 15;
// Only the first words of a segment are looked at.
constexpr size_t kMostWords = 8;
// So much anomaly makes a segment of any length anomalous.
constexpr double kAnomaly = 3;
constexpr double kRounding = 0.01;
// Text that is nearer to the begin or the end of the audio has silence there.
constexpr double kNear = 2.0;
// The audio goes on at least so far behind the begin of a part.
constexpr double kLeastStep = 1.0;

double AnomalyOf(const TimedWord& word) {
  const double duration = word.end - word.start;
  double anomaly = word.probability < kLeastProbability ? 1 : 0;
  anomaly += std::max(0.0, kLeastDuration - duration) * kShortness;
  return anomaly + std::max(0.0, duration - kLongestDuration);
}

bool IsAnomalous(const std::vector<TimedWord>& words) {
  const auto first = std::span(words).first(std::min(kMostWords, words.size()));
  double anomaly = 0;
  for (const auto& word : first) anomaly += AnomalyOf(word);
  return anomaly >= kAnomaly || anomaly + kRounding >= static_cast<double>(first.size());
}

// Returns the place of the first segment with words from `begin` on, or the number of segments.
size_t NextWithWords(const std::vector<std::vector<TimedWord>>& words, size_t begin) {
  while (begin < words.size() && words[begin].empty()) begin++;
  return begin;
}

void Truncate(const WordedText& text, size_t n_segments) {
  text.segments.resize(n_segments);
  text.words.resize(n_segments);
}

}  // namespace

std::optional<double> LeaveOutHallucinations(WordedText text, double silence) {
  const auto& words = text.words;
  auto speech_end = text.speech_end;
  for (size_t i = NextWithWords(words, 0), next = i; i < words.size(); i = next) {
    const double start = text.segments[i].start;
    const double end = text.segments[i].end;
    next = NextWithWords(words, i + 1);
    if (IsAnomalous(words[i])) {
      const bool is_first = i == NextWithWords(words, 0);
      if (is_first && start > silence) {
        Truncate(text, 0);
        return start;
      }
      const bool has_next = next < words.size();
      const double rest = (has_next ? words[next].front().start : text.duration) - end;
      const bool is_silent_before = !speech_end || start - *speech_end > silence || start < kNear;
      const bool is_silent_after =
          rest > silence || (has_next && IsAnomalous(words[next])) || text.duration - end < kNear;
      if (is_silent_before && is_silent_after) {
        Truncate(text, i);
        return text.duration - end < silence ? text.duration : std::max(kLeastStep, start);
      }
    }
    speech_end = end;
  }
  return std::nullopt;
}

}  // namespace aana
