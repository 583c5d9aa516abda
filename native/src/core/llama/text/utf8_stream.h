#pragma once

#include <string>
#include <string_view>

namespace aana::llama {

// Turns bytes that arrive in pieces into pieces of valid UTF-8: the bytes of an unfinished character wait for the rest,
// bytes that can be no character become U+FFFD.
class Utf8Stream {
 public:
  // Whole characters of what has arrived so far and was not returned before.
  std::string Push(std::string_view bytes);

 private:
  std::string pending_;  // up to three bytes
};

}  // namespace aana::llama
