// Whole samplers: rules, errors, draws and log-probabilities.
#include <cmath>
#include <string>
#include <vector>

#include "../check.h"
#include "core/llama/sampling/logprobs.h"
#include "core/llama/sampling/random.h"
#include "core/llama/sampling/sampler.h"
#include "helpers.h"
#include "tests.h"

namespace aana::test {

using namespace aana::llama;

void TestSampler() {
  Test("greedy takes the likeliest after bias and penalties", [] {
    SamplingParams params;
    Expect(Greedy({1, 3, 2}, params) == 1, "plain");
    params.logit_bias = {{2, 1.5F}};
    Expect(Greedy({1, 3, 2}, params) == 2, "with a bias");
    params.logit_bias = {{0, 100.0F}};
    Expect(Greedy({1, 3, 2}, params) == 0, "forced");
    params.logit_bias = {{1, -100.0F}};
    Expect(Greedy({1, 3, 2}, params) == 2, "banned");
  });
  Test("a bad sequence is not completed, its tokens may come alone", [] {
    const std::vector<TokenId> prompt = {7};
    TokenRules rules{.never = {}, .ends = {}, .bad_sequences = {{1, 2}, {3}}, .dry_breakers = nullptr};
    SamplingParams params;
    params.temperature = 0.0F;
    SamplingMemory memory;
    Sampler sampler(params, rules, prompt);
    std::vector<TokenId> history = prompt;
    const std::vector<float> fresh = {0, 1, 2, 3};
    for (const TokenId expected : {2, 2}) {
      auto logits = fresh;
      history.push_back(sampler.Sample(logits, history, memory));
      Expect(history.back() == expected, "token " + std::to_string(history.back()));
    }
    history.push_back(1);
    auto logits = fresh;
    Expect(sampler.Sample(logits, history, memory) == 1, "after 1, not 2");
  });
  Test("the completion does not end before min_tokens", [] {
    SamplingParams params;
    params.temperature = 0.0F;
    params.min_tokens = 2;
    SamplingMemory memory;
    Sampler sampler(params, {.never = {}, .ends = {2}, .bad_sequences = {}, .dry_breakers = nullptr}, {});
    std::vector<TokenId> history;
    for (int i = 0; i < 3; i++) {
      std::vector<float> logits = {0, 1, 2};
      history.push_back(sampler.Sample(logits, history, memory));
    }
    Expect(history == std::vector<TokenId>{1, 1, 2}, Text(history));
  });
  Test("no token left is the mistake of the request that forbids them, or of the model", [] {
    SamplingParams params;
    Expect(FailureOf({1, 2}, params, {.never = {0, 1}, .ends = {}, .bad_sequences = {}, .dry_breakers = nullptr}) ==
               "caller: bad_words, ignore_eos and min_tokens leave no token to choose",
           "forbidden");
    Expect(FailureOf({-kInfinity, -kInfinity}, params, {}) == "deployment: the model computed no token that can follow",
           "the model");
  });
  Test("a tiny temperature takes the likeliest token, and tokens without a chance never come", [] {
    for (const float temperature : {1e-39F, 1e-20F, 1e-3F}) {
      SamplingParams params;
      params.temperature = temperature;
      SamplingMemory memory;
      Sampler sampler(params, {}, {});
      for (int i = 0; i < 50; i++) {
        std::vector<float> logits = {-2, 30, 12, 29};
        Expect(sampler.Sample(logits, {}, memory) == 1, "temperature " + std::to_string(temperature));
      }
    }
    SamplingMemory memory;
    Sampler sampler({}, {}, {});
    for (int i = 0; i < 500; i++) {
      std::vector<float> logits = {-kInfinity, 0, -kInfinity, 0, -kInfinity};
      const auto token = sampler.Sample(logits, {}, memory);
      Expect(token == 1 || token == 3, std::to_string(token));
    }
  });
  Test("the frequencies of drawn tokens are their probabilities", [] {
    const std::vector<double> p = {0.1, 0.4, 0.2, 0.3};
    SamplingParams params;
    params.seed = 4294967295;
    SamplingMemory memory;
    Sampler sampler(params, {}, {});
    std::vector<int> counts(p.size());
    constexpr int kDraws = 200'000;
    for (int i = 0; i < kDraws; i++) {
      auto logits = LogitsOf(p);
      counts[static_cast<size_t>(sampler.Sample(logits, {}, memory))]++;
    }
    for (size_t i = 0; i < p.size(); i++)
      ExpectNear(static_cast<double>(counts[i]) / kDraws, p[i], 0.005, "token " + std::to_string(i));
  });
  Test("XTC is done as often as its probability says", [] {
    SamplingParams params;
    params.xtc = {.probability = 0.25F, .threshold = 0.1F};
    params.top_k = 2;
    SamplingMemory memory;
    Sampler sampler(params, {}, {});
    int n_second = 0;
    constexpr int kDraws = 20'000;
    for (int i = 0; i < kDraws; i++) {
      auto logits = LogitsOf({0.8, 0.19, 0.01});
      n_second += sampler.Sample(logits, {}, memory) == 1 ? 1 : 0;
    }
    ExpectNear(static_cast<double>(n_second) / kDraws, 0.25 + 0.75 * 0.19 / 0.99, 0.015, "the second token");
  });
  Test("mirostat holds the surprise near its target", [] {
    for (const int version : {1, 2}) {
      SamplingParams params;
      params.mirostat = {.version = version, .tau = 3.0F, .eta = 0.1F};
      SamplingMemory memory;
      Sampler sampler(params, {}, {});
      Random random(5);
      double sum = 0.0;
      constexpr int kTokens = 3000;
      for (int i = 0; i < kTokens; i++) {
        std::vector<float> logits(500);
        for (auto& logit : logits) logit = static_cast<float>(4.0 * random.Next());
        const auto raw = logits;
        const auto token = sampler.Sample(logits, {}, memory);
        sum -= FindLogprobs(raw, token, 0, memory.candidates).chosen.logprob;
      }
      // Surprise counts among the kept candidates, so over the whole vocabulary it is larger; what is held stays far
      // below the 8.2 bits of a draw from all.
      const double bits = sum / kTokens / std::log(2.0);
      Expect(bits > 2.0 && bits < 7.5, "version " + std::to_string(version) + ": " + std::to_string(bits) + " bits");
    }
  });
  Test("log-probabilities are of the raw logits, the likeliest first", [] {
    const auto logits = LogitsOf({0.1, 0.4, 0.2, 0.3});
    Candidates candidates;
    const auto logprobs = FindLogprobs(logits, 0, 2, candidates);
    ExpectNear(logprobs.chosen.logprob, std::log(0.1), 1e-6, "the chosen token's");
    Expect(logprobs.top.size() == 2 && logprobs.top[0].token == 1 && logprobs.top[1].token == 3, "the top tokens");
    ExpectNear(logprobs.top[1].logprob, std::log(0.3), 1e-6, "the second's");
    Expect(FindLogprobs(logits, 0, 0, candidates).top.empty(), "no top tokens");
  });
  Test("random numbers are those of MT19937, two for each", [] {
    // The 10,000th number of a generator with the default seed 5489 is 4123659995: C++ standard, [rand.predef].
    Random random(5489);
    for (int i = 0; i < 4999; i++) random.Next();
    ExpectNear(random.Next(), 4123659995.0 / 4294967296.0, 1e-9, "number 5000");
  });
}

}  // namespace aana::test
