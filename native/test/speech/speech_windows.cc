#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "../check.h"
#include "core/whisper/speech/quiet_place.h"
#include "core/whisper/speech/speech_cutter.h"
#include "core/whisper/speech/speech_regions.h"
#include "core/whisper/speech/whole_cutter.h"
#include "tests.h"

namespace aana::test {
namespace {

constexpr int64_t kFrame = 512;

using Windows = std::vector<std::vector<SpeechRegion>>;

// Audio of any length: each sample follows from its place.
class Noise : public AudioSource {
 public:
  explicit Noise(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  void Read(int64_t begin, std::span<float> samples) const override {
    for (auto& sample : samples) {
      const auto hash = static_cast<uint64_t>(begin++ / 700) * 0x9E3779B97F4A7C15U;
      sample = static_cast<float>(hash >> 40) / static_cast<float>(1 << 24);
    }
  }

 private:
  const int64_t size_;
};

// The beginning of an audio that grows.
class GrowingNoise : public Noise {
 public:
  explicit GrowingNoise(int64_t total) : Noise(total) {}
  int64_t size() const override { return n_known_; }
  bool is_growing() const override { return is_growing_; }
  void Read(int64_t begin, std::span<float> samples) const override {
    Expect(begin + static_cast<int64_t>(samples.size()) <= n_known_, "samples are read that are not there yet");
    Noise::Read(begin, samples);
  }
  void Grow(int64_t n_samples) {
    is_growing_ = n_samples < Noise::size();
    n_known_ = std::min(n_samples, Noise::size());
  }

