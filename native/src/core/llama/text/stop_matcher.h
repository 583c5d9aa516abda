#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace aana::llama {

// Lets text through up to the first stop string, which may arrive in pieces: text that could be the beginning of one waits.
class StopMatcher {
 public:
  explicit StopMatcher(std::vector<std::string> stops);

  struct Result {
    std::string text;  // what may be shown now
    bool stopped = false;
  };
  // After a result with `stopped` nothing more may be pushed.
  Result Push(std::string_view text);

  // The text that waited, when no more comes.
  std::string Flush();

 private:
  std::vector<std::string> stops_;
  std::string held_;
};

}  // namespace aana::llama
