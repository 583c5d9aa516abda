// Prompts, segments, and the measure of repetition.
#include <algorithm>

#include "../check.h"
#include "core/whisper/search/compression.h"
#include "core/whisper/search/prompt.h"
#include "core/whisper/search/token_segments.h"
#include "tests.h"

namespace aana::test {
namespace {

std::string Repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; i++) all += text;
  return all;
}

// The segments as `start-end:tokens`, and where the audio goes on.
std::string Split(std::initializer_list<int32_t> tokens, double duration) {
  const auto split = SplitByTimes(SmallVocabulary(), TokensOf(tokens), duration);
  std::string shown;
  for (const auto& [start, end, text] : split.segments) {
    std::vector<int32_t> ids;
    for (const auto& token : text) ids.push_back(token.id);
    shown += std::to_string(start).substr(0, 4) + "-" + std::to_string(end).substr(0, 4) + ":" + Shown(ids) + "; ";
  }
  return shown + "next " + std::to_string(split.next).substr(0, 4);
}

void TestPrompts() {
  const auto vocabulary = SmallVocabulary();
  const std::vector<int32_t> start{vocabulary.start, vocabulary.first_language + 1, vocabulary.transcribe};
  Test("a prompt names the language and the task", [&] {
    Expect(MakePrompt(vocabulary, {.language = 1}, 448).tokens == start, "another prompt");
    Expect(MakePrompt(vocabulary, {.language = 1, .translate = true}, 448).tokens.back() == vocabulary.translate,
           "another task");
    auto english = vocabulary;
    english.n_languages = 0;
    Expect(MakePrompt(english, {}, 448).tokens == std::vector{vocabulary.start},
           "a model for English has one control token");
  });
  Test("hotwords and the end of the previous text come before the start, in half of the places", [&] {
    std::vector<int32_t> previous(300, 1);
    previous.back() = 2;
    const auto prompt = MakePrompt(vocabulary, {.language = 1, .previous = previous, .hotwords = {7, 8}}, 448);
    Expect(prompt.start == 224 && prompt.tokens.size() == 227, std::to_string(prompt.start));
    Expect(prompt.tokens[0] == vocabulary.previous && prompt.tokens[1] == 7 && prompt.tokens[2] == 8 &&
               prompt.tokens[3] == 1 && prompt.tokens[223] == 2,
           Shown(prompt.tokens));
    Expect(std::equal(start.begin(), start.end(), prompt.tokens.begin() + 224), Shown(prompt.tokens));
  });
  Test("a prefix ends the prompt, counts to the text, and replaces hotwords", [&] {
    const auto prompt = MakePrompt(vocabulary, {.language = 1, .hotwords = {7}, .prefix = {3, 4}}, 448);
    auto expected = start;
    expected.insert(expected.end(), {vocabulary.first_time, 3, 4});
    Expect(prompt.tokens == expected && prompt.start == 0, Shown(prompt.tokens));
    Expect((prompt.begun == std::vector<int32_t>{vocabulary.first_time, 3, 4}), Shown(prompt.begun));
    const auto plain = MakePrompt(vocabulary, {.language = 1, .without_timestamps = true, .prefix = {3}}, 448);
    Expect((plain.begun == std::vector<int32_t>{3}) && plain.tokens[3] == vocabulary.no_timestamps,
           Shown(plain.tokens));
  });
  Test("the longest parts leave places for a text", [&] {
    const std::vector<int32_t> many(1000, 1);
    for (const int n_positions : {80, 448}) {
      const auto prompt =
          MakePrompt(vocabulary, {.language = 1, .previous = many, .hotwords = many, .prefix = many}, n_positions);
      Expect(prompt.tokens.size() + 32 <= static_cast<size_t>(n_positions), std::to_string(prompt.tokens.size()));
    }
  });
}

void TestSegments() {
  Test("segments lie between pairs of times", [] {
    ExpectSame(Split({Time(0), 1, 2, Time(25), Time(30), 3, Time(50)}, 2), "0.00-0.50:1 2; 0.60-1.00:3; next 2.00");
    ExpectSame(Split({Time(0), 1, Time(25), Time(25)}, 2), "0.00-0.50:1; next 0.50");
  });
  Test("text after the last pair is decoded again",
       [] { ExpectSame(Split({Time(0), 1, Time(25), Time(25), 2, 3}, 2), "0.00-0.50:1; next 0.50"); });
  Test("a short rest without text is left out",
       [] { ExpectSame(Split({Time(0), 1, Time(60), Time(60)}, 2), "0.00-1.20:1; next 2.00"); });
  Test("a text without pairs is one segment to its last time or to the end", [] {
    ExpectSame(Split({Time(0), 1, Time(25)}, 2), "0.00-0.50:1; next 2.00");
    ExpectSame(Split({Time(0), 1}, 2), "0.00-2.00:1; next 2.00");
    ExpectSame(Split({1, 2}, 1.5), "0.00-1.50:1 2; next 1.50");
    ExpectSame(Split({}, 1.5), "next 1.50");
  });
  Test("times end with the audio, and a pair at its beginning does not stop the progress", [] {
    ExpectSame(Split({Time(0), 1, Time(100)}, 1.5), "0.00-1.50:1; next 1.50");
    ExpectSame(Split({Time(0), Time(0), 1}, 2), "0.00-0.00:; next 2.00");
  });
}

}  // namespace

void TestTexts() {
  TestPrompts();
  TestSegments();
  Test("the compression ratio is about that of zlib", [] {
    ExpectNear(CompressionRatio("A talk about the conservation of energy, with a pendulum that nobody pushes."), 1.013,
               0.1, "ratio of a sentence");
    ExpectNear(CompressionRatio(Repeated("I'm going to be a little bit late. ", 6)), 4.565, 0.1 * 4.565,
               "ratio of a repeated sentence");
    ExpectNear(CompressionRatio(Repeated("And so it is, and so it was, and so it will be. ", 3) + "Who knows?"), 3.080,
               0.1 * 3.080, "ratio of another one");
    Expect(CompressionRatio(Repeated("you ", 100)) > 10, "a repeated word does not count");
    Expect(CompressionRatio("") == 0, "an empty text");
    Expect(CompressionRatio(Repeated("a", 100'000)) > 100, "a long text");
  });
}

}  // namespace aana::test
