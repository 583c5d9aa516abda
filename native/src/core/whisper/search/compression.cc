#include "core/whisper/search/compression.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace aana {
namespace {

// Of DEFLATE (RFC 1951): a repetition has 3 to 258 bytes.
constexpr size_t kShortest = 3;
constexpr size_t kLongest = 258;
// zlib's header and checksum, the header of the block and its end.
constexpr double kFixedBits = 6 * 8 + 3 + 7;
constexpr size_t kFirstLength = 257;
constexpr size_t kSymbols = 286;
constexpr size_t kDistances = 30;

// The symbol of a number, and its extra bits: `singles` numbers have a symbol each; then `group` symbols stand for two
// numbers each, `group` for four, and so on.
struct Symbol {
  size_t index;
  double extra_bits;
};
Symbol SymbolOf(size_t number, size_t group, size_t singles) {
  if (number < singles) return {number, 0};
  const auto bits =
      static_cast<size_t>(std::floor(std::log2(static_cast<double>(number) / static_cast<double>(group))));
  const size_t within = (number - (group << bits)) >> bits;
  return {group * bits + group + within, static_cast<double>(bits)};
}
Symbol LengthSymbol(size_t length) { return length == kLongest ? Symbol{28, 0} : SymbolOf(length - kShortest, 4, 8); }
Symbol DistanceSymbol(size_t distance) { return SymbolOf(distance - 1, 2, 4); }

struct Counts {
  std::array<size_t, kSymbols> symbols{};
  std::array<size_t, kDistances> distances{};
  double extra_bits = 0;
};

size_t Overlap(std::string_view text, size_t a, size_t b) {
  size_t n = 0;
  while (n < kLongest && b + n < text.size() && text[a + n] == text[b + n]) n++;
  return n;
}

Counts Compress(std::string_view text) {
  Counts counts;
  std::unordered_map<uint32_t, std::vector<size_t>> places;  // of each three bytes
  const auto key = [&](size_t at) {
    return static_cast<uint32_t>(static_cast<uint8_t>(text[at])) << 16U |
           static_cast<uint32_t>(static_cast<uint8_t>(text[at + 1])) << 8U | static_cast<uint8_t>(text[at + 2]);
  };
  const auto longest_at = [&](size_t at, size_t& distance) {
    size_t length = 0;
    if (at + kShortest > text.size()) return length;
    const auto found = places.find(key(at));
    if (found == places.end()) return length;
    for (auto place = found->second.rbegin(); place != found->second.rend(); ++place) {
      const size_t n = Overlap(text, *place, at);
      if (n > length) {
        length = n;
        distance = at - *place;
      }
    }
    return length;
  };
  const auto remember = [&](size_t at) {
    if (at + kShortest <= text.size()) places[key(at)].push_back(at);
  };
  for (size_t at = 0; at < text.size();) {
    size_t distance = 0;
    size_t length = longest_at(at, distance);
    remember(at);
    if (length >= kShortest) {
      // Like zlib, it waits for a longer repetition that begins with the next byte.
      size_t next_distance = 0;
      if (longest_at(at + 1, next_distance) > length) length = 0;
    }
    if (length < kShortest) {
      counts.symbols[static_cast<uint8_t>(text[at])]++;
      at++;
      continue;
    }
    const auto length_symbol = LengthSymbol(length);
    const auto distance_symbol = DistanceSymbol(distance);
    counts.symbols[kFirstLength + length_symbol.index]++;
    counts.distances[distance_symbol.index]++;
    counts.extra_bits += length_symbol.extra_bits + distance_symbol.extra_bits;
    for (size_t i = 1; i < length; i++) remember(at + i);
    at += length;
  }
  return counts;
}

double BitsOfFixedCodes(const Counts& counts) {
  double bits = counts.extra_bits;
  for (size_t i = 0; i < kSymbols; i++)
    bits += static_cast<double>(counts.symbols[i]) * (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8);
  for (const auto count : counts.distances) bits += 5 * static_cast<double>(count);
  return bits;
}

// With codes made for the text, which are told before it. A code has at most a few percent more bits than the entropy.
template <size_t N>
double EntropyBits(const std::array<size_t, N>& counts, size_t& n_used) {
  double sum = 0;
  for (const auto count : counts) sum += static_cast<double>(count);
  double bits = 0;
  for (const auto count : counts) {
    if (count == 0) continue;
    n_used++;
    bits += static_cast<double>(count) * std::max(1.0, std::log2(sum / static_cast<double>(count)));
  }
  return bits;
}

double BitsOfOwnCodes(const Counts& counts) {
  constexpr double kHeaderBits = 14 + 3 * 16;
  constexpr double kBitsOfLength = 5;  // to tell the length of a used symbol's code, and the unused symbols before it
  size_t n_used = 1;
  const double bits = EntropyBits(counts.symbols, n_used) + EntropyBits(counts.distances, n_used);
  return counts.extra_bits + 1.02 * bits + kHeaderBits + kBitsOfLength * static_cast<double>(n_used);
}

}  // namespace

double CompressionRatio(std::string_view text) {
  if (text.empty()) return 0;
  const auto counts = Compress(text);
  const double bits = kFixedBits + std::min(BitsOfFixedCodes(counts), BitsOfOwnCodes(counts));
  return static_cast<double>(text.size()) / std::ceil(bits / 8);
}

}  // namespace aana
