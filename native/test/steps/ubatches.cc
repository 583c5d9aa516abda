// The number of passes over the weights that we count for a batch, beside the passes that llama.cpp makes.
#include <algorithm>
#include <array>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "../check.h"
#include "core/deleter.h"
#include "core/llama/loop/ubatches.h"
#include "loaded.h"

namespace aana::test {
namespace {

using namespace llama;

constexpr int32_t kPassTokens = 7;

// Counts the graphs by an operation that each of them has once.
bool CountPass(ggml_tensor* tensor, bool is_asked, void* n_passes) {
  if (is_asked && std::string_view(tensor->name) == "result_norm") ++*static_cast<int32_t*>(n_passes);
  return false;
}

void TestUbatches(const std::string& model_path, bool is_unified) {
  auto options = OptionsFor(model_path, 1);
  if (is_unified) options.n_cells = 1'000'000;
  options.n_ubatch = kPassTokens;
  const Model model(options, {});
  const Context ours(model, options, nullptr, nullptr);
  auto params = PlannedContext(options);
  params.n_ctx = static_cast<uint32_t>(ours.n_cells());
  params.n_batch = 512;
  int32_t n_passes = 0;
  params.cb_eval = CountPass;
  params.cb_eval_user_data = &n_passes;
  const std::unique_ptr<llama_context, Deleter<llama_free>> context(llama_init_from_model(model.get(), params));
  Expect(context != nullptr, "there is no context");

  std::mt19937 random(7);
  const auto up_to = [&](int32_t most) { return std::uniform_int_distribution<int32_t>(0, most)(random); };
  for (int round = 0; round < 40; round++) {
    llama_memory_clear(llama_get_memory(context.get()), true);
    std::array<llama_pos, kSequences> positions{};
    for (int step = 0; step < 3; step++) {
      std::array<llama_seq_id, kSequences> order{};
      std::iota(order.begin(), order.end(), 0);
      if (up_to(2) == 0) std::ranges::shuffle(order, random);
      Batch batch(512);
      std::string described;
      const int32_t longest = 1 + up_to(1) * up_to(18);
      for (const auto sequence : order) {
        if (up_to(2) == 0) continue;
        const int32_t n_tokens = 1 + up_to(longest - 1);
        for (int32_t i = 0; i < n_tokens; i++)
          batch.Add(1 + up_to(6), positions[static_cast<size_t>(sequence)]++, sequence, i == n_tokens - 1);
        described += " " + std::to_string(sequence) + ":" + std::to_string(n_tokens);
      }
      if (batch.size() == 0) continue;
      n_passes = 0;
      Expect(llama_decode(context.get(), batch.get()) == 0, "the step failed");
      const auto counted = CountUbatches(batch.sequences(), ours.n_ubatch(), UbatchRuleOf(model, ours));
      Expect(counted == n_passes, std::to_string(counted) + " passes are counted and llama.cpp makes " +
                                      std::to_string(n_passes) + " for" + described);
    }
  }
}

}  // namespace

void TestUbatches(const std::string& model_path) {
  for (const bool is_unified : {false, true}) {
    Test("the passes of " + NameOf(model_path) + (is_unified ? " in one memory" : "") +
             " are those that llama.cpp makes",
         [&] { TestUbatches(model_path, is_unified); });
  }
}

}  // namespace aana::test
