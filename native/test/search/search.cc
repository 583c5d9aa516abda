#include "core/whisper/search/search.h"

#include <cmath>
#include <functional>
#include <map>

#include "../check.h"
#include "tests.h"

namespace aana::test {
namespace {

// A model: the probabilities of words after a text, given as its letters; `.` is the end.
using Model = std::map<std::string, std::map<char, double>>;

struct Found {
  std::string text;
  double log_probability;
  bool has_ended;
  size_t most_rows;
};

Found Run(const Model& model, SearchOptions options) {
  const auto vocabulary = SmallVocabulary();
  const LogitRules rules(vocabulary, {.suppress_blank = false, .without_timestamps = true});
  Search search(vocabulary, rules, options);
  const auto size = vocabulary.texts.size();
  std::vector<std::string> texts{""};
  size_t most_rows = 0;
  while (!texts.empty()) {
    most_rows = std::max(most_rows, texts.size());
    std::vector<float> logits(texts.size() * size, -INFINITY);
    for (size_t row = 0; row < texts.size(); row++) {
      for (const auto& [letter, probability] : model.at(texts[row])) {
        const auto token = letter == '.' ? vocabulary.end : Word(letter);
        logits[row * size + static_cast<size_t>(token)] =
            static_cast<float>(std::log(probability)) + 3;  // the sum is not 1
      }
    }
    std::vector<std::string> next;
    for (const auto& [parent, token] : search.Advance(logits))
      next.push_back(texts[static_cast<size_t>(parent)] + static_cast<char>('a' + token));
    texts = next;
  }
  const auto best = search.Best();
  std::string text;
  for (const auto& token : best.tokens) text += static_cast<char>('a' + token.id);
  return {text, best.log_probability, best.has_ended, most_rows};
}

// The likeliest first word leads to a text that is less likely than one that begins with another word.
const Model kTrap = {{"", {{'a', 0.6}, {'b', 0.4}}},
                     {"a", {{'c', 0.4}, {'d', 0.3}, {'.', 0.3}}},
                     {"b", {{'c', 0.9}, {'.', 0.1}}},
                     {"ac", {{'.', 1}}},
                     {"ad", {{'.', 1}}},
                     {"bc", {{'.', 1}}}};
// A short text is likelier than a long one, and less likely for each of its tokens.
const Model kShort = {{"", {{'a', 0.3}, {'b', 0.7}}},
                      {"a", {{'.', 1}}},
                      {"b", {{'c', 0.6}, {'d', 0.4}}},
                      {"bc", {{'e', 0.6}, {'f', 0.4}}},
                      {"bce", {{'.', 1}}},
                      {"bd", {{'.', 1}}},
                      {"bcf", {{'.', 1}}}};

}  // namespace

void TestSearch() {
  Test("a greedy search takes the likeliest token each time", [] {
    const auto found = Run(kTrap, {});
    Expect(found.text == "ac" && found.has_ended && found.most_rows == 1, found.text);
    ExpectNear(found.log_probability, std::log(0.6 * 0.4), 1e-5, "log-probability");
  });
  Test("beams find a likelier text", [] {
    const auto found = Run(kTrap, {.beam_size = 2});
    Expect(found.text == "bc" && found.has_ended && found.most_rows == 2, found.text);
    ExpectNear(found.log_probability, std::log(0.4 * 0.9), 1e-5, "log-probability");
  });
  Test("texts compare by their log-probability for each token, or by another power of their length", [] {
    Expect(Run(kShort, {.beam_size = 4, .length_penalty = 0}).text == "a", "without a penalty the likeliest text wins");
    Expect(Run(kShort, {.beam_size = 4}).text == "bce", "a text that is likelier for each of its tokens loses");
  });
  Test("more patience waits for more texts", [] {
    // With patience for one text, the first that ends stands.
    Expect(Run(kShort, {.beam_size = 4, .patience = 0.25F}).text == "a", "the search went on");
    Expect(Run(kShort, {.beam_size = 4, .patience = 1}).text == "bce", "the search ended early");
  });
  Test("a text ends after the most tokens", [] {
    const auto found = Run(kTrap, {.beam_size = 2, .max_tokens = 1});
    Expect(found.text == "a" && !found.has_ended, found.text);
  });
  Test("texts that are sampled are those of their seed, and the best of them stands", [] {
    std::map<std::string, int> counts;
    for (uint32_t seed = 0; seed < 2000; seed++) {
      const SearchOptions options{.temperature = 1, .seed = seed};
      const auto found = Run(kTrap, options);
      Expect(found.text == Run(kTrap, options).text, "another text for the same seed");
      counts[found.text]++;
    }
    ExpectNear(counts["ac"] / 2000.0, 0.24, 0.05, "share of ac");
    ExpectNear(counts["bc"] / 2000.0, 0.36, 0.05, "share of bc");
    int best = 0;
    for (uint32_t seed = 0; seed < 200; seed++)
      best += Run(kTrap, {.best_of = 8, .temperature = 1, .seed = seed}).text == "bc" ? 1 : 0;
    Expect(best > 180, std::to_string(best) + " of 200 were the best text");
  });
  Test("a low temperature nearly always samples the likeliest token, and its score is the one without a temperature",
       [] {
         for (uint32_t seed = 0; seed < 50; seed++) {
           const auto found = Run(kTrap, {.temperature = 0.02F, .seed = seed});
           Expect(found.text == "ac", found.text);
           ExpectNear(found.log_probability, std::log(0.6 * 0.4), 1e-5, "log-probability");
         }
       });
}

}  // namespace aana::test