 private:
  int64_t n_known_ = 0;
  bool is_growing_ = true;
};

// The same rules over the whole audio at once.
namespace whole {

std::vector<SpeechRegion> Regions(const std::vector<float>& probabilities, int64_t total, const SpeechRules& rules) {
  std::vector<SpeechRegion> regions;
  int64_t begin = -1;
  int64_t silence = -1;
  const auto close = [&](int64_t end) {
    if (end - begin >= rules.min_speech) regions.push_back({begin, std::min(end, total)});
    begin = silence = -1;
  };
  for (size_t i = 0; i < probabilities.size(); i++) {
    const auto at = static_cast<int64_t>(i) * kFrame;
    if (probabilities[i] >= rules.threshold) {
      if (begin < 0) begin = at;
      silence = -1;
    } else if (begin >= 0 && probabilities[i] < rules.neg_threshold) {
      if (silence < 0) silence = at;
      if (at + kFrame - silence >= rules.min_silence) close(silence);
    }
  }
  if (begin >= 0) close(silence >= 0 ? silence : total);
  return regions;
}

std::vector<SpeechRegion> Parts(const std::vector<SpeechRegion>& regions, const AudioSource& audio,
                                const SpeechRules& rules) {
  const auto longest = std::min(rules.max_speech, rules.max_window);
  std::vector<SpeechRegion> parts;
  for (size_t i = 0; i < regions.size(); i++) {
    const auto before = i == 0 ? regions[i].begin : (regions[i].begin - regions[i - 1].end) / 2;
    const auto after =
        i + 1 == regions.size() ? audio.size() - regions[i].end : (regions[i + 1].begin - regions[i].end) / 2;
    SpeechRegion part{regions[i].begin - std::min(rules.pad, before), regions[i].end + std::min(rules.pad, after)};
    while (part.end - part.begin > longest) {
      const auto at = QuietestPlace(audio, part.begin + longest * 3 / 5, part.begin + longest);
      parts.push_back({part.begin, at});
      part.begin = at;
    }
    parts.push_back(part);
  }
  return parts;
}

std::vector<SpeechRegion> Pieces(const std::vector<SpeechRegion>& parts, size_t first, size_t last) {
  std::vector<SpeechRegion> pieces{parts[first]};
  for (size_t i = first + 1; i <= last; i++) {
    if (parts[i].begin - pieces.back().end <= 2 * kSecond) {
      pieces.back().end = parts[i].end;
    } else {
      pieces.back().end += kSecond;
      pieces.push_back({parts[i].begin - kSecond, parts[i].end});
    }
  }
  return pieces;
}

int64_t Length(const std::vector<SpeechRegion>& pieces) {
  int64_t length = 0;
  for (const auto& piece : pieces) length += piece.end - piece.begin;
  return length;
}

size_t LastPart(const std::vector<SpeechRegion>& parts, size_t first, int64_t window) {
  size_t fitting = first;
  while (fitting + 1 < parts.size() && Length(Pieces(parts, first, fitting + 1)) <= window &&
         parts[fitting + 1].end - parts[first].begin <= 120 * kSecond)
    fitting++;
  if (fitting + 1 == parts.size()) return fitting;
  size_t best = fitting;
  int64_t longest = -1;
  for (size_t last = fitting;; last--) {
    if (Length(Pieces(parts, first, last)) < window * 3 / 5 && longest >= 0) break;
    const auto silence = parts[last + 1].begin - parts[last].end;
    if (silence > longest) {
      longest = silence;
      best = last;
    }
    if (silence >= kSecond || last == first) break;
  }
  return best;
}

Windows SpeechWindows(const std::vector<float>& probabilities, const AudioSource& audio, const SpeechRules& rules) {
  const auto parts = Parts(Regions(probabilities, audio.size(), rules), audio, rules);
  Windows windows;
  for (size_t first = 0; first < parts.size();) {
    const auto last = LastPart(parts, first, rules.max_window);
    windows.push_back(Pieces(parts, first, last));
    first = last + 1;
  }
  return windows;
}

}  // namespace whole

struct CutResult {
  Windows windows;
  // For each window the number of samples that were analysed before it was known.
  std::vector<int64_t> known_at;
};

// Cuts while the frames arrive in parts of the sizes that `part_size` gives.
CutResult CutInParts(WindowCutter& cutter, const std::vector<float>& probabilities, int64_t total,
                     const std::function<size_t()>& part_size, const SpeechRules& rules = {}) {
  SpeechRegionFinder finder(kFrame, total, rules);
  CutResult result;
  for (size_t at = 0; at < probabilities.size();) {
    const auto count = std::min(part_size(), probabilities.size() - at);
    auto ended = finder.Add(std::span(probabilities).subspan(at, count));
    at += count;
    const bool is_end = at == probabilities.size();
    if (is_end) {
      for (const auto& region : finder.Finish()) ended.push_back(region);
    }
    const auto least_begin = cutter.next_begin();
    for (const auto& window : cutter.Cut({ended, finder.open(), finder.next_begin(), finder.settled(), is_end})) {
      Expect(window.begin() >= least_begin, "a window begins before the place that was said");
      result.windows.push_back(window.pieces());
      result.known_at.push_back(std::min(static_cast<int64_t>(at) * kFrame, total));
    }
  }
  Expect(cutter.is_complete(), "the cutter is not complete");
  return result;
}

// Cuts as SpeechScan does, while the audio grows by random lengths: a part is analysed when it is known whether it is
// the last.
Windows CutWhileGrowing(WindowCutter& cutter, GrowingNoise& audio, int64_t total,
                        const std::vector<float>& probabilities, std::mt19937& random, const SpeechRules& rules) {
  SpeechRegionFinder finder(kFrame, std::numeric_limits<int64_t>::max(), rules);
  Windows windows;
  const auto largest = static_cast<int64_t>(1 + random() % 4000) * kFrame;
  for (size_t at = 0; at < probabilities.size();) {
    const auto count = std::min<size_t>(1 + random() % 300, probabilities.size() - at);
    const auto part_end = static_cast<int64_t>(at + count) * kFrame;
    while (audio.is_growing() && audio.size() <= part_end)
      audio.Grow(audio.size() + 1 + static_cast<int64_t>(random() % static_cast<size_t>(largest)));
    const bool is_end = at + count == probabilities.size();
    if (is_end) audio.Grow(total);
    if (!audio.is_growing()) finder.set_total(total);
    auto ended = finder.Add(std::span(probabilities).subspan(at, count));
    at += count;
    if (is_end) {
      for (const auto& region : finder.Finish()) ended.push_back(region);
    }
    const auto least_begin = cutter.next_begin();
    for (const auto& window : cutter.Cut({ended, finder.open(), finder.next_begin(), finder.settled(), is_end})) {
      Expect(window.begin() >= least_begin, "a window begins before the place that was said");
      windows.push_back(window.pieces());
    }
    Expect(is_end || !audio.is_growing() || !cutter.is_complete(), "the cutter is complete before the audio is");
  }
  Expect(cutter.is_complete(), "the cutter is not complete");
  return windows;
}

std::string TextOf(const Windows& windows) {
  std::string text;
  for (const auto& window : windows) {
    text += " [";
    for (const auto& piece : window) text += " " + std::to_string(piece.begin) + "-" + std::to_string(piece.end);
    text += " ]";
  }
  return text;
}

// Speech and silence of random lengths, from single frames to minutes.
std::vector<float> RandomSpeech(std::mt19937& random, size_t n_frames) {
  std::vector<float> probabilities;
  const double longest = std::uniform_real_distribution(0.5, 8.0)(random);
  for (bool is_speech = random() % 2; probabilities.size() < n_frames; is_speech = !is_speech) {
    const auto length = static_cast<size_t>(std::exp(std::uniform_real_distribution(0.0, longest)(random)));
    for (size_t i = 0; i <= length && probabilities.size() < n_frames; i++) {
      // Sometimes between the thresholds.
      probabilities.push_back(random() % 10 == 0 ? 0.4F : is_speech ? 0.9F : 0.1F);
    }
  }
  return probabilities;
}

// The rules of a caller, or those that hold without one.
SpeechRules RandomRules(std::mt19937& random) {
  if (random() % 3 == 0) return {};
  const auto seconds = [&](double most) {
    return static_cast<int64_t>(std::uniform_real_distribution(0.0, most)(random) * kSecond);
  };
  const auto threshold = std::uniform_real_distribution(0.0F, 1.0F)(random);
  return {.threshold = threshold,
          .neg_threshold = std::uniform_real_distribution(0.0F, threshold)(random),
          .min_speech = seconds(3),
          .min_silence = seconds(4),
          .pad = seconds(2),
          .max_speech = kSecond + seconds(60),
          .max_window = kSecond + seconds(29)};
}

std::vector<float> Frames(const std::vector<std::pair<bool, double>>& seconds) {
  std::vector<float> probabilities;
  for (const auto& [is_speech, length] : seconds)
    probabilities.insert(probabilities.end(), static_cast<size_t>(length * kSecond / kFrame), is_speech ? 0.9F : 0.1F);
  return probabilities;
}

}  // namespace

void TestSpeechWindows() {
  Test("windows of speech are the same as if the whole audio were analysed at once", [] {
    for (unsigned seed = 1; seed <= 100; seed++) {
      std::mt19937 random(seed);
      const auto probabilities = RandomSpeech(random, 1 + random() % 30000);
      const Noise audio(static_cast<int64_t>(probabilities.size()) * kFrame - static_cast<int64_t>(random() % kFrame));
      const auto rules = RandomRules(random);
      SpeechCutter cutter(audio, rules);
      const size_t largest = 1 + random() % 300;
      const auto cut = CutInParts(cutter, probabilities, audio.size(), [&] { return 1 + random() % largest; }, rules);
      const auto expected = whole::SpeechWindows(probabilities, audio, rules);
      for (const auto& window : expected)
        Expect(whole::Length(window) <= rules.max_window, "a window is too long:" + TextOf(expected));
      if (TextOf(cut.windows) != TextOf(expected))
        throw std::runtime_error("seed " + std::to_string(seed) + ":" + TextOf(cut.windows) + "\n not" +
                                 TextOf(expected));
    }
  });
  Test("a window of speech is known at most 4 minutes after its beginning", [] {
    for (unsigned seed = 1; seed <= 100; seed++) {
      std::mt19937 random(seed);
      const auto probabilities = RandomSpeech(random, 60000);
      const Noise audio(static_cast<int64_t>(probabilities.size()) * kFrame);
      SpeechCutter cutter(audio);
      const auto cut = CutInParts(cutter, probabilities, audio.size(), [] { return size_t{125}; });
      for (size_t i = 0; i < cut.windows.size(); i++) {
        const auto delay = cut.known_at[i] - cut.windows[i].front().begin;
        Expect(delay <= 240 * kSecond, "seed " + std::to_string(seed) + ": " + std::to_string(delay / kSecond) + " s");
      }
    }
  });
  Test("the first window of continuous speech is known soon after 30 s", [] {
    const auto probabilities = Frames({{true, 3600}});
    const Noise audio(static_cast<int64_t>(probabilities.size()) * kFrame);
    SpeechCutter cutter(audio);
    const auto cut = CutInParts(cutter, probabilities, audio.size(), [] { return size_t{1}; });
    Expect(cut.known_at.front() <= 61 * kSecond, std::to_string(cut.known_at.front() / kSecond) + " s");
    Expect(cut.windows.size() >= 120, std::to_string(cut.windows.size()) + " windows");
  });
  Test("speech is found and cut as the rules say", [] {
    const auto probabilities =
        Frames({{false, 5}, {true, 3.2}, {false, 1.6}, {true, 0.64}, {false, 6.4}, {true, 12.8}, {false, 3.2}});
    const Noise audio(static_cast<int64_t>(probabilities.size()) * kFrame);
    const auto regions = [&](const SpeechRules& rules) {
      SpeechRegionFinder finder(kFrame, audio.size(), rules);
      auto found = finder.Add(probabilities);
      for (const auto& region : finder.Finish()) found.push_back(region);
      return found.size();
    };
    Expect(regions({}) == 3 && regions({.threshold = 0.95F}) == 0 &&
               regions({.threshold = 0.05F, .neg_threshold = 0.05F}) == 1,
           "thresholds");
    Expect(regions({.min_speech = kSecond}) == 2 && regions({.min_silence = 2 * kSecond}) == 2 &&
               regions({.min_silence = 8 * kSecond}) == 1,
           "durations");
    const auto windows = [&](const SpeechRules& rules) {
      SpeechCutter cutter(audio, rules);
      return CutInParts(cutter, probabilities, audio.size(), [] { return size_t{3}; }, rules).windows;
    };
    Expect(windows({}).size() == 1 && windows({.max_window = 16 * kSecond}).size() == 2 &&
               windows({.max_window = 8 * kSecond}).size() == 3,
           "windows");
    Expect(windows({.pad = kSecond}).front().front().begin == windows({.pad = 0}).front().front().begin - kSecond,
           "padding");
    // A window ends where the speech was cut.
    Expect(windows({.max_speech = 10 * kSecond, .max_window = 16 * kSecond}).size() == 2, "the longest speech");
  });
  Test("a long silence ends a window although more would fit", [] {
    const auto probabilities = Frames({{true, 5}, {false, 600}, {true, 5}});
    const Noise audio(static_cast<int64_t>(probabilities.size()) * kFrame);
    SpeechCutter cutter(audio);
    const auto cut = CutInParts(cutter, probabilities, audio.size(), [] { return size_t{10}; });
    Expect(cut.windows.size() == 2, TextOf(cut.windows));
    Expect(cut.known_at.front() <= 121 * kSecond, std::to_string(cut.known_at.front() / kSecond) + " s");
  });
  Test("windows of the whole audio do not depend on the parts, have no gaps and are not too long", [] {
    for (unsigned seed = 1; seed <= 300; seed++) {
      std::mt19937 random(seed);
      const auto probabilities = RandomSpeech(random, 1 + random() % 30000);
      const Noise audio(static_cast<int64_t>(probabilities.size()) * kFrame - static_cast<int64_t>(random() % kFrame));
      const auto window = RandomRules(random).max_window;
      WholeCutter cutter(audio, window);
      WholeCutter at_once(audio, window);
      const size_t largest = 1 + random() % 300;
      const auto cut = CutInParts(cutter, probabilities, audio.size(), [&] { return 1 + random() % largest; });
      const auto expected = CutInParts(at_once, probabilities, audio.size(), [&] { return probabilities.size(); });
      if (TextOf(cut.windows) != TextOf(expected.windows))
        throw std::runtime_error("seed " + std::to_string(seed) + ":" + TextOf(cut.windows) + "\n not" +
                                 TextOf(expected.windows));
      int64_t end = 0;
      for (const auto& pieces : cut.windows) {
        const auto& piece = pieces.front();
        Expect(pieces.size() == 1 && piece.begin == end && piece.end - piece.begin <= window,
               "seed " + std::to_string(seed) + ":" + TextOf(cut.windows));
        Expect(piece.end - piece.begin >= window / 6 || cut.windows.size() == 1,
               "a short window:" + TextOf(cut.windows));
        end = piece.end;
      }
      Expect(end == audio.size(), "the end is missing:" + TextOf(cut.windows));
    }
  });
  Test("windows of an audio that grows are those of the complete audio", [] {
    for (unsigned seed = 1; seed <= 75; seed++) {
      std::mt19937 random(seed);
      const auto probabilities = RandomSpeech(random, 1 + random() % 30000);
      const auto total = static_cast<int64_t>(probabilities.size()) * kFrame - static_cast<int64_t>(random() % kFrame);
      const auto rules = RandomRules(random);
      const Noise complete(total);
      const auto all = [&] { return probabilities.size(); };
      const auto check = [&](const char* what, auto make) {
        GrowingNoise audio(total);
        const auto cutter = make(static_cast<const AudioSource&>(audio));
        const auto at_once = make(static_cast<const AudioSource&>(complete));
        const auto windows = CutWhileGrowing(*cutter, audio, total, probabilities, random, rules);
        const auto expected = CutInParts(*at_once, probabilities, total, all, rules).windows;
        if (TextOf(windows) != TextOf(expected))
          throw std::runtime_error(std::string(what) + ", seed " + std::to_string(seed) + ":" + TextOf(windows) +
                                   "\n not" + TextOf(expected));
      };
      check("of speech", [&](const AudioSource& audio) { return std::make_unique<SpeechCutter>(audio, rules); });
      check("of everything",
            [&](const AudioSource& audio) { return std::make_unique<WholeCutter>(audio, rules.max_window); });
    }
  });
  Test("the first windows of an audio that grows are known before its end", [] {
    const auto probabilities = Frames({{true, 120}});
    GrowingNoise audio(3600 * kSecond);
    audio.Grow(120 * kSecond);
    SpeechRegionFinder finder(kFrame, std::numeric_limits<int64_t>::max());
    const auto ended = finder.Add(probabilities);
    const SpeechSoFar speech{ended, finder.open(), finder.next_begin(), finder.settled(), false};
    const auto of_speech = SpeechCutter(audio).Cut(speech);
    const auto of_everything = WholeCutter(audio).Cut(speech);
    Expect(of_speech.size() >= 2 && of_everything.size() >= 3,
           std::to_string(of_speech.size()) + " and " + std::to_string(of_everything.size()) + " windows");
  });
  Test("windows of the whole audio end in the longest pauses, as late as 30 s", [] {
    // Pauses from 20 to 20.5 s, from 25 to 25.8 s and from 40 s on.
    const auto probabilities =
        Frames({{true, 20}, {false, 0.512}, {true, 4.512}, {false, 0.8}, {true, 15}, {false, 3.008}, {true, 30}});
    const Noise audio(static_cast<int64_t>(probabilities.size()) * kFrame);
    WholeCutter cutter(audio);
    const auto cut = CutInParts(cutter, probabilities, audio.size(), [] { return size_t{7}; });
    ExpectNear(static_cast<double>(cut.windows[0].front().end) / kSecond, 25.4, 0.1, "the end of the first window");
    ExpectNear(static_cast<double>(cut.windows[1].front().end) / kSecond, 43.3, 2, "the end of the second window");
    Expect(cut.known_at.front() <= 32 * kSecond, std::to_string(cut.known_at.front() / kSecond) + " s");
  });
  Test("text of a window with hardly a voice needs a sure model that hears speech", [] {
    const auto left = [](float voice) {
      std::vector<WhisperSegment> segments;
      for (const auto& [log_probability, no_speech] : {std::pair{-0.9, 0.1}, {-0.3, 0.1}, {-0.3, 0.7}})
        segments.push_back({"text", 0, 1, log_probability, no_speech, {}});
      SpeechWindow window({{0, kSecond}});
      if (voice >= 0) window.set_voice(voice);
      LeaveOutInvented(window, WhisperParams{}, segments);
      return segments.size();
    };
    Expect(left(-1) == 3 && left(0.6F) == 3 && left(0.3F) == 1, std::to_string(left(0.3F)) + " segments");
  });
  Test("an audio without samples has no windows", [] {
    const Noise audio(0);
    Expect(SpeechCutter(audio).Cut({{}, std::nullopt, 0, 0, true}).empty(), "windows of speech");
    WholeCutter whole_cutter(audio);
    Expect(whole_cutter.is_complete() && whole_cutter.Cut({{}, std::nullopt, 0, 0, true}).empty(),
           "windows of the whole audio");
  });
}

}  // namespace aana::test
