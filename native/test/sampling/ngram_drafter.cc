// Guesses of the next tokens from the text itself.
#include "core/llama/speculation/ngram_drafter.h"

#include <vector>

#include "check.h"
#include "helpers.h"
#include "tests.h"

namespace aana::test {
namespace {

using namespace aana::llama;

void ExpectDraft(const std::vector<TokenId>& history, size_t n_allowed, const std::vector<TokenId>& expected) {
  const auto drafted = NgramDrafter(2).Draft(history, n_allowed);
  Expect(drafted == expected, "expected " + Text(expected) + ", got " + Text(drafted));
}

}  // namespace

void TestNgramDrafter() {
  Test("what followed the last tokens before is guessed", [] {
    ExpectDraft({1, 2, 3, 4, 5, 1, 2}, 8, {3, 4});
    ExpectDraft({1, 2, 3, 4, 5, 1, 2}, 1, {3});
    ExpectDraft({1, 2, 3, 4, 5, 1, 2}, 0, {});
  });
  Test("one token alone is no match", [] { ExpectDraft({1, 2, 3, 4, 9, 2}, 8, {}); });
  Test("the longest match is taken, of equals the latest", [] {
    ExpectDraft({7, 1, 2, 30, 8, 1, 2, 40, 7, 1, 2}, 1, {30});
    ExpectDraft({8, 1, 2, 30, 9, 1, 2, 40, 7, 1, 2}, 1, {40});
  });
  Test("a text that repeats itself goes on to do so", [] {
    ExpectDraft({5, 5, 5, 5}, 8, {5, 5});
    ExpectDraft({1, 2, 3, 1, 2, 3}, 8, {1, 2});
  });
  Test("short texts have no guess", [] {
    for (const auto& history : std::vector<std::vector<TokenId>>{{}, {1}, {1, 1}}) ExpectDraft(history, 8, {});
  });
  Test("right guesses become longer, wrong ones shorter, and several wrong ones in a row pause", [] {
    const std::vector<TokenId> history{1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2};
    NgramDrafter drafter(6);
    const auto drafted = [&] { return drafter.Draft(history, 100).size(); };
    Expect(drafted() == 2, "the first");
    drafter.Learn(2, 2);
    Expect(drafted() == 4, "after a right one");
    drafter.Learn(4, 4);
    Expect(drafted() == 6, "at most");
    drafter.Learn(6, 3);
    Expect(drafted() == 3, "after one that was half right");
    for (int i = 0; i < 3; i++) drafter.Learn(3, 0);
    for (int i = 0; i < 16; i++) Expect(drafted() == 0, "pauses");
    Expect(drafted() == 1, "begins again");
  });
}

}  // namespace aana::test
