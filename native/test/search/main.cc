// Unit tests of how Whisper's texts are searched, cut and timed; they need no model.
#include "../check.h"
#include "tests.h"

namespace aana::test {

Vocabulary SmallVocabulary() {
  Vocabulary vocabulary;
  for (char letter = 'a'; letter < 'a' + kWords; letter++) vocabulary.texts.push_back(std::string(" ") + letter);
  const auto add = [&](const char* text) {
    vocabulary.texts.emplace_back(text);
    return vocabulary.size() - 1;
  };
  vocabulary.end = add("[end]");
  vocabulary.start = add("[start]");
  vocabulary.first_language = add("[en]");
  add("[de]");
  vocabulary.n_languages = 2;
  vocabulary.translate = add("[translate]");
  vocabulary.transcribe = add("[transcribe]");
  vocabulary.previous = add("[previous]");
  vocabulary.no_speech = add("[no speech]");
  vocabulary.no_timestamps = add("[no timestamps]");
  vocabulary.first_time = vocabulary.size();
  for (int step = 0; step <= 100; step++) add("[time]");
  return vocabulary;
}

int32_t Time(int steps) { return SmallVocabulary().first_time + steps; }

std::vector<Token> TokensOf(std::initializer_list<int32_t> ids) {
  std::vector<Token> tokens;
  for (const auto id : ids) tokens.push_back({id, -0.5F});
  return tokens;
}

std::string Shown(const std::vector<int32_t>& tokens) {
  std::string shown;
  for (const auto token : tokens) shown += (shown.empty() ? "" : " ") + std::to_string(token);
  return shown;
}

}  // namespace aana::test

int main() {
  aana::test::TestRules();
  aana::test::TestSearch();
  aana::test::TestTexts();
  aana::test::TestAlignment();
  aana::test::TestWindows();
  aana::test::TestLanguages();
  aana::test::TestHallucinations();
  return aana::test::ExitStatus();
}
