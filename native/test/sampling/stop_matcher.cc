// Stop strings that arrive in pieces.
#include "core/llama/text/stop_matcher.h"

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../check.h"
#include "tests.h"

namespace aana::test {
namespace {

using namespace aana::llama;

// The text that is shown, and the stop string that ended it, when the text comes in pieces of `length` bytes.
std::pair<std::string, std::optional<std::string>> Show(const std::string& text, const std::vector<std::string>& stops,
                                                        size_t length) {
  StopMatcher matcher(stops);
  std::string shown;
  for (size_t begin = 0; begin < text.size(); begin += length) {
    const auto result = matcher.Push(std::string_view(text).substr(begin, length));
    shown += result.text;
    if (result.stop) return {shown, result.stop};
  }
  return {shown + matcher.Flush(), std::nullopt};
}

// Without anything clever: the stop string that ends first; of several that end there, the longest.
std::pair<std::string, std::optional<std::string>> Expected(const std::string& text,
                                                            const std::vector<std::string>& stops) {
  for (size_t end = 1; end <= text.size(); end++) {
    size_t longest = 0;
    for (const auto& stop : stops) {
      if (!stop.empty() && std::string_view(text).substr(0, end).ends_with(stop))
        longest = std::max(longest, stop.size());
    }
    if (longest > 0) return {text.substr(0, end - longest), text.substr(end - longest, longest)};
  }
  return {text, std::nullopt};
}

}  // namespace

void TestStopMatcher() {
  Test("a stop string is found wherever its text parts, among others", [] {
    std::mt19937 generator(3);
    for (int round = 0; round < 3000; round++) {
      const auto random_text = [&](size_t most) {
        std::string text(generator() % (most + 1), 'a');
        for (auto& letter : text) letter = static_cast<char>('a' + generator() % 2);
        return text;
      };
      const auto text = random_text(30);
      const std::vector<std::string> stops = {random_text(6), random_text(9), random_text(4) + "c"};
      const auto expected = Expected(text, stops);
      for (const size_t length : {1U, 2U, 3U, 7U, 30U}) {
        Expect(Show(text, stops, length) == expected,
               text + " in pieces of " + std::to_string(length) + " with " + stops[0] + ", " + stops[1]);
      }
    }
  });
  Test("text that cannot begin a stop string is shown at once", [] {
    StopMatcher matcher({"abc"});
    Expect(matcher.Push("xab").text == "x", "what could begin it waits");
    Expect(matcher.Push("d").text == "abd", "then it is shown");
    Expect(matcher.Push("aab").text == "a", "a later beginning");
    Expect(matcher.Push("c").stop == "abc", "the end");
  });
}

}  // namespace aana::test
