// How prompts are split, beside the regular expression of whisper.cpp.
#include "core/whisper/words/pretokenise.h"

#include <random>
#include <regex>
#include <string>

#include "../check.h"
#include "tests.h"

namespace aana::test {

namespace {

std::string Joined(const std::vector<std::string>& words) {
  std::string joined;
  for (const auto& word : words) joined += "[" + word + "]";
  return joined;
}

}  // namespace

void TestPretokenise() {
  Test("a prompt is split as by the regular expression", [] {
    const std::regex expression(
        R"('s|'t|'re|'ve|'m|'ll|'d| ?[[:alpha:]]+| ?[[:digit:]]+| ?[^\s[:alpha:][:digit:]]+|\s+(?!\S)|\s+)");
    const std::string_view parts[] = {" ",   " ",   "\n", "\t",           "a", "Zoë", "7", "'", "s",
                                      "'ll", "'re", ".",  "\xe2\x80\xa6", "-", "we",  "42"};
    std::mt19937 random(7);
    for (int round = 0; round < 5000; round++) {
      std::string text;
      for (size_t length = random() % 12; length > 0; length--) text += parts[random() % std::size(parts)];
      std::vector<std::string> words;
      for (auto match = std::sregex_iterator(text.begin(), text.end(), expression); match != std::sregex_iterator();
           ++match)
        words.push_back(match->str());
      ExpectSame(Joined(Pretokenise(text)), Joined(words));
    }
  });
}

}  // namespace aana::test
