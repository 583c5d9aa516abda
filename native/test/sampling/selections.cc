// Candidates and truncation against values computed by hand.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "../check.h"
#include "core/llama/sampling/candidates.h"
#include "core/llama/sampling/stages/truncation.h"
#include "helpers.h"
#include "tests.h"

namespace aana::test {

using namespace aana::llama;

void TestSelections() {
  Test("the largest logit is found wherever it stands, the first of equals", [] {
    for (const size_t n : {1U, 15U, 16U, 17U, 1023U, 1024U, 1025U, 5000U}) {
      for (size_t at = 0; at < n; at += at < 40 ? 1 : 97) {
        std::vector<float> logits(n, -3.0F);
        logits[at] = logits.back() = 2.5F;
        const auto largest = FindLargest(logits);
        Expect(largest.token == static_cast<TokenId>(at) && largest.logit == 2.5F,
               std::to_string(at) + " of " + std::to_string(n));
      }
    }
  });
  Test("a logit that is not a number is an error wherever it stands, and so is infinity", [] {
    for (const size_t n : {1U, 16U, 40U, 1500U}) {
      for (size_t at = 0; at < n; at += 13) {
        std::vector<float> logits(n, 1.0F);
        logits[at] = std::nanf("");
        Expect(FailureOf(logits, {}, {}) == "deployment: the model computed a logit that is not a number",
               "NaN at " + std::to_string(at));
        logits[at] = kInfinity;
        Expect(FailureOf(logits, {}, {}) == "deployment: the model computed an infinite logit",
               "infinity at " + std::to_string(at));
      }
    }
  });
  Test("the top k are found without the others, sorted, equals by their number", [] {
    Candidates candidates;
    SelectTop(std::vector<float>{1, 5, -kInfinity, 5, 3, 4}, 3, candidates);
    ExpectTokens(candidates, {1, 3, 5});
    SelectTop(std::vector<float>{1, 5, -kInfinity, 5, 3, 4}, 100, candidates);
    ExpectTokens(candidates, {1, 3, 5, 4, 0});
    std::vector<float> rising(4000);
    for (size_t i = 0; i < rising.size(); i++) rising[i] = static_cast<float>(i / 2);
    SelectTop(rising, 3, candidates);
    ExpectTokens(candidates, {3998, 3999, 3996});
  });
  Test("top-p keeps the fewest that reach it, over the vocabulary and over candidates", [] {
    const std::vector<double> p = {0.1, 0.4, 0.2, 0.3};
    Candidates candidates;
    SelectTopP(LogitsOf(p), FindLargest(LogitsOf(p)), 0.65F, candidates);
    ExpectTokens(candidates, {1, 3});
    candidates = AllOf(p);
    TopP(candidates, 0.75F);
    ExpectTokens(candidates, {1, 3, 2});
    TopP(candidates, 0.01F);
    ExpectTokens(candidates, {1});
  });
  Test("top-p finds its tokens also when they are most of a large vocabulary", [] {
    const std::vector<float> flat(5000, 0.0F);
    Candidates candidates;
    SelectTopP(flat, FindLargest(flat), 0.5F, candidates);
    Expect(candidates.items.size() >= 2500 && candidates.items.size() <= 2501, std::to_string(candidates.items.size()));
    Expect(std::ranges::all_of(candidates.items, [](const Candidate& item) { return item.token <= 2500; }),
           "the first half");
  });
  Test("min-p keeps what is likely enough beside the likeliest", [] {
    const std::vector<double> p = {0.05, 0.5, 0.2, 0.25};
    Candidates candidates;
    SelectMinP(LogitsOf(p), FindLargest(LogitsOf(p)), 0.3F, candidates);
    ExpectTokens(candidates, {1, 2, 3});
    MinP(candidates, 0.45F);
    ExpectTokens(candidates, {1, 3});
  });
  Test("typical keeps the tokens whose surprise is closest to the expected one", [] {
    // The entropy is 1.15 nats; the surprises are 0.69, 1.39, 1.51, 3.91 and 4.61.
    const std::vector<double> p = {0.5, 0.25, 0.22, 0.02, 0.01};
    auto candidates = AllOf(p);
    Typical(candidates, 0.2F);
    ExpectTokens(candidates, {1});
    candidates = AllOf(p);
    Typical(candidates, 0.4F);
    ExpectTokens(candidates, {1, 2});
    candidates = AllOf(p);
    Typical(candidates, 0.5F);
    ExpectTokens(candidates, {1, 2, 0});
  });
  Test("XTC leaves the unlikeliest of the likely tokens and all below", [] {
    auto candidates = AllOf({0.05, 0.4, 0.3, 0.2, 0.05});
    ExcludeTopChoices(candidates, 0.1F);
    ExpectTokens(candidates, {0, 3, 4});
    candidates = AllOf({0.05, 0.9, 0.05});
    ExcludeTopChoices(candidates, 0.1F);
    ExpectTokens(candidates, {0, 1, 2});
  });
  Test("the softmax has the temperature, also a tiny one", [] {
    auto candidates = AllOf({0.2, 0.8});
    Softmax(candidates, 0.5F);
    ExpectNear(candidates.items[0].p, 0.04 / 0.68, 1e-6, "p of the square");
    Softmax(candidates, 1e-39F);
    Expect(candidates.items[0].p == 0.0F && candidates.items[1].p == 1.0F, "all for the likeliest");
  });
}

}  // namespace aana::test
