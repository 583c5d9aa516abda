#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/llama/grammar/quotes/quotable.h"

namespace aana::llama {

// Where a quotation is after its first bytes: at all passages of the sources that begin so.
struct QuotePlace {
  // The passages, by the order of their texts; `last` is behind the last one.
  uint32_t first = 0;
  uint32_t last = 0;
  uint32_t length = 0;   // bytes of the sources that were read, with the ends of words
  uint32_t n_words = 0;  // before the word at hand

  bool operator==(const QuotePlace&) const = default;
};

// The sources of quotations with a suffix array over the beginnings of their words: a quotation is a range in it, which
// each byte narrows. Takes about three bytes for each byte of usual text, up to 20 while it is built. Any thread.
class QuoteSources {
 public:
  // Throws SamplingError (fault kCaller) when no source has enough words, or when they are too large.
  explicit QuoteSources(const Quotable& quotable);

  // Whether these are the sources.
  bool IsOf(const Quotable& quotable) const;

  QuotePlace Start() const { return {.first = 0, .last = static_cast<uint32_t>(begins_.size())}; }
  // Adds the places after the byte. There are two where a word may go on and may have ended.
  void AddNext(const QuotePlace& place, uint8_t byte, std::vector<QuotePlace>& next) const;
  // A quotation may end here.
  bool IsEnd(const QuotePlace& place) const;
  bool CanContinue(const QuotePlace& place) const;
  // The shortest text after which a quotation may end.
  std::string ShortestEnd(const QuotePlace& place) const { return EndOf(ShortestPassage(place)); }
  uint32_t CostOf(const QuotePlace& place) const { return ShortestPassage(place).cost; }

  size_t n_bytes() const { return text_.size() + 2 * begins_.size() * sizeof(uint32_t); }

 private:
  struct Rest {
    size_t from = 0;    // in the text
    uint32_t cost = 0;  // bytes, without the ends of words
  };

  uint8_t ByteAt(uint32_t passage, uint32_t length) const {
    return static_cast<uint8_t>(text_[begins_[passage] + length]);
  }
  std::optional<QuotePlace> Narrowed(const QuotePlace& place, uint8_t byte) const;
  std::optional<QuotePlace> BehindWord(const QuotePlace& place) const;
  // Returns, for each place where a quotation may begin, where the shortest one ends; kNoEnd for the others.
  std::vector<uint32_t> FindFirstEnds() const;
  Rest ShortestPassage(const QuotePlace& place) const;
  std::string EndOf(const Rest& rest) const;

  uint32_t min_words_;
  uint32_t max_words_;
  std::string text_;                  // all sources, each with a zero behind it
  std::vector<uint32_t> begins_;      // of words that enough words follow, by the order of the texts from there on
  std::vector<uint32_t> first_ends_;  // of each of these: the end of the shortest quotation that begins there
};

}  // namespace aana::llama
