// Says which texts a grammar takes. Reads requests from the standard input, each a line with the bytes of a grammar and
// of a text, then both. Writes a line for each: `yes`, `no`, or `refused` with the reason.
#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "core/llama/grammar/grammar.h"
#include "core/llama/sampling/sampling_error.h"

using namespace aana::llama;

namespace {

std::string Answer(const Grammar& grammar, const std::string& text) {
  auto& states = grammar.states()->states;
  auto state = states.start();
  for (const char c : text) state = states.Next(state, static_cast<uint8_t>(c));
  return states.IsAccepting(state) ? "yes" : "no";
}

}  // namespace

int main() {
  std::string last;
  std::unique_ptr<Grammar> grammar;
  for (size_t n_grammar = 0, n_text = 0; std::cin >> n_grammar >> n_text;) {
    std::cin.get();
    std::string gbnf(n_grammar, '\0');
    std::string text(n_text, '\0');
    std::cin.read(gbnf.data(), static_cast<std::streamsize>(n_grammar));
    std::cin.read(text.data(), static_cast<std::streamsize>(n_text));
    try {
      if (!grammar || gbnf != last)
        grammar = std::make_unique<Grammar>(gbnf, "root", [](const std::string&) { return std::optional<TokenId>(); });
      last = gbnf;
      std::cout << Answer(*grammar, text) << std::endl;
    } catch (const SamplingError& error) {
      grammar.reset();
      std::cout << "refused " << error.what() << std::endl;
    }
  }
}
