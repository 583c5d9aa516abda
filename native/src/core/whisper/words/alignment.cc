#include "core/whisper/words/alignment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>
#include <cstdint>

namespace aana {
namespace {

constexpr size_t kFilterWidth = 7;

void Softmax(std::span<float> row) {
  const float largest = *std::ranges::max_element(row);
  double sum = 0;
  for (auto& value : row) sum += static_cast<double>(value = std::exp(value - largest));
  for (auto& value : row) value = static_cast<float>(static_cast<double>(value) / sum);
}

// Makes the mean over the tokens 0 and their standard deviation 1, for each position.
void Normalise(std::span<float> values, size_t n_tokens, size_t n_positions) {
  const auto n = static_cast<double>(n_tokens);
  for (size_t position = 0; position < n_positions; position++) {
    double sum = 0, squares = 0;
    for (size_t token = 0; token < n_tokens; token++)
      sum += static_cast<double>(values[token * n_positions + position]);
    const double mean = sum / n;
    for (size_t token = 0; token < n_tokens; token++)
      squares += std::pow(static_cast<double>(values[token * n_positions + position]) - mean, 2);
    const double deviation = std::max(std::sqrt(squares / n), 1e-12);
    for (size_t token = 0; token < n_tokens; token++) {
      auto& value = values[token * n_positions + position];
      value = static_cast<float>((static_cast<double>(value) - mean) / deviation);
    }
  }
}

// The median of each value and its neighbours. At the ends the row is reflected.
void FilterMedian(std::span<float> row) {
  constexpr auto kHalf = static_cast<std::ptrdiff_t>(kFilterWidth / 2);
  const auto n = static_cast<std::ptrdiff_t>(row.size());
  if (n <= kHalf) return;
  const std::vector<float> values(row.begin(), row.end());
  for (std::ptrdiff_t i = 0; i < n; i++) {
    std::array<float, kFilterWidth> around{};
    for (std::ptrdiff_t j = -kHalf; j <= kHalf; j++) {
      std::ptrdiff_t at = std::abs(i + j);
      if (at >= n) at = 2 * (n - 1) - at;
      around[static_cast<size_t>(j + kHalf)] = values[static_cast<size_t>(at)];
    }
    std::ranges::nth_element(around, around.begin() + kHalf);
    row[static_cast<size_t>(i)] = around[static_cast<size_t>(kHalf)];
  }
}

// Returns the position where the cheapest path enters each row. A path goes from the first cell to the last one: down,
// right, or both.
std::vector<size_t> WarpTime(std::span<const double> costs, size_t n_rows, size_t n_positions) {
  enum Step : uint8_t { kBoth, kDown, kRight };
  const auto width = n_positions + 1;
  std::vector<double> sums((n_rows + 1) * width, std::numeric_limits<double>::infinity());
  std::vector<uint8_t> steps((n_rows + 1) * width, kRight);
  sums[0] = 0;
  for (size_t position = 1; position <= n_positions; position++) {
    for (size_t row = 1; row <= n_rows; row++) {
      const double both = sums[(row - 1) * width + position - 1];
      const double down = sums[(row - 1) * width + position];
      const double right = sums[row * width + position - 1];
      const Step step = both < down && both < right ? kBoth : down < both && down < right ? kDown : kRight;
      const double before = step == kBoth ? both : step == kDown ? down : right;
      sums[row * width + position] = costs[(row - 1) * n_positions + position - 1] + before;
      steps[row * width + position] = step;
    }
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
  std::vector<double> costs(n_rows * n_positions);
  for (size_t head = 0; head < n_heads; head++) {
    const auto own = scores.subspan(head * n_tokens * n_positions, n_tokens * n_positions);
    std::vector<float> weights(own.begin(), own.end());
    for (size_t token = 0; token < n_tokens; token++)
      Softmax(std::span(weights).subspan(token * n_positions, n_positions));
    Normalise(weights, n_tokens, n_positions);
    for (size_t token = first; token < end; token++) {
      const auto row = std::span(weights).subspan(token * n_positions, n_positions);
      FilterMedian(row);
      for (size_t position = 0; position < n_positions; position++)
        costs[(token - first) * n_positions + position] -=
            static_cast<double>(row[position]) / static_cast<double>(n_heads);
    }
  }
  return WarpTime(costs, n_rows, n_positions);
}

}  // namespace aana
