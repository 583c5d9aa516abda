#include "core/llama/text/utf8_stream.h"

#include <cstddef>
#include <cstdint>

namespace aana::llama {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

enum class Fit { kWhole, kUnfinished, kInvalid };

struct Character {
  Fit fit;
  size_t n_bytes;  // to take; for kInvalid those that one U+FFFD stands for
};

// Reads the character at the start of `bytes`, which is not empty. Table 3-7 of the Unicode Standard.
Character ReadCharacter(std::string_view bytes) {
  const auto at = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  const uint8_t lead = at(0);
  if (lead < 0x80) return {Fit::kWhole, 1};
  if (lead < 0xC2 || lead > 0xF4) return {Fit::kInvalid, 1};
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  const uint8_t second_min = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const uint8_t second_max = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  for (size_t i = 1; i < length; i++) {
    if (i == bytes.size()) return {Fit::kUnfinished, i};
    const uint8_t low = i == 1 ? second_min : 0x80;
    const uint8_t high = i == 1 ? second_max : 0xBF;
    if (at(i) < low || at(i) > high) return {Fit::kInvalid, i};
  }
  return {Fit::kWhole, length};
}

}  // namespace

std::string Utf8Stream::Push(std::string_view bytes) {
  pending_ += bytes;
  std::string text;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const auto [fit, n_bytes] = ReadCharacter(rest);
    if (fit == Fit::kUnfinished) break;
    text += fit == Fit::kWhole ? rest.substr(0, n_bytes) : kReplacement;
    rest.remove_prefix(n_bytes);
  }
  pending_.erase(0, pending_.size() - rest.size());
  return text;
}

}  // namespace aana::llama
