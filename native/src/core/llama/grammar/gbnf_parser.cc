#include "core/llama/grammar/gbnf_parser.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "core/llama/grammar/char_set.h"
#include "core/llama/sampling/sampling_error.h"

namespace aana::llama {
namespace {

constexpr size_t kMaxBytes = 4U << 20;
constexpr size_t kMaxRules = 100'000;
constexpr int kMaxNesting = 200;
// A larger number of repetitions is a mistake: the automaton has a node for each.
constexpr uint32_t kMaxRepetitions = 1'000'000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameChar(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || IsDigit(c); }

void AppendUtf8(std::string& text, uint32_t point) {
  for (const auto byte : EncodeUtf8(point)) text += static_cast<char>(byte);
}

class Parser {
 public:
  Parser(std::string_view text, const FindToken& find_token) : text_(text), find_token_(find_token) {}

  GrammarSyntax Parse(const std::string& root) {
    if (text_.size() > kMaxBytes) {
      throw SamplingError(Fault::kCaller, "the grammar has " + std::to_string(text_.size()) + " bytes, at most " +
                                              std::to_string(kMaxBytes) + " are allowed");
    }
    SkipSpace(true);
    while (!AtEnd()) ParseRule();
    for (size_t i = 0; i < is_defined_.size(); i++) {
      if (!is_defined_[i])
        throw SamplingError(Fault::kCaller,
                            "the grammar uses the rule " + syntax_.rules[i].name + ", which it does not define");
    }
    const auto found = rules_.find(root);
    if (found == rules_.end()) throw SamplingError(Fault::kCaller, "the grammar has no rule " + root);
    syntax_.root = found->second;
    return std::move(syntax_);
  }

 private:
  bool AtEnd() const { return at_ >= text_.size(); }
  char Peek(size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool Take(char c) {
    if (AtEnd() || text_[at_] != c) return false;
    at_++;
    return true;
  }

  [[noreturn]] void Fail(const std::string& problem) const {
    const auto line =
        1 + std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(std::min(at_, text_.size())), '\n');
    throw SamplingError(Fault::kCaller, "the grammar cannot be read: line " + std::to_string(line) + ": " + problem);
  }

  // Skips spaces and comments; line ends, too, when `newline_ok`.
  void SkipSpace(bool newline_ok) {
    while (!AtEnd()) {
      const char c = Peek();
      if (c == '#') {
        while (!AtEnd() && Peek() != '\n' && Peek() != '\r') at_++;
      } else if (c == ' ' || c == '\t' || (newline_ok && (c == '\n' || c == '\r'))) {
        at_++;
      } else {
        return;
      }
    }
  }

  std::string ParseName() {
    const size_t begin = at_;
    while (!AtEnd() && IsNameChar(Peek())) at_++;
    if (at_ == begin) Fail("expected a name");
    return std::string(text_.substr(begin, at_ - begin));
  }

  size_t RuleOf(const std::string& name) {
    const auto [found, is_new] = rules_.try_emplace(name, syntax_.rules.size());
    if (is_new) {
      if (syntax_.rules.size() == kMaxRules) Fail("more than " + std::to_string(kMaxRules) + " rules");
      syntax_.rules.push_back({name, {}});
      is_defined_.push_back(false);
    }
    return found->second;
  }

  void ParseRule() {
    const auto name = ParseName();
    const size_t rule = RuleOf(name);
    if (is_defined_[rule]) Fail("the rule " + name + " is defined twice");
    is_defined_[rule] = true;
    SkipSpace(false);
    if (text_.substr(at_, 3) != "::=") Fail("expected ::= after " + name);
    at_ += 3;
    SkipSpace(true);
    auto alternatives = ParseAlternatives(0);
    syntax_.rules[rule].alternatives = std::move(alternatives);
    if (!AtEnd() && Peek() != '\n' && Peek() != '\r')
      Fail("unexpected " + std::string(1, Peek()) + " in the rule " + name);
    SkipSpace(true);
  }

  GrammarAlternatives ParseAlternatives(int nesting) {
    if (nesting > kMaxNesting) Fail("more than " + std::to_string(kMaxNesting) + " nested groups");
    GrammarAlternatives alternatives;
    do {
      SkipSpace(nesting > 0 || !alternatives.empty());
      alternatives.push_back(ParseSequence(nesting));
    } while (Take('|'));
    return alternatives;
  }

  GrammarSequence ParseSequence(int nesting) {
    GrammarSequence sequence;
    for (;;) {
      const char c = Peek();
      if (AtEnd() || c == '|' || c == ')' || c == '\n' || c == '\r') return sequence;
      if (c == '*' || c == '+' || c == '?' || c == '{') {
        if (sequence.empty()) Fail("there is nothing before " + std::string(1, c) + " to repeat");
        Repeat(sequence.back());
      } else {
        sequence.push_back(ParseItem(nesting));
      }
      SkipSpace(nesting > 0);
    }
  }

  GrammarItem ParseItem(int nesting) {
    const char c = Peek();
    if (c == '"') return {ParseLiteral()};
    if (c == '[') return {ParseSet()};
    if (c == '<' || c == '!') return {ParseToken()};
    if (Take('.')) return {AnyChar()};
    if (c == '%') return {ParseQuote()};
    if (Take('(')) {
      auto group = ParseAlternatives(nesting + 1);
      if (!Take(')')) Fail("expected )");
      return {std::move(group)};
    }
    if (IsNameChar(c)) return {RuleReference{RuleOf(ParseName())}};
    Fail("unexpected " + std::string(1, c));
  }

