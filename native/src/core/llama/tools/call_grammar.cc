#include "core/llama/tools/call_grammar.h"

#include <string_view>

namespace aana::llama {
namespace {

constexpr std::string_view kRoot = "root ::= ";
constexpr std::string_view kCalls = "tool-calls";
constexpr std::string_view kCall = "tool-call";
constexpr std::string_view kFreeText = "until-";

bool HasRule(std::string_view grammar, std::string_view name) {
  const auto rule = "\n" + std::string(name) + " ::= ";
  return grammar.starts_with(std::string_view(rule).substr(1)) || grammar.find(rule) != std::string_view::npos;
}

// Removes `until-7? ` directly before the calls, and `until-7 space `.
void RemoveFreeText(std::string& root) {
  const size_t calls = root.rfind(kCall);
  if (calls == std::string::npos) return;
  const size_t text = root.rfind(kFreeText, calls);
  if (text == std::string::npos) return;
  const size_t end = root.find_first_not_of("0123456789", text + kFreeText.size());
  if (end == std::string::npos) return;
  const auto between = root.substr(end, calls - end);
  if (between == "? " || between == " space ") root.erase(text, calls - text);
}

}  // namespace

std::string CallGrammar(std::string grammar, bool is_forced, bool is_parallel) {
  size_t begin = grammar.starts_with(kRoot) ? 0 : grammar.find("\n" + std::string(kRoot));
  if (begin == std::string::npos) return grammar;
  begin = grammar.find(kRoot, begin);
  const size_t end = std::min(grammar.find('\n', begin), grammar.size());
  auto root = grammar.substr(begin, end - begin);
  if (is_forced) RemoveFreeText(root);
  if (!is_parallel && HasRule(grammar, kCall)) {
    for (size_t at = root.find(kCalls); at != std::string::npos; at = root.find(kCalls, at))
      root.replace(at, kCalls.size(), kCall);
  }
  return grammar.replace(begin, end - begin, root);
}

std::string GrammarAfter(const std::string& mark, const std::string& grammar, const std::string& root) {
  return grammar + "\n" + kAfterRule + " ::= \"" + mark + "\" [ \\n]{0,4} " + root + "\n";
}

}  // namespace aana::llama
