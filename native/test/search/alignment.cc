// Times of words.
#include "core/whisper/words/alignment.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

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

using Rows = std::vector<std::vector<double>>;

double PlainMedian(const std::vector<double>& row, int at) {
  const int n = static_cast<int>(row.size());
  if (n < 4) return row[static_cast<size_t>(at)];
  std::vector<double> around;
  for (int i = at - 3; i <= at + 3; i++) {
    const int reflected = i < 0 ? -i : i >= n ? 2 * (n - 1) - i : i;
    around.push_back(row[static_cast<size_t>(reflected)]);
  }
  std::ranges::sort(around);
  return around[3];
}

// What AlignTokens says, step by step in double precision.
std::vector<size_t> AlignPlainly(const AttentionScores& attention, size_t first, size_t end) {
  const auto [scores, n_heads, n_tokens, n_positions] = attention;
  Rows costs(end - first, std::vector<double>(n_positions));
  for (size_t head = 0; head < n_heads; head++) {
    Rows weights;
    for (size_t token = 0; token < n_tokens; token++) {
      const auto own = scores.subspan((head * n_tokens + token) * n_positions, n_positions);
      std::vector<double> row;
      double sum = 0;
      for (const float score : own) sum += row.emplace_back(std::exp(static_cast<double>(score)));
      for (auto& weight : row) weight /= sum;
      weights.push_back(row);
    }
    for (size_t i = 0; i < n_positions; i++) {
      double mean = 0, square = 0;
      for (const auto& row : weights) mean += row[i] / static_cast<double>(n_tokens);
      for (const auto& row : weights) square += std::pow(row[i] - mean, 2) / static_cast<double>(n_tokens);
      for (auto& row : weights) row[i] = (row[i] - mean) / std::max(std::sqrt(square), 1e-12);
    }
    for (size_t token = first; token < end; token++) {
      for (size_t i = 0; i < n_positions; i++)
        costs[token - first][i] -= PlainMedian(weights[token], static_cast<int>(i));
    }
  }
  // The least sums of the paths from the first cell, and back along the least ones.
  Rows sums = costs;
  const auto sum_at = [&](size_t row, size_t i) {  // counted from 1; the cell before the first one is 0
    if (row == 0 && i == 0) return 0.0;
    return row == 0 || i == 0 ? std::numeric_limits<double>::infinity() : sums[row - 1][i - 1];
  };
  for (size_t row = 1; row <= costs.size(); row++) {
    for (size_t i = 1; i <= n_positions; i++)
      sums[row - 1][i - 1] += std::min({sum_at(row - 1, i - 1), sum_at(row - 1, i), sum_at(row, i - 1)});
  }
  std::vector<size_t> starts(costs.size());
  for (size_t row = costs.size(), i = n_positions; row > 0 && i > 0;) {
    starts[row - 1] = i - 1;
    const double both = sum_at(row - 1, i - 1), down = sum_at(row - 1, i), right = sum_at(row, i - 1);
    if (both < down && both < right) {
      row--;
      i--;
    } else if (down < both && down < right) {
      row--;
    } else {
      i--;
    }
  }
  return starts;
}

}  // namespace

void TestAlignment() {
  Test("tokens begin where a plain computation in double precision says, for any numbers of tokens and positions", [] {
    std::mt19937 random(11);
    std::normal_distribution<float> score(0, 3);
    // From 4 to about 10 reflected positions, many medians are the same number, and several paths are the cheapest.
    for (const size_t n_positions : {2U, 3U, 20U, 61U, 150U, 1500U}) {
      for (const size_t n_tokens : {2U, 3U, 8U, 40U}) {
        std::vector<float> scores(3 * n_tokens * n_positions);
        for (auto& value : scores) value = score(random);
        const AttentionScores attention{scores, 3, n_tokens, n_positions};
        Expect(AlignTokens(attention, 1, n_tokens) == AlignPlainly(attention, 1, n_tokens),
               std::to_string(n_tokens) + " tokens, " + std::to_string(n_positions) + " positions");
      }
    }
  });
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
