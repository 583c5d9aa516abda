#include "core/llama/draft/vocabulary_match.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "core/llama/model/load_error.h"

namespace aana::llama {
namespace {

constexpr int32_t kMostAdditional = 128;
// Models of one family may have other names for the first tokens, such as the one that begins a text.
constexpr llama_token kFirstCompared = 5;

std::string Quoted(const char* text) {
  constexpr size_t kMost = 40;
  const std::string_view whole(text);
  return "\"" + std::string(whole.substr(0, kMost)) + (whole.size() > kMost ? "…" : "") + "\"";
}

}  // namespace

void RequireSameVocabulary(const Model& draft, const std::string& draft_path, const Model& target) {
  const auto refuse = [&](const std::string& why) {
    throw LoadError("draft model " + draft_path + " does not fit the model, because it has another vocabulary: " + why);
  };
  const auto* mine = draft.vocab();
  const auto* wanted = target.vocab();
  if (llama_vocab_type(mine) != llama_vocab_type(wanted)) refuse("its tokenizer is of another type");
  const bool begins = llama_vocab_get_add_bos(wanted);
  if (llama_vocab_get_add_bos(mine) != begins || (begins && llama_vocab_bos(mine) != llama_vocab_bos(wanted))) {
    refuse("its texts begin with another token");
  }
  const bool ends = llama_vocab_get_add_eos(wanted);
  if (llama_vocab_get_add_eos(mine) != ends || (ends && llama_vocab_eos(mine) != llama_vocab_eos(wanted))) {
    refuse("its texts end with another token");
  }
  if (std::abs(draft.n_vocab() - target.n_vocab()) > kMostAdditional) {
    refuse("it has " + std::to_string(draft.n_vocab()) + " tokens, and the model has " +
           std::to_string(target.n_vocab()));
  }
  for (llama_token token = kFirstCompared; token < std::min(draft.n_vocab(), target.n_vocab()); token++) {
    const auto* my_text = llama_vocab_get_text(mine, token);
    const auto* text = llama_vocab_get_text(wanted, token);
    if (std::string_view(my_text) != text)
      refuse("its token " + std::to_string(token) + " is " + Quoted(my_text) + ", and the model's is " + Quoted(text));
  }
}

}  // namespace aana::llama
