#include "core/whisper/words/alignment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <utility>

#include "core/llama/sampling/weights.h"

// The loops over positions have no branches, so that compilers compute several positions at a time.
namespace aana {
namespace {

constexpr size_t kFilterWidth = 7;
constexpr size_t kFilterReach = kFilterWidth / 2;

void Softmax(std::span<const float> scores, std::span<float> weights) {
  const float largest = *std::ranges::max_element(scores);
  const double sum = llama::WriteWeights(scores, {.token = 0, .logit = largest}, 1.0F, weights);
  const auto factor = static_cast<float>(1 / sum);
  for (auto& weight : weights) weight *= factor;
}

// Makes the mean over the tokens 0 and their standard deviation 1, for each position.
void Normalise(std::span<float> values, size_t n_tokens, size_t n_positions) {
  const auto row_of = [&](size_t token) { return values.data() + token * n_positions; };
  const auto n = static_cast<double>(n_tokens);
  // A mean of equal values is exactly that value, so that their deviation is 0 and no error of rounding.
  std::vector<double> means(n_positions);
  std::vector<float> factors(n_positions);
  for (size_t token = 0; token < n_tokens; token++) {
    const float* row = row_of(token);
    for (size_t i = 0; i < n_positions; i++) means[i] += static_cast<double>(row[i]);
  }
  for (auto& mean : means) mean /= n;
  for (size_t token = 0; token < n_tokens; token++) {
    float* row = row_of(token);
    for (size_t i = 0; i < n_positions; i++) {
      row[i] = static_cast<float>(static_cast<double>(row[i]) - means[i]);
      factors[i] += row[i] * row[i];
    }
  }
  for (auto& factor : factors) factor = 1 / std::max(std::sqrt(factor / static_cast<float>(n)), 1e-12F);
  for (size_t token = 0; token < n_tokens; token++) {
    float* row = row_of(token);
    for (size_t i = 0; i < n_positions; i++) row[i] *= factors[i];
  }
}

// The median of seven values: pairs are put in order until the middle one stands in the middle. The pairs are those of
// N. Devillard, Fast median search (1998).
float MedianOf(std::array<float, kFilterWidth> v) {
  const auto order = [&](size_t a, size_t b) {
    const float least = v[b] < v[a] ? v[b] : v[a];
    v[b] = v[b] < v[a] ? v[a] : v[b];
    v[a] = least;
  };
  order(0, 5);
  order(0, 3);
  order(1, 6);
  order(2, 4);
  order(0, 1);
  order(3, 5);
  order(2, 6);
  order(2, 3);
  order(3, 6);
  order(4, 5);
  order(1, 4);
  order(1, 3);
  order(3, 4);
  return v[3];
}

// Subtracts the median of each value and its neighbours from `costs`. At the ends the row is reflected; a row that is
// too short for that stays as it is.
void SubtractMedians(std::span<const float> row, std::vector<float>& reflected, std::span<float> costs) {
  const size_t n = row.size();
  if (n <= kFilterReach) {
    for (size_t i = 0; i < n; i++) costs[i] -= row[i];
    return;
  }
  reflected.resize(n + 2 * kFilterReach);
  std::ranges::copy(row, reflected.begin() + kFilterReach);
  for (size_t i = 1; i <= kFilterReach; i++) {
    reflected[kFilterReach - i] = row[i];
    reflected[kFilterReach + n - 1 + i] = row[n - 1 - i];
  }
  const float* from = reflected.data();
  for (size_t i = 0; i < n; i++)
    costs[i] -= MedianOf({from[i], from[i + 1], from[i + 2], from[i + 3], from[i + 4], from[i + 5], from[i + 6]});
}

// Returns the position where the cheapest path enters each row. A path goes from the first cell to the last one: down,
// right, or both.
std::vector<size_t> WarpTime(std::span<const float> costs, size_t n_rows, size_t n_positions) {
  enum Step : uint8_t { kBoth, kDown, kRight };
  constexpr double kNowhere = std::numeric_limits<double>::infinity();
  const auto width = n_positions + 1;
  std::vector<uint8_t> steps((n_rows + 1) * width, kRight);
  std::vector<double> above(width, kNowhere);  // the least sums of paths to the cells of the row before
  std::vector<double> sums(width, kNowhere);
  above[0] = 0;
  for (size_t row = 1; row <= n_rows; row++) {
    for (size_t position = 1; position <= n_positions; position++) {
      const double both = above[position - 1];
      const double down = above[position];
      const double right = sums[position - 1];
      const Step step = both < down && both < right ? kBoth : down < both && down < right ? kDown : kRight;
      const double before = step == kBoth ? both : step == kDown ? down : right;
      sums[position] = static_cast<double>(costs[(row - 1) * n_positions + position - 1]) + before;
      steps[row * width + position] = step;
    }
    std::swap(above, sums);
    sums[0] = kNowhere;
  }
  std::vector<size_t> entries(n_rows, 0);
  for (size_t row = n_rows, position = n_positions; row > 0 && position > 0;) {
    entries[row - 1] = position - 1;
    const auto step = steps[row * width + position];
    if (step != kRight) row--;
    if (step != kDown) position--;
  }
  return entries;
}

}  // namespace

std::vector<size_t> AlignTokens(const AttentionScores& attention, size_t first, size_t end) {
  const auto [scores, n_heads, n_tokens, n_positions] = attention;
  if (first >= end || n_positions == 0 || n_heads == 0) return std::vector<size_t>(end > first ? end - first : 0, 0);
  const size_t n_rows = end - first;
  std::vector<float> costs(n_rows * n_positions);
  std::vector<float> weights(n_tokens * n_positions);
  std::vector<float> reflected;
  for (size_t head = 0; head < n_heads; head++) {
    const auto row_at = [&](auto values, size_t token) { return values.subspan(token * n_positions, n_positions); };
    const auto own = scores.subspan(head * n_tokens * n_positions, n_tokens * n_positions);
    for (size_t token = 0; token < n_tokens; token++) Softmax(row_at(own, token), row_at(std::span(weights), token));
    Normalise(weights, n_tokens, n_positions);
    for (size_t token = first; token < end; token++)
      SubtractMedians(row_at(std::span<const float>(weights), token), reflected,
                      row_at(std::span(costs), token - first));
  }
  // The mean of the heads has the same path as their sum.
  return WarpTime(costs, n_rows, n_positions);
}

}  // namespace aana
