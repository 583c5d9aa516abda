#include "core/llama/sampling/candidates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "core/llama/sampling/sampling_error.h"
#include "core/llama/sampling/weights.h"

namespace aana::llama {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

// Independent lanes, which the compiler computes side by side: a reduction to one number would have to keep its order.
constexpr size_t kLanes = 16;
constexpr size_t kBlock = 1024;
static_assert(kBlock % kLanes == 0);

// Candidates in which top-p is looked for first: in the text of a language model it is nearly always there.
constexpr size_t kFirstTop = 256;
// So many candidates at most are sorted.
constexpr size_t kMostSorted = 1024;

struct BlockSummary {
  float largest;
  bool has_nan;
};

BlockSummary Summarize(std::span<const float> block) {
  std::array<float, kLanes> largest;
  std::array<float, kLanes> nan{};
  largest.fill(-kInfinity);
  size_t i = 0;
  for (; i + kLanes <= block.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; lane++) {
      const float logit = block[i + lane];
      largest[lane] = logit > largest[lane] ? logit : largest[lane];
      nan[lane] += logit != logit ? 1.0F : 0.0F;
    }
  }
  for (size_t lane = 0; i < block.size(); i++, lane++) {
    largest[lane] = std::max(largest[lane], block[i]);
    nan[lane] += std::isnan(block[i]) ? 1.0F : 0.0F;
  }
  return {*std::ranges::max_element(largest), std::ranges::any_of(nan, [](float count) { return count > 0; })};
}

bool HasAbove(std::span<const float> block, float bound) {
  std::array<int, kLanes> above{};
  size_t i = 0;
  for (; i + kLanes <= block.size(); i += kLanes) {
    for (size_t lane = 0; lane < kLanes; lane++) above[lane] |= block[i + lane] > bound ? 1 : 0;
  }
  for (; i < block.size(); i++) above[0] |= block[i] > bound ? 1 : 0;
  return std::ranges::any_of(above, [](int is_above) { return is_above != 0; });
}

}  // namespace

void Candidates::Sort() {
  if (!is_sorted) std::ranges::sort(items, IsLikelier);
  is_sorted = true;
}

float Candidates::LargestLogit() const {
  return is_sorted ? items.front().logit : std::ranges::min_element(items, IsLikelier)->logit;
}

Largest FindLargest(std::span<const float> logits) {
  float largest = -kInfinity;
  size_t best_block = 0;
  for (size_t begin = 0; begin < logits.size(); begin += kBlock) {
    const auto summary = Summarize(logits.subspan(begin, std::min(kBlock, logits.size() - begin)));
    if (summary.has_nan) throw SamplingError(Fault::kDeployment, "the model computed a logit that is not a number");
    if (summary.largest <= largest) continue;
    largest = summary.largest;
    best_block = begin;
  }
  if (largest == kInfinity) throw SamplingError(Fault::kDeployment, "the model computed an infinite logit");
  const auto found = std::find(logits.begin() + static_cast<std::ptrdiff_t>(best_block), logits.end(), largest);
  return {static_cast<TokenId>(found - logits.begin()), largest};
}

void SelectTop(std::span<const float> logits, size_t k, Candidates& candidates) {
  auto& items = candidates.items;
  items.clear();
  const size_t room = std::max<size_t>(2 * k, 64);
  float bound = -kInfinity;  // later tokens must be above
  const auto keep_top = [&] {
    if (items.size() <= k) return;
    std::ranges::nth_element(items, items.begin() + static_cast<std::ptrdiff_t>(k - 1), IsLikelier);
    items.resize(k);
    bound = items.back().logit;
  };
  constexpr size_t kStep = 64;
  for (size_t begin = 0; begin < logits.size(); begin += kStep) {
    const auto block = logits.subspan(begin, std::min(kStep, logits.size() - begin));
    if (!HasAbove(block, bound)) continue;
    for (size_t i = 0; i < block.size(); i++) {
      if (block[i] > bound) items.push_back({.token = static_cast<TokenId>(begin + i), .logit = block[i]});
    }
    if (items.size() >= room) keep_top();
  }
  keep_top();
  candidates.is_sorted = false;
  candidates.Sort();
}

void SelectTopP(std::span<const float> logits, Largest largest, float top_p, Candidates& candidates) {
  const double sum = SumOfWeights(logits, largest);
  auto& items = candidates.items;
  const auto set_probabilities = [&] {
    double total = 0.0;
    for (auto& item : items) total += item.p = static_cast<float>(std::exp(item.logit - largest.logit) / sum);
    return total;
  };
  SelectTop(logits, kFirstTop, candidates);
  if (set_probabilities() < top_p && items.size() == kFirstTop) {
    SelectAll(logits, candidates);
    set_probabilities();
  }
  candidates.is_sorted = KeepFirst(items, top_p, IsLikelier);
}

void SelectMinP(std::span<const float> logits, Largest largest, float min_p, Candidates& candidates) {
  auto& items = candidates.items;
  items.clear();
  const float least = largest.logit + std::log(min_p);
  for (size_t i = 0; i < logits.size(); i++) {
    if (logits[i] >= least) items.push_back({.token = static_cast<TokenId>(i), .logit = logits[i]});
  }
  candidates.is_sorted = false;
}

void SelectAll(std::span<const float> logits, Candidates& candidates) {
  auto& items = candidates.items;
  items.clear();
  items.reserve(logits.size());
  for (size_t i = 0; i < logits.size(); i++) {
    if (logits[i] > -kInfinity) items.push_back({.token = static_cast<TokenId>(i), .logit = logits[i]});
  }
  candidates.is_sorted = false;
}

void Softmax(Candidates& candidates, float temperature) {
  auto& items = candidates.items;
  const float largest = candidates.LargestLogit();
  double sum = 0.0;
  for (auto& item : items) {
    // The difference first: a tiny temperature then gives 0 and minus infinity, never NaN.
    item.p = std::exp((item.logit - largest) / temperature);
    sum += item.p;
  }
  for (auto& item : items) item.p = static_cast<float>(item.p / sum);
}

bool KeepFirst(std::vector<Candidate>& items, double p, CandidateOrder order) {
  const auto at = [&](size_t i) { return items.begin() + static_cast<std::ptrdiff_t>(i); };
  size_t begin = 0;           // items before are kept
  size_t end = items.size();  // items from here on are not
  while (end - begin > kMostSorted) {
    const size_t middle = begin + (end - begin) / 2;
    std::nth_element(at(begin), at(middle), at(end), order);
    double sum = 0.0;
    for (size_t i = begin; i < middle; i++) sum += items[i].p;
    if (sum >= p) {
      end = middle;
    } else {
      begin = middle;
      p -= sum;
    }
  }
  std::sort(at(begin), at(end), order);
  for (double sum = 0.0; begin < end && sum < p; begin++) sum += items[begin].p;
  items.resize(std::max<size_t>(begin, 1));
  if (items.size() > kMostSorted) return false;
  std::ranges::sort(items, order);
  return true;
}

}  // namespace aana::llama
