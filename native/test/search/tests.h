#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include "core/whisper/search/vocabulary.h"

namespace aana::test {

void TestRules();
void TestSearch();
void TestTexts();
void TestAlignment();
void TestWindows();
void TestLanguages();
void TestHallucinations();

// Ten words, control tokens, and times up to 2 s. The words are `a` to `j`, each with a space before it.
inline constexpr int32_t kWords = 10;
Vocabulary SmallVocabulary();
// The token of a word, and that of a time in steps of 20 ms.
inline int32_t Word(char letter) { return letter - 'a'; }
int32_t Time(int steps);
std::vector<Token> TokensOf(std::initializer_list<int32_t> ids);
std::string Shown(const std::vector<int32_t>& tokens);

}  // namespace aana::test
