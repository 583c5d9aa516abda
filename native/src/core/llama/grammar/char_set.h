#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/llama/grammar/syntax.h"

namespace aana::llama {

constexpr uint32_t kLastChar = 0x10FFFF;

// Sorts ranges, joins those that touch, and takes out surrogates.
CharSet Normalized(const CharSet& set);
// All other characters but U+0000, which no text has.
CharSet Complement(const CharSet& set);
CharSet AnyChar();

std::vector<uint8_t> EncodeUtf8(uint32_t point);

struct DecodedChar {
  uint32_t point = 0;
  size_t n_bytes = 0;
};
// The first character of a text that is not empty; empty when it is not UTF-8.
std::optional<DecodedChar> DecodeUtf8(std::string_view text);

struct ByteRange {
  uint8_t first = 0;
  uint8_t last = 0;
};
// Calls `take` with ranges of bytes in a row, whose combinations together are exactly the characters of the range in
// UTF-8.
void ForEachUtf8Range(CharRange range, const std::function<void(std::span<const ByteRange>)>& take);

}  // namespace aana::llama
