#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace aana::llama {

// Lets text through up to the first stop string, which may arrive in pieces: text that could be the beginning of one
// waits. The result does not depend on where the pieces part. The time is linear in the text, also for text made to be
// slow (Knuth, Morris and Pratt).
class StopMatcher {
 public:
  explicit StopMatcher(std::vector<std::string> stops);

  struct Result {
    std::string text;                      // what may be shown now
    std::optional<std::string> stop = {};  // the stop string that came
  };
  // After a result with `stop` nothing more may be pushed.
  Result Push(std::string_view text);

  // The text that waited, when no more comes.
  std::string Flush();

 private:
  struct Stop {
    std::string text;
    std::vector<size_t> fallback;  // for each matched length, the longest shorter one that the same text matches
    size_t n_matched = 0;

    // Returns whether the stop string ends with this byte.
    bool Advance(char byte);
  };

  std::vector<Stop> stops_;
  std::string held_;
};

}  // namespace aana::llama
