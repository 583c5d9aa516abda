// Penalties and DRY against values computed by hand.
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "../check.h"
#include "core/llama/sampling/stages/dry.h"
#include "core/llama/sampling/stages/penalties.h"
#include "helpers.h"
#include "tests.h"

namespace aana::test {

using namespace aana::llama;

void TestPenalties() {
  Test("the repetition penalty looks at prompt and completion, the others at the completion", [] {
    TokenCounts counts;
    counts.AddPrompt(std::vector<TokenId>{0, 1, 1});
    counts.AddGenerated(1);
    counts.AddGenerated(2);
    counts.AddGenerated(2);
    std::vector<float> logits = {4, -4, 4, 4};
    Penalize(logits, counts, {.repetition = 2.0F, .presence = 0.5F, .frequency = 0.25F});
    const std::vector<float> expected = {2.0F, -8.75F, 1.0F, 4.0F};
    Expect(logits == expected, "logits");
  });
  Test("the repetition penalty reaches beyond the last 64 tokens", [] {
    std::vector<TokenId> prompt(500, 1);
    prompt.front() = 0;
    SamplingParams params;
    params.penalties.repetition = 1.5F;
    Expect(Greedy({1.2F, 0.1F, 1.0F}, params, prompt) == 2, "the first token of the prompt is penalised");
  });
  Test("DRY lowers what would continue a repetition, by its length", [] {
    std::vector<float> logits(6, 0.0F);
    std::vector<size_t> lengths;
    // 1 2 3 came before, followed by 4; 3 alone was followed by 5.
    const std::vector<TokenId> history = {1, 2, 3, 4, 0, 3, 5, 1, 2, 3};
    const DryParams params{.multiplier = 0.5F, .base = 2.0F, .allowed_length = 1};
    PenalizeRepeats(logits, history, params, {}, lengths);
    const std::vector<float> expected = {0, 0, 0, 0, -2.0F, -0.5F};
    Expect(logits == expected, "logits");
  });
  Test("the tokens of images are neither penalised nor continued", [] {
    TokenCounts counts;
    counts.AddPrompt(std::vector<TokenId>{-7, 1, -2'147'483'647});
    std::vector<float> logits = {4, 4};
    Penalize(logits, counts, {.repetition = 2.0F});
    Expect(logits == std::vector<float>{4, 2}, "logits after a penalty");
    std::vector<size_t> lengths;
    const std::vector<TokenId> history = {1, 0, -5, -6, 1, 0};
    PenalizeRepeats(logits, history, {.multiplier = 0.5F, .base = 2.0F, .allowed_length = 1}, {}, lengths);
    Expect(logits == std::vector<float>{4, 2}, "logits after DRY");
  });
  Test("DRY counts no repetition over a breaker, and lowers no breaker", [] {
    std::vector<size_t> lengths;
    const std::vector<TokenId> history = {1, 2, 3, 4, 0, 1, 2, 3};
    const DryParams params{.multiplier = 0.5F, .base = 2.0F, .allowed_length = 1};
    for (const auto& [breaker, expected] : std::vector<std::pair<std::vector<TokenId>, float>>{
             {{2}, -0.5F}, {{1, 2}, -0.5F}, {{3}, 0.0F}, {{4}, 0.0F}, {{1}, -1.0F}, {{5}, -2.0F}}) {
      DryBreakers breakers;
      breakers.Add(breaker);
      std::vector<float> logits(6, 0.0F);
      PenalizeRepeats(logits, history, params, breakers, lengths);
      ExpectNear(logits[4], expected, 1e-6, "the logit with breaker " + Text(breaker));
    }
  });
  Test("DRY looks back as far as it is told", [] {
    std::vector<size_t> lengths;
    const std::vector<TokenId> history = {1, 2, 3, 0, 0, 1, 2};
    for (const auto& [last_n, expected] :
         std::vector<std::pair<int32_t, float>>{{-1, -1.0F}, {7, -1.0F}, {6, -1.0F}, {5, 0.0F}, {2, 0.0F}}) {
      std::vector<float> logits(4, 0.0F);
      PenalizeRepeats(logits, history, {.multiplier = 1.0F, .allowed_length = 1, .last_n = last_n}, {}, lengths);
      if (last_n == 6) continue;  // 2 alone repeats: another length
      Expect((logits[3] < 0) == (expected < 0), std::to_string(last_n));
    }
  });
}

}  // namespace aana::test
