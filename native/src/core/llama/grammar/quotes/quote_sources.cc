#include "core/llama/grammar/quotes/quote_sources.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "core/llama/grammar/quotes/suffix_array.h"
#include "core/llama/sampling/sampling_error.h"

namespace aana::llama {
namespace {

constexpr char kWordEnd = '\n';
constexpr char kSourceEnd = '\0';
constexpr size_t kMaxSourceBytes = 64U << 20;

bool IsMark(uint8_t byte) { return byte == kWordEnd || byte == kSourceEnd; }

bool IsInWords(std::string_view text) {
  char before = kWordEnd;
  for (const char c : text) {
    const bool is_empty_word = c == kWordEnd && (before == kWordEnd || before == ' ');
    const bool is_control = static_cast<uint8_t>(c) < ' ' && c != kWordEnd;
    if (is_empty_word || is_control) return false;
    before = c;
  }
  return before == kWordEnd;
}

}  // namespace

QuoteSources::QuoteSources(const Quotable& quotable)
    : min_words_(std::max(quotable.min_words, 1U)), max_words_(std::max(quotable.max_words, min_words_)) {
  size_t n_bytes = 0;
  for (const auto& text : quotable.texts) n_bytes += text.size() + 1;
  if (n_bytes > kMaxSourceBytes) {
    throw SamplingError(Fault::kCaller,
                        "the sources of quotations have more than " + std::to_string(kMaxSourceBytes >> 20) + " MiB");
  }
  text_.reserve(n_bytes);
  for (const auto& text : quotable.texts) {
    if (!IsInWords(text)) throw SamplingError(Fault::kCaller, "a source of quotations is not divided into words");
    text_ += text;
    text_ += kSourceEnd;
  }
  const auto is_begin = FindBegins();
  const auto n_begins = static_cast<size_t>(std::ranges::count(is_begin, true));
  if (n_begins == 0) {
    throw SamplingError(Fault::kCaller,
                        "no source has " + std::to_string(min_words_) + " words, which a quotation needs at least");
  }
  std::vector<int32_t> symbols(text_.size());
  std::ranges::transform(text_, symbols.begin(), [](char c) { return static_cast<uint8_t>(c); });
  begins_.reserve(n_begins);
  for (const auto place : SortSuffixes(symbols, std::numeric_limits<uint8_t>::max() + 1)) {
    if (is_begin[static_cast<size_t>(place)]) begins_.push_back(static_cast<uint32_t>(place));
  }
}

std::vector<bool> QuoteSources::FindBegins() const {
  std::vector<bool> is_begin(text_.size());
  size_t n_words = 0;  // from the place at hand to the end of its source
  for (size_t i = text_.size(); i-- > 0;) {
    if (text_[i] == kSourceEnd) n_words = 0;
    if (text_[i] == kWordEnd) n_words++;
    if (IsMark(static_cast<uint8_t>(text_[i])) || n_words < min_words_) continue;
    const bool is_first = i == 0 || IsMark(static_cast<uint8_t>(text_[i - 1]));
    // The space before a word is no part of a quotation that begins with the word.
    if (is_first) is_begin[text_[i] == ' ' ? i + 1 : i] = true;
  }
  return is_begin;
}

bool QuoteSources::IsOf(const Quotable& quotable) const {
  const auto min_words = std::max(quotable.min_words, 1U);
  if (min_words != min_words_ || std::max(quotable.max_words, min_words) != max_words_) return false;
  auto rest = std::string_view(text_);
  for (const auto& text : quotable.texts) {
    if (rest.size() <= text.size() || !rest.starts_with(text) || rest[text.size()] != kSourceEnd) return false;
    rest.remove_prefix(text.size() + 1);
  }
  return rest.empty();
}

std::optional<QuotePlace> QuoteSources::Narrowed(const QuotePlace& place, uint8_t byte) const {
  const auto passages = std::span(begins_).subspan(place.first, place.last - place.first);
  const auto [from, to] = std::ranges::equal_range(
      passages, byte, {}, [&](uint32_t begin) { return static_cast<uint8_t>(text_[begin + place.length]); });
  if (from == to) return std::nullopt;
  return QuotePlace{.first = place.first + static_cast<uint32_t>(from - passages.begin()),
                    .last = place.first + static_cast<uint32_t>(to - passages.begin()),
                    .length = place.length + 1,
                    .n_words = place.n_words};
}

std::optional<QuotePlace> QuoteSources::BehindWord(const QuotePlace& place) const {
  if (place.length == 0) return std::nullopt;
  auto behind = Narrowed(place, kWordEnd);
  if (behind) behind->n_words++;
  return behind;
}

void QuoteSources::AddNext(const QuotePlace& place, uint8_t byte, std::vector<QuotePlace>& next) const {
  if (IsMark(byte)) return;
  if (const auto within = Narrowed(place, byte)) next.push_back(*within);
  const auto behind = BehindWord(place);
  if (!behind || behind->n_words == max_words_) return;
  if (const auto after = Narrowed(*behind, byte)) next.push_back(*after);
}

bool QuoteSources::IsEnd(const QuotePlace& place) const {
  const auto behind = BehindWord(place);
  return behind && behind->n_words >= min_words_;
}

bool QuoteSources::CanContinue(const QuotePlace& place) const {
  // The ends of words, and of sources behind them, come before everything else that can follow.
  if (ByteAt(place.last - 1, place.length) != kWordEnd) return true;
  return place.n_words + 1 < max_words_ && ByteAt(place.last - 1, place.length + 1) != kSourceEnd;
}

QuoteSources::Rest QuoteSources::ShortestPassage(const QuotePlace& place) const {
  Rest shortest{.from = 0, .cost = std::numeric_limits<uint32_t>::max()};
  for (auto passage = place.first; passage < place.last; passage++) {
    const size_t from = begins_[passage] + place.length;
    uint32_t cost = 0;
    auto n_words = place.n_words;
    for (auto at = from; cost < shortest.cost; at++) {
      if (text_[at] != kWordEnd) {
        cost++;
      } else if (++n_words >= min_words_) {
        shortest = {.from = from, .cost = cost};
      }
    }
  }
  return shortest;
}

std::string QuoteSources::EndOf(const Rest& rest) const {
  std::string text;
  for (auto at = rest.from; text.size() < rest.cost; at++) {
    if (text_[at] != kWordEnd) text += text_[at];
  }
  return text;
}

}  // namespace aana::llama
