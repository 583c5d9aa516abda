#include "core/llama/grammar/char_set.h"

#include <algorithm>
#include <array>

namespace aana::llama {
namespace {

constexpr CharRange kSurrogates{0xD800, 0xDFFF};

}  // namespace

CharSet Normalized(const CharSet& set) {
  CharSet without;
  for (const auto& range : set) {
    if (range.first < kSurrogates.first) without.push_back({range.first, std::min(range.last, kSurrogates.first - 1)});
    if (range.last > kSurrogates.last) without.push_back({std::max(range.first, kSurrogates.last + 1), range.last});
  }
  std::ranges::sort(without);
  CharSet joined;
  for (const auto& range : without) {
    if (!joined.empty() && range.first <= joined.back().last + 1) {
      joined.back().last = std::max(joined.back().last, range.last);
    } else {
      joined.push_back(range);
    }
  }
  return joined;
}

CharSet Complement(const CharSet& set) {
  CharSet others;
  uint32_t next = 1;
  for (const auto& range : set) {
    if (range.first > next) others.push_back({next, range.first - 1});
    next = std::max(next, range.last + 1);
  }
  if (next <= kLastChar) others.push_back({next, kLastChar});
  return Normalized(others);
}

CharSet AnyChar() { return Complement({}); }

std::vector<uint8_t> EncodeUtf8(uint32_t point) {
  const auto tail = [point](int shift) { return static_cast<uint8_t>(0x80 | ((point >> shift) & 0x3F)); };
  if (point < 0x80) return {static_cast<uint8_t>(point)};
  if (point < 0x800) return {static_cast<uint8_t>(0xC0 | (point >> 6)), tail(0)};
  if (point < 0x10000) return {static_cast<uint8_t>(0xE0 | (point >> 12)), tail(6), tail(0)};
  return {static_cast<uint8_t>(0xF0 | (point >> 18)), tail(12), tail(6), tail(0)};
}

std::optional<DecodedChar> DecodeUtf8(std::string_view text) {
  const auto lead = static_cast<uint8_t>(text[0]);
  if (lead < 0x80) return DecodedChar{lead, 1};
  const size_t n_bytes = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < n_bytes) return std::nullopt;
  uint32_t point = lead & (0xFFU >> (n_bytes + 1));
  for (size_t i = 1; i < n_bytes; i++) {
    const auto byte = static_cast<uint8_t>(text[i]);
    if ((byte & 0xC0) != 0x80) return std::nullopt;
    point = point << 6 | (byte & 0x3F);
  }
  const std::array<uint32_t, 5> least = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = point >= kSurrogates.first && point <= kSurrogates.last;
  if (point < least[n_bytes] || point > kLastChar || is_surrogate) return std::nullopt;
  return DecodedChar{point, n_bytes};
}

void ForEachUtf8Range(CharRange range, const std::function<void(std::span<const ByteRange>)>& take) {
  const auto split = [&](uint32_t last_of_first) {
    ForEachUtf8Range({range.first, last_of_first}, take);
    ForEachUtf8Range({last_of_first + 1, range.last}, take);
  };
  // Characters of one length.
  for (const uint32_t last : {0x7FU, 0x7FFU, 0xFFFFU}) {
    if (range.first <= last && last < range.last) return split(last);
  }
  // Then of each tail of bytes either one, or all that there are.
  if (range.last >= 0x80) {
    for (int i = 1; i < 4; i++) {
      const uint32_t tail = (1U << (6 * i)) - 1;
      if ((range.first & ~tail) == (range.last & ~tail)) continue;
      if ((range.first & tail) != 0) return split(range.first | tail);
      if ((range.last & tail) != tail) return split((range.last & ~tail) - 1);
    }
  }
  const auto first = EncodeUtf8(range.first);
  const auto last = EncodeUtf8(range.last);
  std::array<ByteRange, 4> bytes;
  for (size_t i = 0; i < first.size(); i++) bytes[i] = {first[i], last[i]};
  take(std::span(bytes).first(first.size()));
}

}  // namespace aana::llama
