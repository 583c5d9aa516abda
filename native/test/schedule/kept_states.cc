#include <cstdint>
#include <string>
#include <utility>

#include "../check.h"
#include "core/llama/prompt_cache/kept_states.h"
#include "helpers.h"
#include "tests.h"

namespace aana::test {
namespace {

using llama::KeptState;
using llama::KeptStates;

// Of 100 tokens and 1,000 bytes with them.
KeptState State(const std::string& tenant, llama::TokenId first, size_t n = 100) {
  KeptState state;
  state.decoded = Numbers(first, n);
  state.tenant = state.cache_key = tenant;
  state.state = llama::StateBytes(1000 - n * sizeof(llama_token));
  return state;
}

void ExpectKept(const KeptStates& kept, const std::string& expected) {
  std::string actual;
  for (const auto& state : kept.states()) actual += state->tenant + std::to_string(state->decoded.front()) + " ";
  Expect(actual == expected, "kept are " + actual);
}

}  // namespace

void TestKeptStates() {
  Test("the user with the most bytes loses what it used the longest ago", [] {
    KeptStates kept(4000, false);
    kept.Add(State("one", 0));
    for (const llama::TokenId first : {0, 1000, 2000}) kept.Add(State("other", first));
    kept.Touch(*kept.states()[1]);
    kept.Add(State("other", 3000));
    ExpectKept(kept, "one0 other0 other2000 other3000 ");
    kept.Add(State("third", 0));
    ExpectKept(kept, "one0 other0 other3000 third0 ");
    Expect(kept.n_bytes() == 4000, "other bytes are counted");
  });
  Test("a state takes the place of one that it covers, and nobody wants one that is covered", [] {
    KeptStates kept(10'000, false);
    kept.Add(State("one", 0));
    Expect(!kept.Wants(State("one", 0), 100) && !kept.Wants(State("one", 0, 110), 110), "it wants them twice");
    Expect(kept.Wants(State("one", 0, 150), 150) && kept.Wants(State("other", 0), 100), "it does not want others");
    kept.Add(State("one", 0, 150));
    kept.Add(State("other", 0));
    ExpectKept(kept, "one0 other0 ");
    Expect(kept.states()[0]->decoded.size() == 150, "the shorter one stayed");
    auto fixed = State("one", 0);
    fixed.n_fixed = 96;
    Expect(kept.Wants(fixed, 100), "it does not want what reproducible requests can use");
  });
  Test("states of which no part can be used stay beside each other", [] {
    KeptStates kept(10'000, true);
    kept.Add(State("one", 0));
    Expect(kept.Wants(State("one", 0, 110), 110) && !kept.Wants(State("one", 0), 100), "it wants others");
    kept.Add(State("one", 0, 150));
    ExpectKept(kept, "one0 one0 ");
  });
  Test("less room gives up the oldest, also later, and no room keeps nothing", [] {
    KeptStates kept(3000, false);
    for (const llama::TokenId first : {0, 1000, 2000}) kept.Add(State("one", first));
    kept.Limit(1500);
    ExpectKept(kept, "one2000 ");
    kept.Add(State("one", 3000));
    ExpectKept(kept, "one3000 ");
    kept.Limit(0);
    Expect(kept.states().empty() && kept.n_bytes() == 0 && !kept.Wants(State("one", 0), 100), "something is kept");
  });
  Test("a state with more bytes than all may have is not kept, and drives out none", [] {
    KeptStates kept(1000, false);
    kept.Add(State("one", 0));
    auto large = State("one", 5000);
    large.state = llama::StateBytes(2000);
    kept.Add(std::move(large));
    ExpectKept(kept, "one0 ");
  });
}

}  // namespace aana::test
