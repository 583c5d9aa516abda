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
constexpr uint32_t kNoEnd = 0;

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
  std::vector<int32_t> symbols(text_.size());
  std::ranges::transform(text_, symbols.begin(), [](char c) { return static_cast<uint8_t>(c); });
  const auto order = SortSuffixes(symbols, std::numeric_limits<uint8_t>::max() + 1);
  const auto ends = FindFirstEnds();
  const auto n_begins = text_.size() - static_cast<size_t>(std::ranges::count(ends, kNoEnd));
  if (n_begins == 0) {
    throw SamplingError(Fault::kCaller,
                        "no source has " + std::to_string(min_words_) + " words, which a quotation needs at least");
  }
  begins_.reserve(n_begins);
  first_ends_.reserve(n_begins);
  for (const auto place : order) {
    const auto end = ends[static_cast<size_t>(place)];
    if (end == kNoEnd) continue;
    begins_.push_back(static_cast<uint32_t>(place));
    first_ends_.push_back(end);
  }
}

std::vector<uint32_t> QuoteSources::FindFirstEnds() const {
  std::vector<uint32_t> ends(text_.size(), kNoEnd);
  std::vector<size_t> begins;  // of the words of the source at hand
  size_t begin = 0;
  for (size_t i = 0; i < text_.size(); i++) {
    if (!IsMark(static_cast<uint8_t>(text_[i]))) continue;
    if (text_[i] == kSourceEnd) {
      begins.clear();
    } else {
      // The space before a word is no part of a quotation that begins with the word.
      begins.push_back(text_[begin] == ' ' ? begin + 1 : begin);
      if (begins.size() >= min_words_) ends[begins[begins.size() - min_words_]] = static_cast<uint32_t>(i);
    }
    begin = i + 1;
  }
  return ends;
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
  const auto n_missing = place.n_words < min_words_ ? min_words_ - place.n_words : 1;
  Rest shortest{.from = 0, .cost = std::numeric_limits<uint32_t>::max()};
  for (auto passage = place.first; passage < place.last; passage++) {
    const size_t from = begins_[passage] + place.length;
    // With enough words, the one at hand is another one in each passage, so no byte of the sources is read twice.
    const size_t end = place.n_words < min_words_ ? first_ends_[passage] : text_.find(kWordEnd, from);
    const auto cost = static_cast<uint32_t>(end - from) - (n_missing - 1);
    if (cost < shortest.cost) shortest = {.from = from, .cost = cost};
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
