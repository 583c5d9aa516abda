// Our stages and llama.cpp's samplers over the same random logits: the same tokens with the same probabilities, and the
// same draws from the same seed.
#include <llama.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "../check.h"
#include "core/llama/sampling/candidates.h"
#include "core/llama/sampling/stages/dry.h"
#include "core/llama/sampling/stages/penalties.h"
#include "core/llama/sampling/sampler.h"
#include "core/llama/sampling/stages/truncation.h"
#include "tests.h"
#include "upstream.h"

// The library exports it for upstream's tests; no header declares it.
extern llama_sampler* llama_sampler_init_dry_testing(float multiplier, float base, int32_t allowed_length,
                                                     int32_t last_n,
                                                     const std::vector<std::vector<llama_token>>& breakers);

namespace aana::test {
namespace {

using namespace aana::llama;

constexpr size_t kVocabulary = 4000;
constexpr int kRounds = 40;

// Logits as a language model gives them: some are far above the rest, no two are equal.
std::vector<float> RandomLogits(std::mt19937& generator, size_t n_vocab = kVocabulary) {
  std::normal_distribution<float> normal(0.0F, 2.5F);
  std::vector<float> logits(n_vocab);
  for (auto& logit : logits) logit = normal(generator);
  for (int i = 0; i < 12; i++) logits[generator() % n_vocab] += 6.0F + normal(generator);
  return logits;
}

// One stage over the vocabulary and over the 50 likeliest tokens. `sums`: it adds probabilities up.
void TestStage(const std::string& title, bool sums, const std::function<llama_sampler*()>& make,
               const std::function<void(std::span<const float>, Candidates&)>& first,
               const std::function<void(Candidates&)>& later) {
  Test(title, [&] {
    std::mt19937 generator(11);
    for (int round = 0; round < kRounds; round++) {
      const auto logits = RandomLogits(generator);
      Candidates candidates;
      const Upstream sampler(make());
      first(logits, candidates);
      const auto theirs = Apply({sampler.get()}, logits);
      if (!sums) Expect(candidates.items.size() == theirs.size(), "the number of tokens");
      ExpectSame(ProbabilitiesOf(candidates), theirs);
      if (!later) continue;
      const Upstream again(make());
      const Upstream top_k(llama_sampler_init_top_k(50));
      SelectTop(logits, 50, candidates);
      later(candidates);
      ExpectSame(ProbabilitiesOf(candidates), Apply({top_k.get(), again.get()}, logits));
    }
  });
}

void TestTruncation() {
  for (const int32_t k : {1, 2, 40, 128, 129, 1000}) {
    TestStage(
        "top_k " + std::to_string(k) + " keeps what llama.cpp keeps", false,
        [=] { return llama_sampler_init_top_k(k); },
        [=](auto logits, auto& candidates) { SelectTop(logits, static_cast<size_t>(k), candidates); }, nullptr);
  }
  for (const float p : {0.1F, 0.5F, 0.9F, 0.95F, 0.999F}) {
    const auto text = std::to_string(p);
    TestStage(
        "top_p " + text + " keeps what llama.cpp keeps", true, [=] { return llama_sampler_init_top_p(p, 1); },
        [=](auto logits, auto& candidates) { SelectTopP(logits, FindLargest(logits), p, candidates); },
        [=](auto& candidates) { TopP(candidates, p); });
    TestStage(
        "typical_p " + text + " keeps what llama.cpp keeps", true, [=] { return llama_sampler_init_typical(p, 1); },
        [=](auto logits, auto& candidates) {
          SelectAll(logits, candidates);
          Typical(candidates, p);
        },
        [=](auto& candidates) { Typical(candidates, p); });
  }
  for (const float p : {0.01F, 0.05F, 0.5F, 1.0F}) {
    TestStage(
        "min_p " + std::to_string(p) + " keeps what llama.cpp keeps", false,
        [=] { return llama_sampler_init_min_p(p, 1); },
        [=](auto logits, auto& candidates) { SelectMinP(logits, FindLargest(logits), p, candidates); },
        [=](auto& candidates) { MinP(candidates, p); });
  }
  for (const float threshold : {0.02F, 0.1F, 0.4F}) {
    TestStage(
        "XTC at " + std::to_string(threshold) + " keeps what llama.cpp keeps", false,
        [=] { return llama_sampler_init_xtc(1.0F, threshold, 1, 3); },
        [=](auto logits, auto& candidates) {
          SelectAll(logits, candidates);
          ExcludeTopChoices(candidates, threshold);
        },
        [=](auto& candidates) { ExcludeTopChoices(candidates, threshold); });
  }
  Test("the temperature gives the probabilities of llama.cpp", [] {
    std::mt19937 generator(12);
    for (const float temperature : {0.1F, 0.8F, 1.0F, 1.7F, 5.0F}) {
      const auto logits = RandomLogits(generator);
      Candidates candidates;
      SelectTop(logits, 100, candidates);
      Softmax(candidates, temperature);
      Probabilities ours;
      for (const auto& item : candidates.items) ours[item.token] = item.p;
      const Upstream top_k(llama_sampler_init_top_k(100));
      const Upstream temp(llama_sampler_init_temp(temperature));
      ExpectSame(ours, Apply({top_k.get(), temp.get()}, logits));
    }
  });
}

void ExpectSameLogits(std::span<const float> ours, std::span<const llama_token_data> theirs) {
  for (const auto& item : theirs) {
    const auto logit = static_cast<double>(item.logit);
    ExpectNear(ours[static_cast<size_t>(item.id)], logit, 1e-5 * std::max(1.0, std::fabs(logit)),
               "logit of token " + std::to_string(item.id));
  }
}

std::vector<llama_token_data> ApplyToAll(llama_sampler* sampler, std::span<const float> logits) {
  auto data = ToUpstream(logits);
  llama_token_data_array array{data.data(), data.size(), -1, false};
  llama_sampler_apply(sampler, &array);
  return data;
}

void TestAdjustments() {
  Test("penalties give the logits of llama.cpp over all tokens of a completion", [] {
    std::mt19937 generator(13);
    const PenaltyParams params{.repetition = 1.3F, .presence = 0.4F, .frequency = 0.2F};
    const Upstream sampler(
        llama_sampler_init_penalties(kVocabulary, 100'000, params.repetition, params.frequency, params.presence));
    TokenCounts counts;
    for (int round = 0; round < kRounds; round++) {
      for (int i = 0; i < 20; i++) {
        const auto token = static_cast<TokenId>(generator() % 300);
        counts.AddGenerated(token);
        llama_sampler_accept(sampler.get(), token);
      }
      auto logits = RandomLogits(generator);
      const auto theirs = ApplyToAll(sampler.get(), logits);
      Penalize(logits, counts, params);
      ExpectSameLogits(logits, theirs);
    }
  });
  Test("DRY gives the logits of llama.cpp, with breakers of one and of more tokens", [] {
    std::mt19937 generator(14);
    for (int round = 0; round < 10 * kRounds; round++) {
      const auto n_tokens = static_cast<TokenId>(2 + generator() % 5);  // few, so that there are many repetitions
      const size_t length = generator() % 120;
      const DryParams params{.multiplier = 0.8F,
                             .base = round % 7 == 0 ? 1.0F : 1.75F,
                             .allowed_length = static_cast<int32_t>(1 + generator() % 4),
                             .last_n = static_cast<int32_t>(1 + generator() % 140)};
      std::vector<std::vector<TokenId>> sequences = {{0}};
      if (round % 2 == 0) sequences.push_back({1, 2});
      if (round % 3 == 0) sequences.push_back({1, 2, 1});
      if (round % 5 == 0) sequences = {{static_cast<TokenId>(kVocabulary - 1)}};  // one that does not come
      DryBreakers breakers;
      for (const auto& sequence : sequences) breakers.Add(sequence);
      const Upstream sampler(llama_sampler_init_dry_testing(params.multiplier, params.base, params.allowed_length,
                                                            params.last_n, sequences));
      std::vector<TokenId> history;
      for (size_t i = 0; i < length; i++) {
        history.push_back(static_cast<TokenId>(generator()) % n_tokens);
        if (history.back() < 0) history.back() = 0;
        llama_sampler_accept(sampler.get(), history.back());
      }
      auto logits = RandomLogits(generator, kVocabulary);
      const auto theirs = ApplyToAll(sampler.get(), logits);
      std::vector<size_t> lengths;
      PenalizeRepeats(logits, history, params, breakers, lengths);
      ExpectSameLogits(logits, theirs);
    }
  });
}

// Both choose tokens over the same logits, from the same seed.
void TestChain(const std::string& title, const SamplingParams& params,
               const std::function<void(llama_sampler* chain)>& fill) {
  Test(title, [&] {
    std::mt19937 generator(15);
    const Upstream chain(llama_sampler_chain_init(llama_sampler_chain_default_params()));
    fill(chain.get());
    SamplingMemory memory;
    Sampler sampler(params, {}, {});
    std::vector<TokenId> history;
    int n_different = 0;
    constexpr int kTokens = 300;
    for (int i = 0; i < kTokens; i++) {
      auto logits = RandomLogits(generator);
      auto data = ToUpstream(logits);
      llama_token_data_array array{data.data(), data.size(), -1, false};
      llama_sampler_apply(chain.get(), &array);
      const auto theirs = array.data[array.selected].id;
      n_different += sampler.Sample(logits, history, memory) == theirs ? 0 : 1;
      // Both go on from the same text.
      history.push_back(theirs);
      llama_sampler_accept(chain.get(), theirs);
    }
    // The last bit of a sum may decide a draw.
    Expect(n_different <= 1, std::to_string(n_different) + " of " + std::to_string(kTokens) + " tokens are different");
  });
}

SamplingParams Params(uint32_t seed) {
  SamplingParams params;
  params.seed = seed;
  return params;
}

void TestChains() {
  auto params = Params(1);
  params.temperature = 0.0F;
  TestChain("greedy takes llama.cpp's token", params,
            [](llama_sampler* chain) { llama_sampler_chain_add(chain, llama_sampler_init_greedy()); });

  params = Params(7);
  params.temperature = 0.8F;
  TestChain("a draw from all takes llama.cpp's token", params, [](llama_sampler* chain) {
    llama_sampler_chain_add(chain, llama_sampler_init_temp(0.8F));
    llama_sampler_chain_add(chain, llama_sampler_init_dist(7));
  });

  params.top_k = 40;
  params.top_p = 0.95F;
  params.min_p = 0.02F;
  TestChain("top_k, top_p, min_p and temperature together draw llama.cpp's token", params, [](llama_sampler* chain) {
    llama_sampler_chain_add(chain, llama_sampler_init_top_k(40));
    llama_sampler_chain_add(chain, llama_sampler_init_top_p(0.95F, 1));
    llama_sampler_chain_add(chain, llama_sampler_init_min_p(0.02F, 1));
    llama_sampler_chain_add(chain, llama_sampler_init_temp(0.8F));
    llama_sampler_chain_add(chain, llama_sampler_init_dist(7));
  });

  params = Params(8);
  params.typical_p = 0.7F;
  params.top_p = 0.9F;
  TestChain("typical_p and top_p together draw llama.cpp's token", params, [](llama_sampler* chain) {
    llama_sampler_chain_add(chain, llama_sampler_init_typical(0.7F, 1));
    llama_sampler_chain_add(chain, llama_sampler_init_top_p(0.9F, 1));
    llama_sampler_chain_add(chain, llama_sampler_init_temp(1.0F));
    llama_sampler_chain_add(chain, llama_sampler_init_dist(8));
  });

  params = Params(9);
  params.logit_bias = {{3, 4.0F}, {17, -100.0F}};
  params.min_p = 0.1F;
  TestChain("logit_bias and min_p draw llama.cpp's token", params, [](llama_sampler* chain) {
    const std::vector<llama_logit_bias> biases = {{3, 4.0F}, {17, -100.0F}};
    llama_sampler_chain_add(chain, llama_sampler_init_logit_bias(kVocabulary, 2, biases.data()));
    llama_sampler_chain_add(chain, llama_sampler_init_min_p(0.1F, 1));
    llama_sampler_chain_add(chain, llama_sampler_init_temp(1.0F));
    llama_sampler_chain_add(chain, llama_sampler_init_dist(9));
  });
}

void TestMirostat() {
  for (const int version : {1, 2}) {
    Test("mirostat " + std::to_string(version) + " keeps what llama.cpp keeps, and learns the same", [=] {
      std::mt19937 generator(16);
      Mirostats mirostats({.version = version, .tau = 4.0F, .eta = 0.1F}, kVocabulary, 0.9F);
      for (int i = 0; i < 300; i++) {
        auto logits = RandomLogits(generator);
        // Version 1 expects probabilities that fall as a power of the rank; upstream's number of tokens overflows with
        // others.
        for (size_t token = 0; token < logits.size(); token++)
          logits[token] = 0.02F * logits[token] - 1.3F * std::log(static_cast<float>(token + 1));
        mirostats.Select(logits);
      }
    });
  }
}

}  // namespace

void TestAgainstUpstream() {
  TestTruncation();
  TestAdjustments();
  TestChains();
  TestMirostat();
}

}  // namespace aana::test
