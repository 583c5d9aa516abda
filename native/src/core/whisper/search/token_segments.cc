#include "core/whisper/search/token_segments.h"

#include <algorithm>
#include <cstddef>

namespace aana {
namespace {

// Less audio than this after a text that has ended is taken for silence. Decoded alone, it often becomes words that
// nobody said.
constexpr double kLeastRest = 1.0;

}  // namespace

SplitText SplitByTimes(const Vocabulary& vocabulary, std::span<const Token> tokens, double duration) {
  const auto is_time = [&](size_t i) { return vocabulary.IsTime(tokens[i].id); };
  const auto seconds = [&](size_t i) {
    return std::min(duration, kTimeStep * static_cast<double>(tokens[i].id - vocabulary.first_time));
  };
  const auto text_of = [&](size_t begin, size_t end) {
    std::vector<Token> text;
    for (size_t i = begin; i < end; i++) {
      if (!is_time(i)) text.push_back(tokens[i]);
    }
    return text;
  };
  const size_t n = tokens.size();
  const bool ends_in_one_time = n >= 2 && is_time(n - 1) && !is_time(n - 2);
  std::vector<size_t> cuts;  // each segment ends before one
  for (size_t i = 1; i < n; i++) {
    if (is_time(i - 1) && is_time(i)) cuts.push_back(i);
  }

  SplitText split{{}, duration};
  if (cuts.empty()) {
    double end = duration;
    for (size_t i = 0; i < n; i++) {
      if (is_time(i) && tokens[i].id != vocabulary.first_time) end = seconds(i);
    }
    if (n > 0) split.segments.push_back({0, end, text_of(0, n)});
    return split;
  }
  if (ends_in_one_time) cuts.push_back(n);
  size_t begin = 0;
  for (const size_t cut : cuts) {
    const double start = is_time(begin) ? seconds(begin) : 0;
    split.segments.push_back(
        {start, std::max(start, is_time(cut - 1) ? seconds(cut - 1) : start), text_of(begin, cut)});
    begin = cut;
  }
  if (ends_in_one_time) return split;
  const double last = seconds(begin - 1);
  const bool is_complete = text_of(begin, n).empty() && duration - last < kLeastRest;
  // Without progress the same text would come again.
  if (last > 0 && !is_complete) split.next = last;
  return split;
}

}  // namespace aana
