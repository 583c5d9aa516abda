#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <variant>
#include <vector>

#include "core/llama/sampling/params.h"

namespace aana::llama {

// Code points, both ends included.
struct CharRange {
  uint32_t first = 0;
  uint32_t last = 0;

  auto operator<=>(const CharRange&) const = default;
};

// Ranges in ascending order that do not touch, without surrogates.
using CharSet = std::vector<CharRange>;

struct RuleReference {
  size_t rule = 0;
};

// A token by its number, whatever its text is. Negated: any other token.
struct TokenReference {
  TokenId token = 0;
  bool is_negated = false;
};

// A quotation of the sources of the request.
struct QuoteReference {};

constexpr uint32_t kUnlimited = std::numeric_limits<uint32_t>::max();

struct GrammarItem;
using GrammarSequence = std::vector<GrammarItem>;
using GrammarAlternatives = std::vector<GrammarSequence>;

struct GrammarItem {
  std::variant<std::string, CharSet, RuleReference, TokenReference, QuoteReference, GrammarAlternatives> what;
  uint32_t min = 1;
  uint32_t max = 1;  // kUnlimited: any number
};

struct GrammarRule {
  std::string name;
  GrammarAlternatives alternatives;
};

// A grammar as it is written.
struct GrammarSyntax {
  std::vector<GrammarRule> rules;
  size_t root = 0;
};

}  // namespace aana::llama