  // `item` may be repeated already: then it is a group of its own.
  void Repeat(GrammarItem& item) {
    uint32_t min = 0;
    uint32_t max = kUnlimited;
    const char c = text_[at_++];
    if (c == '+') min = 1;
    if (c == '?') max = 1;
    if (c == '{') {
      SkipSpace(false);
      min = ParseCount();
      SkipSpace(false);
      max = min;
      if (Take(',')) {
        SkipSpace(false);
        max = IsDigit(Peek()) ? ParseCount() : kUnlimited;
        SkipSpace(false);
      }
      if (!Take('}')) Fail("expected }");
      if (max < min) Fail("the repetition {" + std::to_string(min) + "," + std::to_string(max) + "} is empty");
    }
    if (item.min != 1 || item.max != 1) {
      GrammarAlternatives group(1);
      group[0].push_back(std::move(item));
      item = {std::move(group)};
      if (++n_regrouped_ > kMaxNesting) Fail("too many repetitions of repetitions");
    }
    item.min = min;
    item.max = max;
  }

  uint32_t ParseCount() {
    uint32_t count = 0;
    if (!IsDigit(Peek())) Fail("expected a number");
    while (!AtEnd() && IsDigit(Peek())) {
      count = count * 10 + static_cast<uint32_t>(text_[at_++] - '0');
      if (count > kMaxRepetitions) Fail("more than " + std::to_string(kMaxRepetitions) + " repetitions");
    }
    return count;
  }

  std::string ParseLiteral() {
    at_++;
    std::string literal;
    while (!Take('"')) {
      if (AtEnd() || Peek() == '\n') Fail("a literal has no end");
      AppendUtf8(literal, ParseChar());
    }
    return literal;
  }

  CharSet ParseSet() {
    at_++;
    const bool is_negated = Take('^');
    CharSet set;
    while (!Take(']')) {
      if (AtEnd()) Fail("a set of characters has no end");
      CharRange range{ParseChar(), 0};
      range.last = range.first;
      if (Peek() == '-' && Peek(1) != ']') {
        at_++;
        range.last = ParseChar();
        if (range.last < range.first) Fail("a range of characters is in descending order");
      }
      set.push_back(range);
    }
    set = Normalized(set);
    return is_negated ? Complement(set) : set;
  }

  uint32_t ParseChar() {
    if (AtEnd()) Fail("unexpected end");
    if (Take('\\')) return ParseEscape();
    const auto decoded = DecodeUtf8(text_.substr(at_));
    if (!decoded) Fail("it is not UTF-8");
    at_ += decoded->n_bytes;
    return decoded->point;
  }

  uint32_t ParseEscape() {
    const char c = Peek();
    at_++;
    switch (c) {
      case 'x':
        return ParseHex(2);
      case 'u':
        return ParseHex(4);
      case 'U':
        return ParseHex(8);
      case 't':
        return '\t';
      case 'r':
        return '\r';
      case 'n':
        return '\n';
      case '\\':
      case '"':
      case '[':
      case ']':
      case '-':
        return static_cast<uint32_t>(c);
      default:
        Fail("unknown escape \\" + std::string(1, c));
    }
  }

  uint32_t ParseHex(int n_digits) {
    uint32_t value = 0;
    for (int i = 0; i < n_digits; i++) {
      const char c = Peek();
      const bool is_hex = IsDigit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      if (!is_hex) Fail("expected " + std::to_string(n_digits) + " hexadecimal digits");
      value = value * 16 + static_cast<uint32_t>(IsDigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
      at_++;
    }
    if (value > kLastChar) Fail("a character above U+10FFFF");
    return value;
  }

  QuoteReference ParseQuote() {
    at_++;
    const auto name = ParseName();
    if (name != "quote") Fail("unknown %" + name);
    return {};
  }

  TokenReference ParseToken() {
    const bool is_negated = Take('!');
    const size_t begin = at_;
    if (!Take('<')) Fail("expected < after !");
    if (Take('[')) {
      const uint32_t token = ParseTokenNumber();
      if (!Take(']') || !Take('>')) Fail("expected ]> after the number of a token");
      return {static_cast<TokenId>(token), is_negated};
    }
    while (!AtEnd() && Peek() != '>' && Peek() != '\n') at_++;
    if (!Take('>')) Fail("a token has no end");
    const std::string text(text_.substr(begin, at_ - begin));
    const auto token = find_token_(text);
    if (!token) Fail(text + " is not a token of the model");
    return {*token, is_negated};
  }

  uint32_t ParseTokenNumber() {
    uint64_t number = 0;
    if (!IsDigit(Peek())) Fail("expected the number of a token");
    while (!AtEnd() && IsDigit(Peek())) {
      number = number * 10 + static_cast<uint64_t>(text_[at_++] - '0');
      if (number > std::numeric_limits<int32_t>::max()) Fail("the number of a token is too large");
    }
    return static_cast<uint32_t>(number);
  }

  std::string_view text_;
  const FindToken& find_token_;
  size_t at_ = 0;
  int n_regrouped_ = 0;
  GrammarSyntax syntax_;
  std::unordered_map<std::string, size_t> rules_;
  std::vector<bool> is_defined_;
};

}  // namespace

GrammarSyntax ParseGbnf(std::string_view text, const std::string& root, const FindToken& find_token) {
  return Parser(text, find_token).Parse(root);
}

}  // namespace aana::llama
