// Grammars: notation, automaton, states, and tokens that a grammar allows.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "../check.h"
#include "core/llama/grammar/char_set.h"
#include "core/llama/grammar/grammar.h"
#include "core/llama/grammar/grammar_cache.h"
#include "core/llama/grammar/matcher.h"
#include "core/llama/sampling/sampler.h"
#include "core/llama/sampling/sampling_error.h"
#include "tests.h"

namespace aana::test {

using namespace aana::llama;

namespace {

std::optional<TokenId> FindNone(const std::string&) { return std::nullopt; }

std::shared_ptr<const Grammar> Compile(const std::string& gbnf) {
  return std::make_shared<const Grammar>(gbnf, "root", FindNone);
}

bool Matches(const Grammar& grammar, std::string_view text) {
  auto& states = grammar.states()->states;
  auto state = states.start();
  for (const char c : text) state = states.Next(state, static_cast<uint8_t>(c));
  return states.IsAccepting(state);
}

void ExpectMatches(const std::string& gbnf, const std::vector<std::string>& good, const std::vector<std::string>& bad) {
  const auto grammar = Compile(gbnf);
  for (const auto& text : good) Expect(Matches(*grammar, text), gbnf + " does not match '" + text + "'");
  for (const auto& text : bad) Expect(!Matches(*grammar, text), gbnf + " matches '" + text + "'");
}

std::string Refusal(const std::string& gbnf) {
  try {
    const auto grammar = Compile(gbnf);
    return "none";
  } catch (const SamplingError& error) {
    return (error.fault() == Fault::kCaller ? "" : "deployment: ") + std::string(error.what());
  }
}

void ExpectRefusal(const std::string& gbnf, const std::string& part) {
  const auto refusal = Refusal(gbnf);
  Expect(refusal.find(part) != std::string::npos, "'" + refusal + "' does not have '" + part + "'");
}

std::string CompletionOf(const std::string& gbnf, std::string_view text, size_t n_most = 1000) {
  const auto grammar = Compile(gbnf);
  auto& states = grammar->states()->states;
  auto state = states.start();
  for (const char c : text) state = states.Next(state, static_cast<uint8_t>(c));
  return states.FindCompletion(state, n_most).value_or("none");
}

// The last of the tokens is the end of an answer.
GrammarMatcher Match(const std::string& gbnf, std::vector<std::string> pieces, std::vector<std::string> triggers = {}) {
  pieces.emplace_back();
  const auto end = static_cast<TokenId>(pieces.size()) - 1;
  return {Compile(gbnf),
          {.trie = std::make_shared<const TokenTrie>(std::move(pieces)), .ends = {end}, .visible = {}},
          std::move(triggers)};
}

std::string AllowedBy(GrammarMatcher& matcher, size_t n_vocab) {
  std::vector<float> logits(n_vocab, 0.0F);
  matcher.Mask(logits);
  std::string allowed;
  for (size_t i = 0; i < n_vocab; i++) {
    const bool is_allowed = !std::isinf(logits[i]);
    Expect(is_allowed == matcher.Allows(static_cast<TokenId>(i)),
           "token " + std::to_string(i) + " is allowed in one of two ways only");
    if (is_allowed) allowed.append(allowed.empty() ? "" : " ").append(std::to_string(i));
  }
  return allowed;
}

void ExpectAllowed(GrammarMatcher& matcher, size_t n_vocab, const std::string& expected) {
  const auto allowed = AllowedBy(matcher, n_vocab);
  Expect(allowed == expected, "tokens " + allowed + ", not " + expected);
}

constexpr const char* kJson = R"(root ::= value
value ::= object | array | string | number | "true" | "false" | "null"
object ::= "{" ws (pair ("," ws pair)*)? "}" ws
pair ::= string ":" ws value
array ::= "[" ws (value ("," ws value)*)? "]" ws
string ::= "\"" ([^"\\\x00-\x1f] | "\\" (["\\bfnrt] | "u" [0-9a-f]{4}))* "\"" ws
number ::= "-"? ("0" | [1-9] [0-9]{0,15}) ("." [0-9]{1,15})? ws
ws ::= [ \n]{0,20}
)";

}  // namespace

