// Guesses of the next tokens from the text itself, and their number.
#include "core/llama/speculation/guess_length.h"
#include "core/llama/speculation/ngram_guess.h"

#include <string>
#include <vector>

#include "../check.h"
#include "helpers.h"
#include "tests.h"

namespace aana::test {
namespace {

using namespace aana::llama;

void ExpectGuess(const std::vector<TokenId>& history, size_t n_wanted, const std::vector<TokenId>& expected) {
  const auto guessed = GuessByNgram(history, n_wanted);
  Expect(guessed == expected, "expected " + Text(expected) + ", got " + Text(guessed));
}

}  // namespace

void TestSpeculation() {
  Test("what followed the last tokens before is guessed", [] {
    ExpectGuess({1, 2, 3, 4, 5, 1, 2}, 2, {3, 4});
    ExpectGuess({1, 2, 3, 4, 5, 1, 2}, 1, {3});
    ExpectGuess({1, 2, 3, 4, 5, 1, 2}, 0, {});
  });
  Test("one token alone is no match", [] { ExpectGuess({1, 2, 3, 4, 9, 2}, 8, {}); });
  Test("the longest match is taken, of equals the latest", [] {
    ExpectGuess({7, 1, 2, 30, 8, 1, 2, 40, 7, 1, 2}, 1, {30});
    ExpectGuess({8, 1, 2, 30, 9, 1, 2, 40, 7, 1, 2}, 1, {40});
  });
  Test("a text that repeats itself goes on to do so", [] {
    ExpectGuess({5, 5, 5, 5}, 2, {5, 5});
    ExpectGuess({1, 2, 3, 1, 2, 3}, 4, {1, 2, 3, 1});
  });
  Test("short texts have no guess", [] {
    for (const auto& history : std::vector<std::vector<TokenId>>{{}, {1}, {1, 1}}) ExpectGuess(history, 8, {});
  });
  Test("right guesses become longer, wrong ones shorter, and several wrong ones in a row pause", [] {
    GuessLength length(6);
    const auto expect = [&](size_t expected, const std::string& when) {
      const auto n = length.Next();
      Expect(n == expected, when + ": " + std::to_string(n));
    };
    expect(2, "the first");
    length.Learn(2, 2);
    expect(4, "after a right one");
    length.Learn(4, 4);
    expect(6, "at most");
    length.Learn(6, 3);
    expect(3, "after one that was half right");
    length.Learn(0, 0);
    expect(3, "after a step without a guess");
    for (int i = 0; i < 3; i++) length.Learn(3, 0);
    for (int i = 0; i < 16; i++) expect(0, "pauses");
    expect(1, "begins again");
  });
}

}  // namespace aana::test
