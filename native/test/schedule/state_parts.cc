// States that are cut and joined.
#include "core/llama/prompt_cache/state_parts.h"

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "../check.h"
#include "helpers.h"
#include "states.h"
#include "tests.h"

namespace aana::test {
namespace {

using llama::StateBytes;
using llama::StateParts;

// A state as Join writes it.
StateBytes Expected(std::span<const llama_token> tokens, StateForm form, llama_pos first = 0) {
  form.n_rotated = 0;
  form.cache = 0;
  auto state = StateOf(tokens, form, first);
  std::fill_n(state.bytes.get() + sizeof(uint32_t), sizeof(llama_seq_id), 0);
  return state;
}

bool AreSame(const StateBytes& one, const StateBytes& two) { return std::ranges::equal(one.span(), two.span()); }

std::vector<StateForm> Forms() {
  std::vector<StateForm> forms;
  for (const uint32_t n_caches : {1, 3}) {
    for (const size_t n_more_bytes : {0, 12}) {
      for (const bool are_values_turned : {false, true}) {
        for (const size_t n_rotated : {0, 5})
          forms.push_back({n_caches, n_caches - 1, n_more_bytes, are_values_turned, 3, n_rotated});
      }
    }
  }
  return forms;
}

}  // namespace

void TestStateParts() {
  Test("what is cut out of a state and joined is the state of the same tokens, in every form", [] {
    std::mt19937 random(1);
    for (const auto& form : Forms()) {
      const auto tokens = Numbers(9, 40);
      const auto state = StateOf(tokens, form);
      const auto parts = StateParts::Of(state.span(), tokens.size());
      Expect(parts.has_value(), "the state has no known form");
      std::vector<StateBytes> cut;
      std::vector<StateParts> joined;
      size_t at = 0;
      while (at < tokens.size()) {
        const size_t n = std::min<size_t>(1 + random() % 17, tokens.size() - at);
        cut.push_back(parts->Cut(at, n));
        auto form_of_one = form;
        form_of_one.n_caches = 1;
        auto one = Expected(std::span(tokens).subspan(at, n), form_of_one, static_cast<llama_pos>(at));
        // The ids of sequences are left as they were.
        Expect(AreSame(cut.back(), one), "a part differs");
        joined.push_back(*StateParts::Of(cut.back().span(), n, at));
        at += n;
      }
      for (const uint32_t n_caches : {1, 4}) {
        auto other = form;
        other.n_caches = n_caches;
        Expect(AreSame(StateParts::Join(joined, n_caches), Expected(tokens, other)), "the joined state differs");
      }
    }
  });

  Test("a state that is cut short, too long or of other tokens has no known form", [] {
    for (const auto& form : Forms()) {
      const auto tokens = Numbers(9, 12);
      const auto state = StateOf(tokens, form);
      size_t n_known = 0;
      for (size_t n = 0; n < state.size; n++) n_known += StateParts::Of(state.span().first(n), tokens.size()) ? 1 : 0;
      // Where its values begin, it looks like that of a model without values.
      Expect(n_known <= 1, std::to_string(n_known) + " lengths are taken for whole");
      std::vector<uint8_t> longer(state.span().begin(), state.span().end());
      longer.push_back(0);
      Expect(!StateParts::Of(longer, tokens.size()), "a byte more");
      Expect(!StateParts::Of(state.span(), tokens.size() - 1) && !StateParts::Of(state.span(), tokens.size(), 1),
             "other tokens");
    }
    Expect(!StateParts::Of({}, 0), "nothing");
  });

  Test("damaged states are refused, or cut without harm", [] {
    std::mt19937 random(2);
    const auto tokens = Numbers(9, 12);
    for (const auto& form : Forms()) {
      for (int i = 0; i < 3000; i++) {
        auto state = StateOf(tokens, form);
        const auto n_damaged = 1 + random() % 4;
        for (uint32_t n = 0; n < n_damaged; n++)
          state.bytes[random() % (i % 2 ? state.size : std::min<size_t>(state.size, 60))] ^= 1 + random() % 255;
        const auto parts = StateParts::Of(state.span(), tokens.size());
        if (parts) Expect(parts->Cut(3, 5).size > 0 && StateParts::Join({&*parts, 1}, 2).size > 0, "nothing is cut");
      }
    }
  });

  Test("parts of different forms are not joined", [] {
    const auto tokens = Numbers(9, 12);
    const auto one = StateOf(tokens, {});
    for (const auto& form :
         {StateForm{.n_layers = 3}, StateForm{.are_values_turned = true}, StateForm{.n_more_bytes = 12}}) {
      const auto other = StateOf(tokens, form, 12);
      const std::vector parts{*StateParts::Of(one.span(), 12), *StateParts::Of(other.span(), 12, 12)};
      Expect(StateParts::Join(parts, 1).size == 0, "they are joined");
    }
    Expect(StateParts::Join({}, 1).size == 0, "no parts");
  });
}

}  // namespace aana::test
