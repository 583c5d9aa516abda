// Our sampler and llama.cpp's over logits that a real model gave: the same distributions, from stage to stage and at
// the end.
#include <llama.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "../check.h"
#include "core/llama/sampling/candidates.h"
#include "core/llama/sampling/stages/penalties.h"
#include "core/llama/sampling/sampler.h"
#include "core/llama/sampling/stages/truncation.h"
#include "recorded_logits.h"
#include "tests.h"
#include "upstream.h"

namespace aana::test {
namespace {

using namespace aana::llama;

// Draws for a distribution.
constexpr int kDraws = 20'000;

std::vector<std::vector<float>> Recorded() {
  std::vector<std::vector<float>> rows;
  for (const auto& row : kRecordedLogits) {
    auto& logits = rows.emplace_back();
    for (const auto value : row) logits.push_back(static_cast<float>(value) * kRecordedStep);
  }
  return rows;
}

// Tokens of a row, the likeliest first.
std::vector<TokenId> Likeliest(std::span<const float> logits, size_t n) {
  Candidates candidates;
  SelectTop(logits, n, candidates);
  std::ranges::sort(candidates.items, std::ranges::greater(), &Candidate::logit);
  std::vector<TokenId> tokens;
  for (const auto& item : candidates.items) tokens.push_back(item.token);
  return tokens;
}

using Stage = std::function<void(Candidates&)>;

// Expects the very same tokens, and their probabilities within the tolerance.
void ExpectExactly(const Probabilities& ours, const Probabilities& theirs) {
  Expect(ours.size() == theirs.size(),
         std::to_string(ours.size()) + " tokens, upstream " + std::to_string(theirs.size()));
  for (const auto& [token, p] : theirs) Expect(ours.contains(token), "token " + std::to_string(token) + " is missing");
  ExpectSame(ours, theirs);
}

void TestStages(const std::string& title, const std::vector<Stage>& stages,
                const std::vector<std::function<llama_sampler*()>>& make) {
  Test("recorded logits: " + title, [&] {
    for (const auto& logits : Recorded()) {
      Candidates candidates;
      SelectAll(logits, candidates);
      for (const auto& stage : stages) stage(candidates);
      std::vector<Upstream> samplers;
      std::vector<llama_sampler*> chain;
      for (const auto& one : make) chain.push_back(samplers.emplace_back(one()).get());
      ExpectExactly(ProbabilitiesOf(candidates), Apply(chain, logits));
    }
  });
}

void TestTruncations() {
  for (const int32_t k : {1, 5, 40, 200}) {
    Test("recorded logits: top_k " + std::to_string(k), [=] {
      for (const auto& logits : Recorded()) {
        Candidates candidates;
        SelectTop(logits, static_cast<size_t>(k), candidates);
        const Upstream sampler(llama_sampler_init_top_k(k));
        ExpectExactly(ProbabilitiesOf(candidates), Apply({sampler.get()}, logits));
      }
    });
  }
  for (const float p : {0.1F, 0.5F, 0.8F, 0.95F, 0.99F}) {
    const auto text = std::to_string(p);
    TestStages("top_p " + text, {[=](Candidates& of) { TopP(of, p); }},
               {[=] { return llama_sampler_init_top_p(p, 1); }});
    TestStages("typical_p " + text, {[=](Candidates& of) { Typical(of, p); }},
               {[=] { return llama_sampler_init_typical(p, 1); }});
  }
  for (const float p : {0.01F, 0.05F, 0.3F}) {
    TestStages("min_p " + std::to_string(p), {[=](Candidates& of) { MinP(of, p); }},
               {[=] { return llama_sampler_init_min_p(p, 1); }});
    TestStages("XTC at " + std::to_string(p), {[=](Candidates& of) { ExcludeTopChoices(of, p); }},
               {[=] { return llama_sampler_init_xtc(1.0F, p, 1, 3); }});
  }
  TestStages("typical_p, top_p and min_p one behind the other",
             {[](Candidates& of) { Typical(of, 0.9F); }, [](Candidates& of) { TopP(of, 0.9F); },
              [](Candidates& of) { MinP(of, 0.02F); }},
             {[] { return llama_sampler_init_typical(0.9F, 1); }, [] { return llama_sampler_init_top_p(0.9F, 1); },
              [] { return llama_sampler_init_min_p(0.02F, 1); }});
}

void TestTemperatures() {
  for (const float temperature : {0.2F, 0.7F, 1.0F, 1.5F}) {
    Test("recorded logits: temperature " + std::to_string(temperature), [=] {
      for (const auto& logits : Recorded()) {
        Candidates candidates;
        SelectAll(logits, candidates);
        Softmax(candidates, temperature);
        Probabilities ours;
        for (const auto& item : candidates.items) ours[item.token] = item.p;
        const Upstream sampler(llama_sampler_init_temp(temperature));
        ExpectExactly(ours, Apply({sampler.get()}, logits));
      }
    });
  }
}

void TestPenaltiesOfText() {
  Test("recorded logits: penalties of tokens that came", [] {
    const PenaltyParams params{.repetition = 1.2F, .presence = 0.5F, .frequency = 0.3F};
    for (auto logits : Recorded()) {
      const auto n_vocab = static_cast<int32_t>(logits.size());
      const Upstream sampler(
          llama_sampler_init_penalties(n_vocab, 1000, params.repetition, params.frequency, params.presence));
      TokenCounts counts;
      for (const auto token : Likeliest(logits, 30)) {
        for (int times = 0; times <= token % 3; times++) {
          counts.AddGenerated(token);
          llama_sampler_accept(sampler.get(), token);
        }
      }
      const auto theirs = Apply({sampler.get()}, logits);
      Penalize(logits, counts, params);
      Candidates candidates;
      SelectAll(logits, candidates);
      ExpectExactly(ProbabilitiesOf(candidates), theirs);
    }
  });
}

void TestMirostats() {
  for (const int version : {1, 2}) {
    Test("recorded logits: mirostat " + std::to_string(version) + " over ten tokens", [=] {
      for (const auto& logits : Recorded()) {
        Mirostats mirostats({.version = version, .tau = 3.0F, .eta = 0.2F}, static_cast<int32_t>(logits.size()), 0.8F);
        for (int i = 0; i < 10; i++) mirostats.Select(logits);
      }
    });
  }
}

// Expects that our draws have upstream's distribution: chi-square over tokens that are expected five times or more, the
// rest together. The bound is passed by a right sampler in one of a million seeds, and the seed is fixed.
void ExpectDraws(std::span<const float> logits, SamplingParams params, const Probabilities& expected) {
  SamplingMemory memory;
  params.seed = 5;
  Sampler sampler(params, {}, {});
  std::vector<int> n_drawn(logits.size());
  const std::vector<TokenId> no_history;
  for (int i = 0; i < kDraws; i++) {
    std::vector<float> copy(logits.begin(), logits.end());
    n_drawn[static_cast<size_t>(sampler.Sample(copy, no_history, memory))]++;
  }
  double chi = 0.0;
  double n_classes = 0.0;
  double rest_expected = 0.0;
  double rest_drawn = 0.0;
  const auto add = [&](double wanted, double drawn) {
    chi += (drawn - wanted) * (drawn - wanted) / wanted;
    n_classes++;
  };
  for (size_t token = 0; token < n_drawn.size(); token++) {
    const auto found = expected.find(static_cast<TokenId>(token));
    const double wanted = found == expected.end() ? 0.0 : found->second * kDraws;
    Expect(wanted > 0.0 || n_drawn[token] == 0,
           "token " + std::to_string(token) + " was drawn, which upstream would not");
    if (wanted >= 5.0) {
      add(wanted, n_drawn[token]);
    } else {
      rest_expected += wanted;
      rest_drawn += n_drawn[token];
    }
  }
  if (rest_expected >= 5.0) add(rest_expected, rest_drawn);
  const double freedom = std::max(1.0, n_classes - 1.0);
  Expect(chi < freedom + 5.0 * std::sqrt(2.0 * freedom) + 15.0,
         "chi-square " + std::to_string(chi) + " of " + std::to_string(freedom));
}

void TestDraws() {
  using Make = std::function<llama_sampler*()>;
  const auto test = [](const std::string& title, const SamplingParams& params, const std::vector<Make>& make) {
    Test("recorded logits: draws with " + title, [&] {
      for (const auto& logits : Recorded()) {
        std::vector<Upstream> samplers;
        std::vector<llama_sampler*> chain;
        for (const auto& one : make) chain.push_back(samplers.emplace_back(one()).get());
        ExpectDraws(logits, params, Apply(chain, logits));
      }
    });
  };
  SamplingParams params;
  params.temperature = 0.8F;
  test("a temperature", params, {[] { return llama_sampler_init_temp(0.8F); }});
  params.top_k = 40;
  params.top_p = 0.9F;
  params.min_p = 0.02F;
  test("top_k, top_p, min_p and a temperature", params,
       {[] { return llama_sampler_init_top_k(40); }, [] { return llama_sampler_init_top_p(0.9F, 1); },
        [] { return llama_sampler_init_min_p(0.02F, 1); }, [] { return llama_sampler_init_temp(0.8F); }});
  SamplingParams biased;
  biased.temperature = 1.2F;
  biased.typical_p = 0.8F;
  // With -100 the probability underflows to 0, and then upstream's typical_p computes with numbers that are none.
  biased.logit_bias = {{3, 4.0F}, {17, -20.0F}};
  static const std::vector<llama_logit_bias> kBiases = {{3, 4.0F}, {17, -20.0F}};
  test(
      "logit_bias, typical_p and a temperature", biased,
      {[] { return llama_sampler_init_logit_bias(static_cast<int32_t>(kRecordedLogits[0].size()), 2, kBiases.data()); },
       [] { return llama_sampler_init_typical(0.8F, 1); }, [] { return llama_sampler_init_temp(1.2F); }});
  Test("recorded logits: draws with XTC, which some of them have", [] {
    SamplingParams xtc;
    xtc.temperature = 1.0F;
    xtc.xtc = {.probability = 0.4F, .threshold = 0.1F};
    for (const auto& logits : Recorded()) {
      const Upstream sampler(llama_sampler_init_xtc(1.0F, 0.1F, 1, 3));
      Probabilities expected;
      for (const auto& [token, p] : Apply({sampler.get()}, logits)) expected[token] += 0.4 * p;
      for (const auto& [token, p] : Apply({}, logits)) expected[token] += 0.6 * p;
      ExpectDraws(logits, xtc, expected);
    }
  });
}

}  // namespace

void TestRecorded() {
  TestTruncations();
  TestTemperatures();
  TestPenaltiesOfText();
  TestMirostats();
  TestDraws();
}

}  // namespace aana::test
