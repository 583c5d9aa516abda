#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace aana::llama {

// What a grammar may quote, as a request says it.
struct Quotable {
  // UTF-8 without control characters. Each word ends with a line feed, and begins with a space if one stands before it.
  // Words are written as they come in an answer: in an answer of JSON with its escapes.
  std::vector<std::string> texts;
  // Of a quotation.
  uint32_t min_words = 1;
  uint32_t max_words = std::numeric_limits<uint32_t>::max();
};

}  // namespace aana::llama