void TestGrammar() {
  Test("a grammar matches what its notation says", [] {
    ExpectMatches("root ::= \"a\" [b-d]+ (\"x\" | \"y\")? # comment\n", {"ab", "abcdx", "aby"}, {"", "a", "abxy", "b"});
    ExpectMatches("root ::= item{2,3}\nitem ::= [a-c] \",\"", {"a,b,", "a,b,c,"}, {"a,", "a,b,c,a,", "a,b"});
    ExpectMatches("root ::= \"ab\"{2} \"c\"{0,2} \"d\"{1,}", {"ababd", "ababccddd"}, {"abd", "ababc", "ababcccd"});
    ExpectMatches("root ::= (\n  \"a\" |\n  \"b\"\n)*", {"", "abba"}, {"c"});
    ExpectMatches("root ::= [^a\\]\\-\\n] . \"\\x41\\u00e9\\U0001F600\\\"\"",
                  {"bxA\u00e9\U0001F600\"", "\u00fc\U0001F601A\u00e9\U0001F600\""}, {"axA\u00e9\U0001F600\""});
    ExpectMatches("root ::= \"a\" | ", {"", "a"}, {"aa"});
    ExpectMatches("root ::= [a-]", {"a", "-"}, {"b"});
    ExpectMatches("root ::= (\"a\"?)* \"b\"", {"b", "aab"}, {"a"});
    ExpectMatches("root ::= (\"a\"? \"b\"?){2,3}", {"", "a", "ab", "ababab", "ba"}, {"abababa", "c"});
    ExpectMatches("root ::= \"a\" root \"b\" | \"c\"", {"c", "acb", "aacbb"}, {"ac", "acbb"});
    ExpectMatches("root ::= a* [\"] \"c\"+ \"d\"{3}\na ::= \"a\" | \"b\" a", {"\"cddd", "aba\"ccddd"}, {"ab\"cdd"});
  });
  Test("repetitions are exact, also above the limit of llama.cpp", [] {
    const auto grammar = Compile("root ::= [a-z]{0,3000} \"!\"");
    Expect(Matches(*grammar, std::string(3000, 'a') + "!"), "3000");
    Expect(!Matches(*grammar, std::string(3001, 'a') + "!"), "3001");
  });
  Test("characters are those of UTF-8, whole", [] {
    for (const uint32_t point : {0x1U, 0x7FU, 0x80U, 0x7FFU, 0x800U, 0xD7FFU, 0xE000U, 0xFFFFU, 0x10000U, 0x10FFFFU}) {
      const auto bytes = EncodeUtf8(point);
      const std::string text(bytes.begin(), bytes.end());
      Expect(DecodeUtf8(text)->point == point, "round trip of " + std::to_string(point));
      ExpectMatches("root ::= .", {text}, {text + "x", text.substr(1)});
      ExpectMatches("root ::= [^a]", {text}, {});
    }
    ExpectMatches("root ::= .", {}, {"\xED\xA0\x80", "\xC0\x80", "\xF4\x90\x80\x80", "\xFF", "\x80"});
    ExpectMatches("root ::= [\\u00e0-\\U00010400]", {"\u00e0", "\u1234", "\U00010400"}, {"\u00df", "\U00010401", "a"});
  });
  Test("JSON nests as deep as a text does", [] {
    const std::string open(900, '[');
    const std::string close(900, ']');
    ExpectMatches(kJson, {"{}", R"({"a": [1, -2.5, "x\n\u00e9é"], "b": {"c": null}})", open + close},
                  {"{", "{\"a\"}", "[1,]", "01", "\"\n\"", open + "]"});
    const std::string too_deep(5000, '[');
    ExpectMatches(kJson, {}, {too_deep});
  });
  Test("a grammar that cannot be read is refused with its line", [] {
    ExpectRefusal("root ::= \"a\n", "line 1: a literal has no end");
    ExpectRefusal("root ::= [a", "line 1: a set of characters has no end");
    ExpectRefusal("root ::= \"a\"\nb ::= (\"a\"", "line 2: expected )");
    ExpectRefusal("root ::= *", "nothing before *");
    ExpectRefusal("root ::= b", "uses the rule b, which it does not define");
    ExpectRefusal("a ::= \"b\"", "has no rule root");
    ExpectRefusal("", "has no rule root");
    ExpectRefusal("root ::= \"a\"\nroot ::= \"b\"", "line 2: the rule root is defined twice");
    ExpectRefusal("root = \"a\"", "expected ::=");
    ExpectRefusal("root ::= \"\\q\"", "unknown escape");
    ExpectRefusal("root ::= \"\xFF\"", "not UTF-8");
    ExpectRefusal("root ::= <nothing>", "<nothing> is not a token");
    ExpectRefusal("root ::= \"a\"{3,2}", "is empty");
    ExpectRefusal("root ::= " + std::string(300, '('), "nested groups");
    ExpectRefusal("root ::= [z-a]", "descending");
  });
  Test("a grammar that explodes is refused", [] {
    ExpectRefusal("root ::= \"abcdefgh\"{0,100000}", "too large");
    ExpectRefusal("root ::= \"a\"{0,99999999999}", "more than 1000000 repetitions");
    ExpectRefusal("root ::= ((((\"ab\"{900} \"c\"){900} \"d\"){900} \"e\"){900} \"f\"){900000}", "too large");
    ExpectRefusal("root ::= (\"a\"?){0,90000} \"b\"", "too ambiguous");
    ExpectRefusal(std::string(5U << 20, ' '), "bytes");
    std::string doubling = "root ::= r40\nr0 ::= \"a\"\n";
    for (int i = 1; i <= 40; i++)
      doubling += "r" + std::to_string(i) + " ::= r" + std::to_string(i - 1) + " r" + std::to_string(i - 1) + "\n";
    Expect(Refusal(doubling) == "none", "2^40 bytes in few rules");
  });
  Test("left recursion and grammars without an end are refused by the rule's name", [] {
    ExpectRefusal("root ::= root \"a\" | \"b\"", "left-recursive: a text of its rule root");
    ExpectRefusal("root ::= b\nb ::= c? d\nc ::= \"x\"\nd ::= b \"y\" | \"z\"", "left-recursive");
    ExpectRefusal("root ::= \"a\" root", "rule root has no end");
    ExpectRefusal("root ::= []", "has no end");
    Expect(Refusal("root ::= (\"a\"*)* (\"b\"?)+") == "none", "empty loops are no recursion");
  });
  Test("a text with many readings costs no more than few", [] {
    const auto grammar = Compile("root ::= (\"a\" | \"a\" \"a\" | [a-b])* \"c\"");
    Expect(Matches(*grammar, std::string(10000, 'a') + "c"), "10000 letters");
  });
  Test("tokens are allowed by their bytes, alone and in the mask", [] {
    //                         0    1     2      3     4       5      6       7 end
    auto matcher = Match("root ::= \"[\" [a-z]{2,3} \"é]\"", {"[", "ab", "abcd", "é", "\xC3", "\xA9]", "[a"});
    ExpectAllowed(matcher, 8, "0 6");
    matcher.Accept(0);
    ExpectAllowed(matcher, 8, "1");
    matcher.Accept(1);
    ExpectAllowed(matcher, 8, "3 4");
    matcher.Accept(4);
    Expect(!matcher.IsComplete(), "it is not complete yet");
    ExpectAllowed(matcher, 8, "5");
    matcher.Accept(5);
    ExpectAllowed(matcher, 8, "7");
    Expect(matcher.IsComplete(), "it is complete");
  });
  Test("branches of plain texts are allowed as far as a text may go on", [] {
    // Texts of a few characters in all combinations, so that branches end at each length, and some of their tokens are
    // not plain.
    std::vector<std::string> pieces = {
        std::string(300, 'a'), std::string(300, 'a') + "b", "a\x7F", "a\xE6\x9D", "\xED\xA0\x80", "a\xC0\x80", "\x80",
        "a\u6771\U0001F600b"};
    for (const std::string first : {"a", " ", "~", "\"", "\\", "\n", "\u00e9", "\u6771", "\xE6", "\xE6\x9D"}) {
      pieces.push_back(first);
      for (const std::string second : {"a", "b", "\"", "\\", "\u00e9", "\u00e8", "\xC3"}) {
        pieces.push_back(first + second);
        for (const std::string third : {"aa", "bb", "b\"", "}", "abcdef"}) pieces.push_back(first + second + third);
      }
    }
    const auto n_vocab = pieces.size() + 1;
    const std::string escapes = "\"\\\\\" [\"\\\\n]";
    const std::vector<std::string> grammars = {
        "root ::= \"\\\"\" ([^\"\\\\\\x00-\\x1f] | " + escapes + ")* \"\\\"\" \"}\"?",      // any text
        "root ::= \"\\\"\" ([^\"\\\\\\x00-\\x1f] | " + escapes + "){0,5} \"\\\"\" \"}\"?",  // of limited length
        "root ::= \"\\\"\" [^\"\\\\b\\x00-\\x1f]* \"\\\"\"",                                // without a plain letter
        "root ::= \"\\\"\" ([a-z ]{3} [^\"\\\\\\x00-\\x1f]*)? \"\\\"\"",                    // narrow at first
        "root ::= \"\\\"\" [^\"\\\\\\x00-\\x1f\\u00e9]* \"\\\"\"",  // without a character of two bytes
        "root ::= \"\\\"\" [ -~]{0,400}",                           // longer than a height has numbers
    };
    for (const auto& gbnf : grammars) {
      auto matcher = Match(gbnf, pieces);
      for (const std::string text : {"\"", "a", "a", " ", "a", "a", "a"}) {
        const auto token = std::ranges::find(pieces, text);
        if (!matcher.Allows(static_cast<TokenId>(token - pieces.begin()))) break;
        matcher.Accept(static_cast<TokenId>(token - pieces.begin()));
        Expect(!AllowedBy(matcher, n_vocab).empty(), "nothing may follow in " + gbnf);
      }
    }
    auto any = Match(grammars.front(), pieces);
    any.Accept(static_cast<TokenId>(std::ranges::find(pieces, "\"") - pieces.begin()));
    Expect(any.Allows(0) && any.Allows(1) && any.Allows(2) && any.Allows(3) && !any.Allows(4) && !any.Allows(5),
           "long texts, the character 127, and no other UTF-8");
    auto limited = Match(grammars[1], pieces);
    limited.Accept(static_cast<TokenId>(std::ranges::find(pieces, "\"") - pieces.begin()));
    Expect(!limited.Allows(0), "a text that is too long");
  });
  Test("a grammar may name tokens", [] {
    auto matcher = Match("root ::= <[2]> !<[1]> \"a\"", {"a", "b", ""});
    ExpectAllowed(matcher, 4, "2");
    matcher.Accept(2);
    ExpectAllowed(matcher, 4, "0 2");
    matcher.Accept(2);
    ExpectAllowed(matcher, 4, "0");
  });
  Test("a grammar with a trigger waits for it", [] {
    //                                           0      1     2     3     4    5
    auto matcher = Match("root ::= \"<go>\" \"x\"+", {"a<g", "o>", "o>x", "o>a", "x", "<go>x"}, {"<go>"});
    ExpectAllowed(matcher, 7, "0 1 2 3 4 5 6");
    matcher.Accept(0);
    ExpectAllowed(matcher, 7, "0 1 2 4 5 6");
    auto other = matcher;
    matcher.Accept(1);
    ExpectAllowed(matcher, 7, "4");
    other.Accept(2);
    ExpectAllowed(other, 7, "4 6");
  });
  Test("the shortest end of a text that was cut", [] {
    Expect(CompletionOf(kJson, "{\"a\": [1, {\"b") == "\":0}]}", CompletionOf(kJson, "{\"a\": [1, {\"b"));
    Expect(CompletionOf(kJson, "") == "0", "of nothing");
    Expect(CompletionOf(kJson, "\"\\u12") == "00\"", CompletionOf(kJson, "\"\\u12"));
    Expect(CompletionOf(kJson, "\"\xF0\x9F") == "\x80\x80\"", "of half a character");
    Expect(CompletionOf(kJson, "[1]").empty(), "of a whole text");
    Expect(CompletionOf("root ::= (\"a\"* | \"b\"?)* \"cd\"", "aab") == "cd", "behind loops");
    Expect(CompletionOf("root ::= \"a\"{100}", "a", 98) == "none", "too long");
    Expect(CompletionOf("root ::= \"a\"{100}", "a", 99).size() == 99, "long");
  });
  Test("a drawn token has the distribution of a draw among the allowed", [] {
    SamplingParams params;
    constexpr int kDraws = 20000;
    for (const float top_p : {1.0F, 0.9F}) {
      params.top_p = top_p;
      std::vector<int> counts(5);
      SamplingMemory memory;
      for (int i = 0; i < kDraws; i++) {
        params.seed = static_cast<uint32_t>(i);
        TokenRules rules;
        rules.grammar.emplace(Match("root ::= [ac]", {"a", "b", "c", "d"}));
        Sampler sampler(params, std::move(rules), {});
        std::vector<float> logits = {std::log(0.1F), std::log(0.6F), std::log(0.2F), std::log(0.1F), std::log(0.3F)};
        counts[static_cast<size_t>(sampler.Sample(logits, {}, memory))]++;
      }
      ExpectNear(static_cast<double>(counts[0]) / kDraws, 1.0 / 3, 0.015, "a");
      ExpectNear(static_cast<double>(counts[2]) / kDraws, 2.0 / 3, 0.015, "c");
    }
  });
  Test("a grammar without a token that can follow is the mistake of the caller", [] {
    SamplingParams params;
    params.temperature = 0.0F;
    TokenRules rules;
    rules.grammar.emplace(Match("root ::= \"x\"", {"a", "b"}));
    Sampler sampler(params, std::move(rules), {});
    SamplingMemory memory;
    std::vector<float> logits = {0, 0, 0};
    try {
      sampler.Sample(logits, {}, memory);
      Expect(false, "it chose a token");
    } catch (const SamplingError& error) {
      Expect(error.fault() == Fault::kCaller, "the fault");
    }
  });
  Test("grammars are kept by their texts, up to a number", [] {
    GrammarCache cache(2, 1U << 30);
    const auto first = cache.Find("", "root ::= \"a\"", "root", FindNone);
    Expect(cache.Find("", "root ::= \"a\"", "root", FindNone) == first, "the same");
    Expect(cache.Find("other", "root ::= \"a\"", "root", FindNone) != first, "another key has its own");
    cache.Find("", "root ::= \"b\"", "root", FindNone);
    cache.Find("", "root ::= \"c\"", "root", FindNone);
    Expect(cache.size() == 2, "two");
    Expect(cache.Find("", "root ::= \"a\"", "root", FindNone) != first, "the oldest is gone");
    GrammarCache small(10, 1);
    small.Find("", "root ::= \"a\"", "root", FindNone);
    small.Find("", "root ::= \"b\"", "root", FindNone);
    Expect(small.size() == 1, "one, which is always kept");
  });
  Test("a grammar for which it takes too long to find what may follow is refused", [] {
    std::vector<std::string> pieces;
    for (uint32_t i = 0; i < 20000; i++) {
      std::string piece;
      for (uint32_t bit = 0; bit < 15; bit++) piece += (i >> bit & 1) != 0 ? 'a' : 'b';
      pieces.push_back(piece);
    }
    auto small = Match("root ::= [ab]* \"a\" [ab]{10}", pieces);
    AllowedBy(small, 20001);
    auto large = Match("root ::= ([ab]* \"a\" [ab]{0,900} \"b\" [ab]{900})", pieces);
    std::string refusal;
    try {
      for (int i = 0; i < 400; i++) {
        AllowedBy(large, 20001);
        large.Accept(i * 37);
      }
    } catch (const SamplingError& error) {
      refusal = error.what();
    }
    Expect(refusal.find("too ambiguous") != std::string::npos || refusal.find("too many states") != std::string::npos,
           "'" + refusal + "'");
  });
  Test("states that grow large are replaced, and the text goes on", [] {
    std::vector<std::string> pieces;
    for (char c = 'a'; c <= 'z'; c++) pieces.emplace_back(1, c);
    auto matcher = Match("root ::= [a-z]{0,30000} \"!\" | (\"ab\" \"c\"?){0,20000} \"!\"", pieces);
    for (int i = 0; i < 30000; i++) {
      Expect(matcher.Allows(i % 26), "token " + std::to_string(i));
      matcher.Accept(i % 26);
    }
    Expect(!matcher.Allows(0), "the end of the repetition");
    Expect(matcher.FindCompletion(10) == "!", "its end");
  });
}

}  // namespace aana::test
