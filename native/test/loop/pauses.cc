// Sequences that make room for those of other tenants.
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "../events/fake_llama.h"
#include "../check.h"
#include "harness.h"
#include "tests.h"

namespace aana::test {
namespace {

using namespace llama;

constexpr int32_t kEndless = 2'000'000'000;

// An engine whose requests end only where they are told to.
class Endless {
 public:
  explicit Endless(int32_t n_sequences, int32_t n_cells = 0) : harness_(Options(n_sequences, n_cells)) {}

  void Submit(RequestId id, const std::string& tenant, size_t n_prompt = 3, int32_t max_tokens = kEndless,
              double weight = 1) {
    auto request = GreedyRequest(id, std::vector<llama_token>(n_prompt, static_cast<llama_token>(id)), max_tokens);
    request.sampling.logit_bias.push_back({fake::kEnd, -100.0F});
    request.n_kept = 4;
    request.terms.tenant = tenant;
    request.terms.cache_key = tenant;
    request.terms.weight = weight;
    harness_.Submit(std::move(request));
  }
  void Turn(int n = 1) {
    for (; n > 0; n--) {
      n_turns_++;
      for (const auto& event : harness_.Turn()) {
        if (const auto* text = std::get_if<TextEvent>(&event.what)) {
          if (texts[event.id].empty()) first_turn[event.id] = n_turns_;
          texts[event.id] += text->text;
        } else {
          end_turn[event.id] = n_turns_;
        }
      }
    }
  }
  int64_t n_turns() const { return n_turns_; }
  uint64_t n_paused() const { return harness_.counts().n_paused; }
  double LengthOf(RequestId id) { return static_cast<double>(texts[id].size()); }

  std::map<RequestId, std::string> texts;
  std::map<RequestId, int64_t> first_turn;  // with a text
  std::map<RequestId, int64_t> end_turn;

 private:
  static LoadOptions Options(int32_t n_sequences, int32_t n_cells) {
    fake::Set({});
    LoadOptions options;
    options.n_context = 160;
    options.n_sequences = n_sequences;
    options.n_cells = n_cells;
    options.n_prefill_per_step = 16;
    return options;
  }

  LoopHarness harness_;
  int64_t n_turns_ = 0;
};

}  // namespace

void TestPauses() {
  Test("six endless answers of one tenant make room for the request of another one, and go on", [] {
    for (const int32_t n_cells : {0, 200}) {
      Endless engine(4, n_cells);
      for (RequestId id = 1; id <= 6; id++) engine.Submit(id, "many");
      engine.Turn(100);
      Expect(engine.n_paused() == 0, "a tenant's requests made room for others of its own");
      engine.Submit(7, "other", 20, 30);
      const auto asked_at = engine.n_turns();
      engine.Turn(300);
      Expect(engine.first_turn.contains(7) && engine.first_turn[7] - asked_at <= 4,
             "the other tenant waited for its first token");
      // It reads its prompt and decodes without an interruption: a step for each token, or a few more where cells run
      // out.
      Expect(engine.end_turn.contains(7) && (n_cells > 0 || engine.end_turn[7] - engine.first_turn[7] <= 31),
             "the other tenant was interrupted");
      Expect(n_cells > 0 || engine.n_paused() > 0, "no request was paused");
      double n_before = 0;
      for (RequestId id = 1; id <= 6; id++) n_before += engine.LengthOf(id);
      engine.Turn(100);
      double n_after = 0;
      for (RequestId id = 1; id <= 6; id++) n_after += engine.LengthOf(id);
      Expect(n_after - n_before >= 50,
             "the endless requests go on with " + std::to_string(n_after - n_before) + " tokens");
    }
  });
  Test("endless answers of more tenants than places take turns by their weights", [] {
    Endless engine(2);
    for (RequestId id = 1; id <= 3; id++) engine.Submit(id, "tenant " + std::to_string(id));
    engine.Turn(3000);
    for (RequestId id = 1; id <= 3; id++) ExpectNear(engine.LengthOf(id), 2000, 200, "the tokens of a tenant");
    Endless one(1);
    one.Submit(1, "light");
    one.Submit(2, "heavy", 3, kEndless, 3);
    one.Turn(4000);
    ExpectNear(one.LengthOf(2) / one.LengthOf(1), 3, 0.4, "the tokens of the heavy tenant for each of the light one");
  });
  Test("two tenants with many endless answers share the places", [] {
    Endless engine(4);
    for (RequestId id = 1; id <= 12; id++) engine.Submit(id, id <= 6 ? "one" : "two");
    engine.Turn(2000);
    double lengths[2] = {};
    for (RequestId id = 1; id <= 12; id++) lengths[id <= 6 ? 0 : 1] += engine.LengthOf(id);
    ExpectNear(lengths[0] / lengths[1], 1, 0.1, "the tokens of the first tenant for each of the second");
    Expect(engine.n_paused() <= 4, "they are paused again and again, though both have their share");
  });
  Test("a tenant that comes later gets no more than its share of what follows", [] {
    Endless engine(1);
    engine.Submit(1, "first");
    engine.Turn(2000);
    const auto n_first = engine.LengthOf(1);
    engine.Submit(2, "second");
    engine.Turn(1000);
    ExpectNear(engine.LengthOf(1) - n_first, 500, 100, "the tokens of the first tenant since then");
  });
  Test("a pause changes no text", [] {
    Endless alone(1);
    alone.Submit(1, "one", 5, 120);
    alone.Turn(200);
    Endless together(1);
    together.Submit(1, "one", 5, 120);
    together.Submit(2, "two", 7, 120);
    together.Turn(500);
    Expect(together.n_paused() > 1, "no request was paused");
    Expect(together.texts[1] == alone.texts[1] && alone.texts[1].size() == 120, "the text is another one");
  });
}

}  // namespace aana::test
