#include "core/whisper/speech/clip_windows.h"

#include <span>
#include <string>
#include <vector>

#include "../check.h"
#include "tests.h"

namespace aana::test {
namespace {

// Sound with silence (zeros) between 100 and 110 s.
class Sound : public AudioSource {
 public:
  explicit Sound(int64_t size) : size_(size) {}
  int64_t size() const override { return size_; }
  void Read(int64_t begin, std::span<float> samples) const override {
    for (auto& sample : samples) {
      sample = begin >= 100 * kSecond && begin < 110 * kSecond ? 0.0F : static_cast<float>(1 + begin % 7) / 10;
      begin++;
    }
  }

 private:
  const int64_t size_;
};

std::string TextOf(const std::vector<SpeechWindow>& windows) {
  std::string text;
  for (const auto& window : windows) text += " " + std::to_string(window.begin()) + "-" + std::to_string(window.end());
  return text;
}

std::string Cut(int64_t seconds, const std::vector<SpeechRegion>& clips) {
  return TextOf(ClipWindows(Sound(seconds * kSecond), clips));
}

}  // namespace

void TestClipWindows() {
  Test("chosen parts are windows in order of time, cut to the audio", [] {
    const auto text =
        Cut(60, {{40 * kSecond, 90 * kSecond}, {10, 20}, {5, 5}, {30, 20}, {70 * kSecond, 80 * kSecond}, {12, 18}});
    Expect(text == " 10-20 12-18 640000-960000", text);
  });
  Test("chosen parts of an audio that grows are cut when all their samples are there", [] {
    class Growing : public Sound {
     public:
      Growing(int64_t size, bool is_growing) : Sound(size), is_growing_(is_growing) {}
      bool is_growing() const override { return is_growing_; }

     private:
      const bool is_growing_;
    };
    const std::vector<SpeechRegion> clips{{0, 60}, {10, 50}};
    const std::vector<SpeechRegion> to_the_end{{10, 1'000'000}};
    Expect(!CanCutClips(Growing(59, true), clips) && CanCutClips(Growing(60, true), clips), "parts that end before");
    Expect(!CanCutClips(Growing(60, true), to_the_end) && CanCutClips(Growing(60, false), to_the_end),
           "a part that goes on");
  });
  Test("chosen parts of zeros have no window", [] {
    const auto text =
        Cut(200, {{100 * kSecond, 110 * kSecond}, {101 * kSecond, 102 * kSecond}, {109 * kSecond, 111 * kSecond}});
    Expect(text == " " + std::to_string(109 * kSecond) + "-" + std::to_string(111 * kSecond), text);
  });
  Test("the caller may ask for shorter windows", [] {
    for (int64_t seconds = 1; seconds <= 30; seconds++) {
      const auto windows = ClipWindows(Sound(61 * kSecond), {{0, 61 * kSecond}}, seconds * kSecond);
      Expect(windows.back().end() == 61 * kSecond && windows.size() >= static_cast<size_t>(61 / seconds),
             TextOf(windows));
      for (const auto& window : windows) Expect(window.end() - window.begin() <= seconds * kSecond, TextOf(windows));
    }
  });
  Test("a long part is cut to windows of 18 to 30 s without gaps, the last of at least 5 s", [] {
    for (int64_t seconds = 20; seconds < 100; seconds++) {
      const auto windows = ClipWindows(Sound(seconds * kSecond), {{3, seconds * kSecond}});
      int64_t at = 3;
      for (size_t i = 0; i < windows.size(); i++) {
        const auto length = windows[i].end() - windows[i].begin();
        const bool is_last = i + 1 == windows.size();
        Expect(windows[i].begin() == at && length <= 30 * kSecond && length >= (is_last && i > 0 ? 5 : 18) * kSecond,
               TextOf(windows));
        at = windows[i].end();
      }
      Expect(at == seconds * kSecond, TextOf(windows));
    }
  });
}

}  // namespace aana::test
