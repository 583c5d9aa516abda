#include <cmath>
#include <stdexcept>

#include "../check.h"
#include "core/whisper/search/logit_rules.h"
#include "core/whisper/search/suppressed_tokens.h"
#include "tests.h"

namespace aana::test {
namespace {

// The tokens that may follow a text, where all logits are equal but those in `likely`, which are greater.
std::vector<int32_t> Allowed(const LogitOptions& options, const std::vector<int32_t>& text,
                             const std::vector<int32_t>& likely = {}) {
  const auto vocabulary = SmallVocabulary();
  std::vector<float> logits(vocabulary.texts.size(), 0.0F);
  for (const auto token : likely) logits[static_cast<size_t>(token)] = 10;
  LogitRules(vocabulary, options).Apply(text, logits);
  std::vector<int32_t> allowed;
  for (int32_t token = 0; token < vocabulary.size(); token++) {
    if (!std::isinf(logits[static_cast<size_t>(token)])) allowed.push_back(token);
  }
  return allowed;
}

std::vector<int32_t> Range(int32_t begin, int32_t end) {
  std::vector<int32_t> tokens;
  for (int32_t token = begin; token < end; token++) tokens.push_back(token);
  return tokens;
}

void ExpectTokens(const std::vector<int32_t>& actual, const std::vector<int32_t>& expected) {
  Expect(actual == expected, Shown(actual) + ", not " + Shown(expected));
}

}  // namespace

void TestRules() {
  const auto a = Word('a');
  const auto end = SmallVocabulary().end;
  Test("a text begins with a time, at the latest the given one",
       [] { ExpectTokens(Allowed({.max_initial_time = 3}, {}), Range(Time(0), Time(4))); });
  Test(
      "a text without times has no times and no control tokens, and begins neither with its end nor with a space", [=] {
        ExpectTokens(Allowed({.space = 4, .without_timestamps = true}, {}), {0, 1, 2, 3, 5, 6, 7, 8, 9});
        ExpectTokens(Allowed({.space = 4, .suppress_blank = false, .without_timestamps = true}, {}), Range(0, end + 1));
        ExpectTokens(Allowed({.space = 4, .without_timestamps = true}, {a}), Range(0, end + 1));
      });
  Test("after a pair of times follows text", [=] {
    ExpectTokens(Allowed({}, {Time(0)}, {a}), Range(0, end + 1));
    ExpectTokens(Allowed({}, {Time(0), a, Time(5), Time(5)}, {a}), Range(0, end + 1));
  });
  Test("after one time follows the end, or a time that is not earlier", [=] {
    auto expected = Range(Time(5), Time(101));
    expected.insert(expected.begin(), end);
    ExpectTokens(Allowed({}, {Time(0), a, Time(5)}, {end}), expected);
  });
  Test("a segment has a length: its end is later than its start", [=] {
    auto expected = Range(0, end + 1);
    const auto times = Range(Time(8), Time(101));
    expected.insert(expected.end(), times.begin(), times.end());
    ExpectTokens(Allowed({}, {Time(7), a}, {a}), expected);
  });
  Test("a time follows when all times together are likelier than any word", [=] {
    ExpectTokens(Allowed({}, {Time(90), a}), Range(Time(91), Time(101)));  // ten times, each as likely as a word
  });
  Test("suppressed tokens never follow, and unknown ones are refused", [=] {
    ExpectTokens(Allowed({.suppressed = {0, 2}, .without_timestamps = true}, {a}), {1, 3, 4, 5, 6, 7, 8, 9, end});
    for (const int32_t token : {-1, 10'000}) {
      bool is_refused = false;
      try {
        Allowed({.suppressed = {token}}, {});
      } catch (const std::invalid_argument&) {
        is_refused = true;
      }
      Expect(is_refused, std::to_string(token) + " was not refused");
    }
  });
  Test("no sequence of tokens occurs twice where that is asked", [=] {
    ExpectTokens(Allowed({.without_timestamps = true, .no_repeat_ngram_size = 2}, {0, 1, 2, 0}),
                 {0, 2, 3, 4, 5, 6, 7, 8, 9, end});
    ExpectTokens(Allowed({.without_timestamps = true, .no_repeat_ngram_size = 1}, {0, 1}),
                 {2, 3, 4, 5, 6, 7, 8, 9, end});
    ExpectTokens(Allowed({.without_timestamps = true, .no_repeat_ngram_size = 5}, {0, 1}), Range(0, end + 1));
  });
  Test("a penalty makes the tokens of the text less likely", [] {
    const auto vocabulary = SmallVocabulary();
    std::vector<float> logits(vocabulary.texts.size(), 0.0F);
    logits[0] = 4;
    logits[1] = -4;
    logits[2] = 4;
    LogitRules(vocabulary, {.without_timestamps = true, .repetition_penalty = 2})
        .Apply(std::vector<int32_t>{0, 1, 0}, logits);
    Expect(logits[0] == 2 && logits[1] == -8 && logits[2] == 4, "other logits");
  });
  Test("the logarithm of a sum of exponentials is exact to six digits", [] {
    ExpectNear(LogSumExp(std::vector<float>{1, 2, 3}), std::log(std::exp(1.0) + std::exp(2.0) + std::exp(3.0)), 1e-6,
               "sum");
    Expect(std::isinf(LogSumExp(std::vector<float>{-INFINITY, -INFINITY})), "nothing is possible");
  });
  Test("signs that are not spoken are found in a vocabulary, with and without a space", [] {
    Vocabulary vocabulary;
    vocabulary.texts = {"a", "-", " -", "(", " (", "((", "♪", " \xe2\x99", "\"", "x(", "[end]"};
    vocabulary.end = 10;
    ExpectTokens(NonSpeechTokens(vocabulary), {2, 3, 4, 5, 6, 7, 8});
  });
}

}  // namespace aana::test
