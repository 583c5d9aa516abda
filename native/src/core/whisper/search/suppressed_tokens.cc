#include "core/whisper/search/suppressed_tokens.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <unordered_map>

namespace aana {
namespace {

constexpr std::array<std::string_view, 46> kSigns = {
    "\"",  "#",  "(",  ")",  "*",   "+",  "/",  ":",   ";",   "<",  "=",  ">",  "@",  "[",   "\\",  "]",
    "^",   "_",  "`",  "{",  "|",   "}",  "~",  "「",  "」",  "『", "』", "<<", ">>", "<<<", ">>>", "--",
    "---", "-(", "-[", "('", "(\"", "((", "))", "(((", ")))", "[[", "]]", "{{", "}}", "♪♪"};
// Parts of these characters are not spoken either.
constexpr std::array<std::string_view, 8> kNotes = {"♪♪♪", "♩", "♪", "♫", "♬", "♭", "♮", "♯"};

}  // namespace

int32_t TokenOf(const Vocabulary& vocabulary, std::string_view text) {
  const auto end = vocabulary.texts.begin() + vocabulary.end;
  const auto found = std::find(vocabulary.texts.begin(), end, text);
  return found == end ? -1 : static_cast<int32_t>(found - vocabulary.texts.begin());
}

std::vector<int32_t> NonSpeechTokens(const Vocabulary& vocabulary) {
  std::unordered_map<std::string_view, int32_t> tokens;
  for (int32_t token = 0; token < vocabulary.end; token++)
    tokens.emplace(vocabulary.texts[static_cast<size_t>(token)], token);
  std::vector<int32_t> found;
  const auto add = [&](std::string_view text) {
    const auto token = tokens.find(text);
    if (token != tokens.end()) found.push_back(token->second);
    return token != tokens.end();
  };
  // Hyphens and apostrophes stand inside of words, not before them.
  add(" -");
  add(" '");
  for (const auto sign : kSigns) {
    add(sign);
    add(" " + std::string(sign));
  }
  for (const auto note : kNotes) {
    for (std::string text : {std::string(note), " " + std::string(note)}) {
      const size_t least = text.size() > note.size() ? 2 : 1;  // a space alone is no part of a note
      while (text.size() >= least && !add(text)) text.pop_back();
    }
  }
  std::ranges::sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

}  // namespace aana
