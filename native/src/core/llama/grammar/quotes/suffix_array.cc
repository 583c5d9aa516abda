#include "core/llama/grammar/quotes/suffix_array.h"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace aana::llama {
namespace {

constexpr int32_t kNone = -1;

// Induced sorting (Nong, Zhang, Chan: "Two efficient algorithms for linear time suffix array construction", 2011). A
// suffix ascends when it is smaller than the one behind it. Valleys, where an ascent begins, are sorted first; one pass
// in each direction then sorts everything else.
class InducedSort {
 public:
  InducedSort(const std::vector<int32_t>& text, int32_t n_symbols)
      : text_(text),
        ascends_(text.size()),
        begins_(static_cast<size_t>(n_symbols) + 1),
        sorted_(text.size()),
        numbers_(text.size(), kNone) {
    for (size_t i = text.size() - 1; i-- > 0;)
      ascends_[i] = text[i] < text[i + 1] || (text[i] == text[i + 1] && ascends_[i + 1]);
    for (size_t i = 1; i < text.size(); i++) {
      if (!IsValley(i)) continue;
      numbers_[i] = static_cast<int32_t>(valleys_.size());
      valleys_.push_back(static_cast<int32_t>(i));
    }
    for (const auto symbol : text) begins_[static_cast<size_t>(symbol) + 1]++;
    std::partial_sum(begins_.begin(), begins_.end(), begins_.begin());
  }

  std::vector<int32_t> Run() {
    Induce(valleys_);
    if (!valleys_.empty()) Induce(SortedValleys());
    return std::move(sorted_);
  }

 private:
  bool IsValley(size_t i) const { return i > 0 && ascends_[i] && !ascends_[i - 1]; }
  int32_t& Begin(std::vector<int32_t>& begins, int32_t place) const {
    return begins[static_cast<size_t>(text_[static_cast<size_t>(place)])];
  }

  // Sorts all suffixes when the valleys are sorted; otherwise only what stands between valleys.
  void Induce(const std::vector<int32_t>& valleys) {
    std::ranges::fill(sorted_, kNone);
    std::vector<int32_t> ends(begins_.begin() + 1, begins_.end());
    for (size_t i = valleys.size(); i-- > 0;) sorted_[static_cast<size_t>(--Begin(ends, valleys[i]))] = valleys[i];
    auto begins = begins_;
    const auto last = static_cast<int32_t>(text_.size()) - 1;
    sorted_[static_cast<size_t>(Begin(begins, last)++)] = last;
    for (size_t i = 0; i < sorted_.size(); i++) {
      const auto before = sorted_[i] - 1;
      if (before >= 0 && !ascends_[static_cast<size_t>(before)])
        sorted_[static_cast<size_t>(Begin(begins, before)++)] = before;
    }
    ends.assign(begins_.begin() + 1, begins_.end());
    for (size_t i = sorted_.size(); i-- > 0;) {
      const auto before = sorted_[i] - 1;
      if (before >= 0 && ascends_[static_cast<size_t>(before)])
        sorted_[static_cast<size_t>(--Begin(ends, before))] = before;
    }
  }

  std::vector<int32_t> SortedValleys() const {
    std::vector<int32_t> ranks(valleys_.size());
    int32_t rank = kNone;
    int32_t last = kNone;
    for (const auto place : sorted_) {
      const auto number = place >= 0 ? numbers_[static_cast<size_t>(place)] : kNone;
      if (number == kNone) continue;
      if (last == kNone || !IsSameBetweenValleys(last, number)) rank++;
      ranks[static_cast<size_t>(number)] = rank;
      last = number;
    }
    auto order = SortSuffixes(ranks, rank + 1);
    for (auto& number : order) number = valleys_[static_cast<size_t>(number)];
    return order;
  }

  // Whether the texts from two valleys to the next ones are the same.
  bool IsSameBetweenValleys(int32_t a, int32_t b) const {
    const auto place_of = [this](size_t number) {
      return number < valleys_.size() ? static_cast<size_t>(valleys_[number]) : text_.size();
    };
    const auto [from, to] = std::pair(place_of(static_cast<size_t>(a)), place_of(static_cast<size_t>(b)));
    const auto [end, other_end] = std::pair(place_of(static_cast<size_t>(a) + 1), place_of(static_cast<size_t>(b) + 1));
    if (end - from != other_end - to || end == text_.size() || other_end == text_.size()) return false;
    return std::equal(text_.begin() + static_cast<std::ptrdiff_t>(from),
                      text_.begin() + static_cast<std::ptrdiff_t>(end) + 1,
                      text_.begin() + static_cast<std::ptrdiff_t>(to));
  }

  const std::vector<int32_t>& text_;
  std::vector<bool> ascends_;
  std::vector<int32_t> begins_;  // of the suffixes with each first symbol, in sorted_
  std::vector<int32_t> sorted_;
  std::vector<int32_t> numbers_;  // of the valleys, by place
  std::vector<int32_t> valleys_;  // places
};

}  // namespace

std::vector<int32_t> SortSuffixes(const std::vector<int32_t>& text, int32_t n_symbols) {
  return text.empty() ? std::vector<int32_t>() : InducedSort(text, n_symbols).Run();
}

}  // namespace aana::llama
