#include "core/llama/sampling/stages/truncation.h"

#include <algorithm>
#include <cmath>

namespace aana::llama {
namespace {

bool IsMoreTypical(const Candidate& a, const Candidate& b) {
  return a.score < b.score || (a.score == b.score && IsLikelier(a, b));
}

}  // namespace

void Typical(Candidates& candidates, float typical_p) {
  Softmax(candidates);
  auto& items = candidates.items;
  double entropy = 0.0;
  for (const auto& item : items) {
    if (item.p > 0) entropy -= item.p * std::log(item.p);
  }
  for (auto& item : items) item.score = std::fabs(-std::log(item.p) - static_cast<float>(entropy));
  KeepFirst(items, typical_p, IsMoreTypical);
  candidates.is_sorted = false;
}

void TopP(Candidates& candidates, float top_p) {
  Softmax(candidates);
  candidates.is_sorted = KeepFirst(candidates.items, top_p, IsLikelier);
}

void MinP(Candidates& candidates, float min_p) {
  auto& items = candidates.items;
  const float least = candidates.LargestLogit() + std::log(min_p);
  std::erase_if(items, [least](const Candidate& item) { return item.logit < least; });
}

void ExcludeTopChoices(Candidates& candidates, float threshold) {
  Softmax(candidates);
  auto& items = candidates.items;
  const Candidate* last = nullptr;
  for (const auto& item : items) {
    if (item.p >= threshold && (last == nullptr || IsLikelier(*last, item))) last = &item;
  }
  if (last == nullptr) return;
  const auto kept = *last;
  std::erase_if(items, [&](const Candidate& item) { return IsLikelier(item, kept); });
}

}  // namespace aana::llama
