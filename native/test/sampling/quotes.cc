// Quotations: the order of suffixes, and what a grammar with %quote allows, beside oracles that try everything.
#include <algorithm>
#include <functional>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../check.h"
#include "core/llama/grammar/grammar.h"
#include "core/llama/grammar/grammar_cache.h"
#include "core/llama/grammar/quotes/suffix_array.h"
#include "core/llama/sampling/random.h"
#include "core/llama/sampling/sampling_error.h"
#include "tests.h"

namespace aana::test {

using namespace aana::llama;

namespace {

using Words = std::vector<std::string>;
using Texts = std::set<std::string>;

constexpr uint32_t kNoLimit = std::numeric_limits<uint32_t>::max();

size_t Below(Random& random, size_t n) { return static_cast<size_t>(random.Next() * static_cast<double>(n)); }

std::optional<TokenId> NoToken(const std::string&) { return std::nullopt; }

Quotable QuotableOf(const std::vector<Words>& sources, uint32_t min_words, uint32_t max_words = kNoLimit) {
  Quotable quotable{.texts = {}, .min_words = min_words, .max_words = max_words};
  for (const auto& words : sources) {
    auto& text = quotable.texts.emplace_back();
    for (const auto& word : words) text += word + "\n";
  }
  return quotable;
}

Grammar CompileQuoting(const std::string& gbnf, const std::vector<Words>& sources, uint32_t min_words,
                       uint32_t max_words = kNoLimit) {
  return {gbnf, "root", NoToken, std::make_shared<const QuoteSources>(QuotableOf(sources, min_words, max_words))};
}

Texts AllQuotations(const std::vector<Words>& sources, size_t min_words, size_t max_words) {
  Texts all;
  for (const auto& words : sources) {
    for (size_t first = 0; first < words.size(); first++) {
      std::string text;
      for (size_t i = first; i < words.size(); i++) {
        text += i == first && words[i].starts_with(' ') ? words[i].substr(1) : words[i];
        if (i - first + 1 >= min_words && i - first < max_words) all.insert(text);
      }
    }
  }
  return all;
}

Texts Joined(const Texts& first, const Texts& second) {
  Texts all;
  for (const auto& a : first) {
    for (const auto& b : second) all.insert(a + b);
  }
  return all;
}

Texts Either(Texts a, const Texts& b) {
  a.insert(b.begin(), b.end());
  return a;
}

// A grammar, and all its texts by those of its quotations.
struct Form {
  std::string gbnf;
  std::function<Texts(const Texts&)> texts_of;
};

const std::vector<Form>& Forms() {
  static const std::vector<Form> forms = {
      {"root ::= %quote", [](const Texts& quotes) { return quotes; }},
      {"root ::= \"\\\"\" %quote \"\\\"\"", [](const Texts& quotes) { return Joined(Joined({"\""}, quotes), {"\""}); }},
      {"root ::= %quote %quote", [](const Texts& quotes) { return Joined(quotes, quotes); }},
      {"root ::= \"a\"? %quote (\"b\" | \" \")?",
       [](const Texts& quotes) { return Joined(Joined({"", "a"}, quotes), {"", "b", " "}); }},
      {"root ::= one | two\none ::= \"a\" %quote \"a\"\ntwo ::= \"a\" (%quote | \"ab\" | \"b a\") \"b\"",
       [](const Texts& quotes) {
         return Either(Joined(Joined({"a"}, quotes), {"a"}),
                       Joined(Joined({"a"}, Either({"ab", "b a"}, quotes)), {"b"}));
       }},
  };
  return forms;
}

std::vector<Words> RandomSources(Random& random) {
  static const std::vector<std::string> letters = {"a", "b", "ab", "\xE6\x88\x91", "\"", "c"};
  std::vector<Words> sources(1 + Below(random, 3));
  for (auto& words : sources) {
    const bool has_spaces = Below(random, 3) > 0;
    words.resize(Below(random, 6));
    for (size_t i = 0; i < words.size(); i++) {
      const bool is_spaced = i > 0 && (has_spaces || Below(random, 2) == 0);
      words[i] = is_spaced ? " " : "";
      for (size_t n = 1 + Below(random, 2); n > 0; n--) words[i] += letters[Below(random, letters.size())];
    }
  }
  return sources;
}

// Tokens that begin, end and cross words and characters.
std::vector<std::string> RandomPieces(Random& random, const Texts& texts) {
  std::set<std::string> pieces = {"a", "b", " ", "c", "\"", "\xE6", "\x88", "\x91", "z", "\n"};
  for (int i = 0; i < 12; i++) {
    auto text = texts.begin();
    std::advance(text, static_cast<std::ptrdiff_t>(Below(random, texts.size())));
    const size_t begin = Below(random, text->size());
    pieces.insert(text->substr(begin, 1 + Below(random, 5)));
  }
  return {pieces.begin(), pieces.end()};
}

std::vector<TokenId> AllowedOf(GrammarStates& states, GrammarStates::Id state, const TokenTrie& trie) {
  const auto& set = states.FindAllowed(state, trie);
  auto tokens = set.tokens;
  for (size_t token = 0; token < 64 * set.bits.size(); token++) {
    if ((set.bits[token / 64] >> (token % 64) & 1) != 0) tokens.push_back(static_cast<TokenId>(token));
  }
  std::ranges::sort(tokens);
  return tokens;
}

bool HasBeginning(const Texts& texts, const std::string& text) {
  const auto found = texts.lower_bound(text);
  return found != texts.end() && found->starts_with(text);
}

// Walks from token to token, and compares what may follow with all texts.
void Walk(const Form& form, const std::vector<Words>& sources, uint32_t min_words, uint32_t max_words, Random& random) {
  const auto texts = form.texts_of(AllQuotations(sources, min_words, max_words));
  const auto pieces = RandomPieces(random, texts);
  const TokenTrie trie(pieces);
  const auto grammar = CompileQuoting(form.gbnf, sources, min_words, max_words);
  auto states = std::make_unique<GrammarStates>(grammar.automaton());
  auto state = states->start();
  std::string text;
  for (;;) {
    if (Below(random, 4) == 0) {
      auto fresh = std::make_unique<GrammarStates>(grammar.automaton());
      state = fresh->Adopt(*states, state);
      states = std::move(fresh);
    }
    std::vector<TokenId> expected;
    for (TokenId token = 0; std::cmp_less(token, pieces.size()); token++) {
      if (HasBeginning(texts, text + pieces[static_cast<size_t>(token)])) expected.push_back(token);
    }
    const auto where = form.gbnf + " after '" + text + "'";
    Expect(AllowedOf(*states, state, trie) == expected, "other tokens than expected: " + where);
    Expect(states->IsAccepting(state) == texts.contains(text), "wrong end: " + where);
    Expect(states->CanContinue(state) == !expected.empty(), "it goes on, or not: " + where);
    const auto completion = states->FindCompletion(state, 1000);
    Expect(completion && texts.contains(text + *completion), "wrong completion: " + where);
    for (const auto& longer : texts) {
      Expect(!longer.starts_with(text) || text.size() + completion->size() <= longer.size(),
             "there is a shorter completion: " + where);
    }
    if (expected.empty()) return;
    const auto token = expected[Below(random, expected.size())];
    state = states->Next(state, token, pieces[static_cast<size_t>(token)]);
    text += pieces[static_cast<size_t>(token)];
  }
}

std::string RefusalOf(const std::string& gbnf, const std::vector<Words>& sources) {
  try {
    CompileQuoting(gbnf, sources, 3);
    return "none";
  } catch (const SamplingError& error) {
    return error.what();
  }
}

}  // namespace

void TestQuotes() {
  Test("suffixes are in the order that comparing them gives", [] {
    Random random(1);
    for (int round = 0; round < 2000; round++) {
      const auto n_symbols = 1 + Below(random, 4);
      std::vector<int32_t> text(Below(random, 40));
      for (auto& symbol : text) symbol = static_cast<int32_t>(Below(random, n_symbols));
      std::vector<int32_t> expected(text.size());
      std::iota(expected.begin(), expected.end(), 0);
      std::ranges::sort(expected, [&](int32_t a, int32_t b) {
        return std::lexicographical_compare(text.begin() + a, text.end(), text.begin() + b, text.end());
      });
      Expect(SortSuffixes(text, static_cast<int32_t>(n_symbols)) == expected, "another order");
    }
  });

  Test("a quotation allows exactly the tokens that stay in passages of whole words", [] {
    Random random(2);
    int n_walks = 0;
    for (int round = 0; round < 3000; round++) {
      const auto sources = RandomSources(random);
      const auto min_words = static_cast<uint32_t>(1 + Below(random, 3));
      const auto max_words = min_words + static_cast<uint32_t>(Below(random, 4));
      if (AllQuotations(sources, min_words, max_words).empty()) continue;
      Walk(Forms()[Below(random, Forms().size())], sources, min_words, max_words, random);
      n_walks++;
    }
    Expect(n_walks > 2000, "most sources have quotations");
  });

  Test("one letter a hundred thousand times, and one word as often, can be quoted", [] {
    const auto long_word = CompileQuoting("root ::= %quote", {{std::string(100'000, 'a'), " b", " c"}}, 3);
    auto& states = long_word.states()->states;
    Expect(states.FindCompletion(states.start(), 200'000) == std::string(100'000, 'a') + " b c", "wrong quotation");
    Words repeated(100'000, " a");
    repeated[0] = "a";
    const auto grammar = CompileQuoting("root ::= %quote", {repeated}, 3);
    auto& walk = grammar.states()->states;
    const TokenTrie trie({"a", " a", " ", "aa", " a a a"});
    auto state = walk.Next(walk.start(), 0, "a");
    for (int i = 0; i < 1000; i++) {
      Expect(AllowedOf(walk, state, trie) == std::vector<TokenId>{1, 2, 4}, "other tokens than expected");
      state = walk.Next(state, 1, " a");
    }
    Expect(walk.IsAccepting(state), "it may end");
  });

  Test("the shortest quotation is found among many long ones", [] {
    constexpr size_t kWords = 300'000;
    constexpr size_t kLeast = 50'000;
    Words words(kWords, " aaa");
    // Before the short words the shortest quotation has few of them, behind them none follow.
    for (size_t i = 200'000; i < 230'000; i++) words[i] = " a";
    const auto grammar = CompileQuoting("root ::= %quote", {words}, kLeast);
    auto& states = grammar.states()->states;
    const auto shortest = states.FindCompletion(states.start(), 1'000'000);
    Expect(shortest && shortest->size() == 20'000 * 4 + 30'000 * 2 - 1, "another quotation is shorter");
    auto state = states.start();
    for (const char c : std::string("aaa aaa a")) state = states.Next(state, static_cast<uint8_t>(c));
    const auto rest = states.FindCompletion(state, 1'000'000);
    Expect(rest && rest->size() == shortest->size() - 9, "another end is shorter");
  });

  Test("a quotation needs sources with enough words", [] {
    const std::string gbnf = "root ::= %quote";
    for (const auto& sources : std::vector<std::vector<Words>>{{}, {{}}, {{"a", " b"}, {"c", " d"}}})
      ExpectSame(RefusalOf(gbnf, sources), "no source has 3 words, which a quotation needs at least");
    for (const auto* text : {"a", "a\n\n", "\n", "a\n \n", "a\tb\n"}) {
      try {
        const QuoteSources sources({.texts = {text}, .min_words = 1});
        Expect(false, "words are accepted that are none");
      } catch (const SamplingError& error) {
        ExpectSame(error.what(), "a source of quotations is not divided into words");
      }
    }
    try {
      const Grammar grammar(gbnf, "root", NoToken);
      Expect(false, "a grammar quotes nothing");
    } catch (const SamplingError& error) {
      ExpectSame(error.what(), "the grammar has %quote, but the request has no sources to quote");
    }
    Expect(RefusalOf("root ::= %cite", {{"a", " b", " c"}}).find("unknown %cite") != std::string::npos, "the name");
  });

  Test("grammars share their sources, within a cache key", [] {
    GrammarCache cache(4, 1U << 20);
    const auto quotable = QuotableOf({{"a", " b", " c"}}, 2);
    const auto other = QuotableOf({{"a", " b", " d"}}, 2);
    const auto find = [&](const std::string& key, const std::string& gbnf, const Quotable& sources) {
      return cache.Find(key, gbnf, "root", NoToken, &sources);
    };
    const auto first = find("", "root ::= %quote", quotable);
    Expect(find("", "root ::= %quote", quotable) == first, "the grammar is made anew");
    const auto& quotes = first->automaton().quotes();
    Expect(find("", "root ::= \"a\" %quote", quotable)->automaton().quotes() == quotes, "the sources are made anew");
    Expect(find("", "root ::= %quote", other)->automaton().quotes() != quotes, "other sources are shared");
    Expect(find("key", "root ::= %quote", quotable)->automaton().quotes() != quotes, "keys share sources");
  });
}

}  // namespace aana::test
