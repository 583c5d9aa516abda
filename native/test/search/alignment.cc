// Times of words.
#include "core/whisper/words/alignment.h"

#include <algorithm>

#include "../check.h"
#include "core/whisper/words/words.h"
#include "tests.h"

namespace aana::test {
namespace {

std::string Show(const std::vector<TimedWord>& words) {
  std::string shown;
  for (const auto& word : words)
    shown += "[" + word.text + " " + std::to_string(word.start).substr(0, 4) + "-" +
             std::to_string(word.end).substr(0, 4) + "]";
  return shown;
}

// The words of one segment, whose tokens have these texts and begin at these times; the last time is the end.
std::string Words(const std::vector<std::string>& texts, const std::vector<double>& starts, double segment_start,
                  double segment_end, const WordRules& rules = {}) {
  Vocabulary vocabulary;
  vocabulary.texts = texts;
  vocabulary.end = vocabulary.size();
  TokenSegment segment{segment_start, segment_end, {}};
  for (int32_t token = 0; token < vocabulary.size(); token++) segment.tokens.push_back({token, 0});
  std::vector segments{segment};
  const auto words = TimeWords(vocabulary, segments, starts, rules);
  return Show(words.front()) + " " + std::to_string(segments[0].start).substr(0, 4) + "-" +
         std::to_string(segments[0].end).substr(0, 4);
}

}  // namespace

void TestAlignment() {
  Test("tokens begin where the attention moves on, whatever single positions say", [] {
    constexpr size_t kTokens = 6, kPositions = 120;
    const std::vector<size_t> expected{0, 20, 35, 60, 90, 110};
    std::vector<float> scores;
    for (size_t head = 0; head < 2; head++) {
      for (size_t token = 0; token < kTokens; token++) {
        const size_t end = token + 1 < kTokens ? expected[token + 1] : kPositions;
        for (size_t position = 0; position < kPositions; position++) {
          const bool is_within = position >= expected[token] && position < end;
          const bool is_outlier = position % 37 == 5 * head;  // attended by all tokens, in one head
          scores.push_back(is_within ? 4.0F : is_outlier ? 5.0F : 0.0F);
        }
      }
    }
    const auto starts = AlignTokens({scores, 2, kTokens, kPositions}, 0, kTokens);
    for (size_t token = 0; token < kTokens; token++)
      ExpectNear(static_cast<double>(starts[token]), static_cast<double>(expected[token]), 2,
                 "start of token " + std::to_string(token));
    Expect(AlignTokens({scores, 2, kTokens, kPositions}, 2, 4).size() == 2, "a part of the tokens");
  });
  Test("starts do not decrease for any attention, also with fewer positions than tokens", [] {
    std::vector<float> scores(3 * 9 * 5);
    for (size_t i = 0; i < scores.size(); i++) scores[i] = static_cast<float>((i * 7919) % 13);
    const auto starts = AlignTokens({scores, 3, 9, 5}, 1, 8);
    Expect(starts.size() == 7 && std::ranges::is_sorted(starts) && starts.back() < 5, "other starts");
    Expect(AlignTokens({{}, 0, 3, 5}, 0, 3) == std::vector<size_t>(3, 0), "without heads");
  });
  Test("words begin with a space, and their time is that of their tokens", [] {
    ExpectSame(Words({" one", " tw", "o", " three"}, {0, 0.4, 0.6, 0.8, 1.2}, 0, 1.2),
               "[ one 0.00-0.40][ two 0.40-0.80][ three 0.80-1.20] 0.00-1.20");
  });
  Test("punctuation is joined to its word", [] {
    ExpectSame(Words({" one", ",", " (", "two", ")", "."}, {0, 0.4, 0.4, 0.4, 0.8, 0.8, 0.8}, 0, 0.8),
               "[ one, 0.00-0.40][ (two). 0.40-0.80] 0.00-0.80");
    ExpectSame(Words({" one", ","}, {0, 0.4, 0.5}, 0, 0.5, {.appended = ""}),
               "[ one 0.00-0.40][, 0.40-0.50] 0.00-0.50");
  });
  Test("each character is a word in a language without spaces, and parts of a character are one", [] {
    ExpectSame(Words({"\xe4\xbb", "\x8a", "日", "は"}, {0, 0.1, 0.2, 0.4, 0.6}, 0, 0.6, {.by_character = true}),
               "[今 0.00-0.20][日 0.20-0.40][は 0.40-0.60] 0.00-0.60");
  });
  Test("a first word that reaches into the pause before it is shortened, and the segment begins with it", [] {
    ExpectSame(Words({" one", " two", " three", " four"}, {0, 4, 4.4, 4.8, 5.2}, 3.6, 5.2),
               "[ one 3.20-4.00][ two 4.00-4.40][ three 4.40-4.80][ four 4.80-5.20] 3.20-5.20");
  });
  Test("words of later segments do not begin before those of earlier ones", [] {
    Vocabulary vocabulary;
    vocabulary.texts = {" one", " two", " three"};
    vocabulary.end = 3;
    std::vector<TokenSegment> segments{{0, 1, {{0, 0}, {1, 0}}}, {1, 2, {{2, -1}}}};
    const auto words = TimeWords(vocabulary, segments, std::vector<double>{0, 0.5, 1.2, 1.6}, {});
    Expect(words.size() == 2 && Show(words[1]) == "[ three 1.20-1.60]", Show(words[1]));
    ExpectNear(words[1][0].probability, 0.3679, 1e-4, "probability");
  });
}

}  // namespace aana::test
