// Which text counts as invented beside silence.
#include "../check.h"
#include "core/whisper/search/hallucinations.h"
#include "tests.h"

namespace aana::test {
namespace {

// A segment of words of half a second each; an invented one has unlikely words.
struct Said {
  double start;
  int n_words = 4;
  bool is_invented = false;
};

// The starts of the segments that stand, and where the audio goes on.
std::string LeftOf(std::initializer_list<Said> said, double duration, double silence,
                   std::optional<double> speech_end = {}) {
  std::vector<TokenSegment> segments;
  std::vector<std::vector<TimedWord>> words;
  for (const auto& [start, n_words, is_invented] : said) {
    words.emplace_back();
    for (int i = 0; i < n_words; i++)
      words.back().push_back({" a", start + 0.5 * i, start + 0.5 * (i + 1), is_invented ? 0.1 : 0.9});
    segments.push_back({start, start + 0.5 * n_words, TokensOf({0})});
  }
  const auto next = LeaveOutHallucinations({segments, words, duration, speech_end}, silence);
  Expect(segments.size() == words.size(), "segments without their words");
  std::string shown;
  for (const auto& segment : segments) shown += std::to_string(segment.start).substr(0, 4) + " ";
  return shown + (next ? "then " + std::to_string(*next).substr(0, 4) : "whole");
}

void ExpectLeft(const std::string& actual, const std::string& expected) {
  Expect(actual == expected, "\"" + actual + "\", not \"" + expected + "\"");
}

}  // namespace

void TestHallucinations() {
  Test("likely text stands, whatever silence is around it", [] {
    ExpectLeft(LeftOf({{0}, {8}, {20}}, 30, 1), "0.00 8.00 20.0 whole");
    ExpectLeft(LeftOf({}, 30, 1), "whole");
    ExpectLeft(LeftOf({{5, 0, true}}, 30, 1), "5.00 whole");
  });
  Test("the audio goes on at an unlikely text after a silent beginning",
       [] { ExpectLeft(LeftOf({{5, 4, true}, {8}}, 30, 2), "then 5.00"); });
  Test("unlikely text between silences is left out with all after it", [] {
    ExpectLeft(LeftOf({{0}, {8, 4, true}, {15}}, 30, 2), "0.00 then 8.00");
    ExpectLeft(LeftOf({{0}, {8, 4, true}, {10, 4, true}, {12}}, 30, 2), "0.00 then 8.00");
    ExpectLeft(LeftOf({{0.5, 4, true}, {8}}, 30, 2), "then 1.00");
  });
  Test("unlikely text beside other text stands", [] {
    ExpectLeft(LeftOf({{0}, {2.5, 4, true}, {8}}, 30, 2), "0.00 2.50 8.00 whole");
    ExpectLeft(LeftOf({{0}, {8, 4, true}, {10.5}}, 30, 2), "0.00 8.00 10.5 whole");
    ExpectLeft(LeftOf({{2.5, 4, true}, {10}}, 30, 4, -0.5), "2.50 10.0 whole");
  });
  Test("at the end of the audio nothing goes on",
       [] { ExpectLeft(LeftOf({{0}, {27, 4, true}}, 30, 2), "0.00 then 30.0"); });
  Test("very short and very long words are unlikely, however probable they are", [] {
    for (const double length : {0.02, 4.0}) {
      std::vector<TokenSegment> segments{{0, 2, TokensOf({0})}, {10, 10 + 2 * length, TokensOf({0})}};
      std::vector<std::vector<TimedWord>> words{
          {{" a", 0, 2, 0.9}}, {{" b", 10, 10 + length, 0.9}, {" c", 10 + length, 10 + 2 * length, 0.9}}};
      const auto next = LeaveOutHallucinations({segments, words, 30, {}}, 2);
      Expect(next == 10.0 && segments.size() == 1, std::to_string(length));
    }
  });
}

}  // namespace aana::test
