// Which part of an audio decides its language.
#include "../check.h"
#include "core/whisper/search/language_vote.h"
#include "tests.h"

namespace aana::test {
namespace {

std::vector<Language> Likeliest(const char* code, double probability) {
  return {{code, probability}, {"other", 1 - probability}};
}

// The language with its probability, and the number of parts that were asked.
std::string Decided(LanguageVote vote, std::initializer_list<std::vector<Language>> parts) {
  for (const auto& part : parts) {
    if (!vote.languages().empty()) break;
    vote.Add(part);
  }
  vote.Close();
  const auto& languages = vote.languages();
  if (languages.empty()) return "nothing";
  return languages[0].code + " " + std::to_string(languages[0].probability).substr(0, 4) + " after " +
         std::to_string(vote.n_parts());
}

void ExpectDecided(const std::string& actual, const std::string& expected) {
  Expect(actual == expected, "\"" + actual + "\", not \"" + expected + "\"");
}

}  // namespace

void TestLanguages() {
  Test("the first part that is sure decides", [] {
    ExpectDecided(Decided({1, 0.5}, {Likeliest("en", 0.9)}), "en 0.90 after 1");
    ExpectDecided(Decided({4, 0.5}, {Likeliest("en", 0.5), Likeliest("de", 0.6), Likeliest("en", 0.9)}),
                  "de 0.60 after 2");
  });
  Test("most parts decide where none is sure, with the surest of them", [] {
    ExpectDecided(Decided({3, 0.9}, {Likeliest("en", 0.8), Likeliest("de", 0.6), Likeliest("de", 0.7)}),
                  "de 0.70 after 3");
    ExpectDecided(Decided({3, 1}, {Likeliest("en", 0.4), Likeliest("en", 1), Likeliest("de", 1)}), "en 1.00 after 3");
  });
  Test("of several languages of as many parts the first one counts",
       [] { ExpectDecided(Decided({2, 0.9}, {Likeliest("en", 0.3), Likeliest("de", 0.8)}), "en 0.30 after 2"); });
  Test("a single part decides however unsure it is, and so do fewer parts than permitted", [] {
    ExpectDecided(Decided({1, 0.9}, {Likeliest("en", 0.1)}), "en 0.10 after 1");
    ExpectDecided(Decided({0, 0.9}, {Likeliest("en", 0.1), Likeliest("de", 1)}), "en 0.10 after 1");
    ExpectDecided(Decided({9, 0.9}, {Likeliest("en", 0.1), Likeliest("de", 0.2), Likeliest("de", 0.3)}),
                  "de 0.30 after 3");
  });
  Test("nothing is decided without a part", [] { ExpectDecided(Decided({3, 0.5}, {}), "nothing"); });
}

}  // namespace aana::test
