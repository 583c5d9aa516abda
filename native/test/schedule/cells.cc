#include <array>
#include <string>
#include <vector>

#include "../check.h"
#include "core/llama/schedule/cell_ledger.h"
#include "core/llama/loop/ubatches.h"
#include "tests.h"

namespace aana::test {
namespace {

using llama::CellLedger;
using llama::CountUbatches;
using llama::SequenceTokens;
using llama::UbatchRule;

void ExpectFree(const CellLedger& ledger, size_t n) {
  Expect(ledger.n_free() == n, std::to_string(ledger.n_free()) + " cells are free, not " + std::to_string(n));
}

void ExpectUbatches(const std::vector<SequenceTokens>& batch, UbatchRule rule, int32_t n) {
  const int32_t counted = CountUbatches(batch, 512, rule);
  Expect(counted == n, std::to_string(counted) + " passes, not " + std::to_string(n));
}

}  // namespace

void TestCells() {
  Test("cells in the middle of a slot become free, but for those that another slot shares", [] {
    CellLedger ledger(2, 100);
    ledger.Append(0, 30);
    ledger.Share(0, 1, 12);
    Expect(ledger.IsShared(0, 11) && !ledger.IsShared(0, 12) && !ledger.IsShared(0, 30), "other cells are shared");
    ledger.Remove(0, 10, 10);
    Expect(ledger.n_cells(0) == 20 && !ledger.IsShared(0, 10), "it has other cells");
    ExpectFree(ledger, 78);
    ledger.Truncate(1, 10);
    ExpectFree(ledger, 80);
    ledger.Truncate(0, 0);
    ledger.Truncate(1, 0);
    ExpectFree(ledger, 100);
  });
  Test("a cell is used until the last slot that shares it lets it go", [] {
    CellLedger ledger(3, 100);
    ledger.Append(0, 30);
    ledger.Share(0, 1, 20);
    ExpectFree(ledger, 70);
    ledger.Append(1, 5);
    ExpectFree(ledger, 65);
    ledger.Truncate(0, 10);
    ExpectFree(ledger, 75);
    ledger.Truncate(0, 0);
    ExpectFree(ledger, 75);
    ledger.Truncate(1, 0);
    ExpectFree(ledger, 100);
  });
  Test("only cells that no other slot shares become free", [] {
    CellLedger ledger(3, 100);
    ledger.Append(0, 30);
    ledger.Share(0, 1, 20);
    ledger.Share(0, 2, 10);
    Expect(ledger.Exclusive(std::array<size_t, 1>{0}) == 10, "slot 0 has 10 of its own");
    Expect(ledger.Exclusive(std::array<size_t, 2>{0, 1}) == 20, "slots 0 and 1 have 20 of their own");
    Expect(ledger.Exclusive(std::array<size_t, 3>{0, 1, 2}) == 30, "all slots have all");
  });
  Test("cells that are let go are used again", [] {
    CellLedger ledger(2, 8);
    for (int round = 0; round < 5; round++) {
      ledger.Append(0, 8);
      ExpectFree(ledger, 0);
      ledger.Truncate(0, 0);
    }
    ExpectFree(ledger, 8);
  });
  Test("sequences that share cells need one pass for each 512 tokens", [] {
    ExpectUbatches({{0, 1}, {4, 1}, {9, 300}}, UbatchRule::kTokens, 1);
    ExpectUbatches({{0, 512}}, UbatchRule::kTokens, 1);
    ExpectUbatches({{0, 512}, {1, 1}}, UbatchRule::kTokens, 2);
  });
  Test("sequences with cells of their own need a pass for each gap and each length", [] {
    ExpectUbatches({{0, 1}, {1, 1}, {2, 1}}, UbatchRule::kNeighbours, 1);
    ExpectUbatches({{0, 1}, {2, 1}, {3, 1}}, UbatchRule::kNeighbours, 2);
    ExpectUbatches({{0, 1}, {1, 200}, {2, 1}}, UbatchRule::kNeighbours, 2);
    ExpectUbatches({{0, 100}, {1, 200}}, UbatchRule::kNeighbours, 2);
    ExpectUbatches({{1, 1}, {0, 1}}, UbatchRule::kNeighbours, 2);
    ExpectUbatches({{0, 600}}, UbatchRule::kNeighbours, 2);
    ExpectUbatches({{0, 400}, {1, 400}}, UbatchRule::kNeighbours, 2);
  });
  Test("sequences of a hybrid model in one memory need a pass for each length", [] {
    ExpectUbatches({{0, 1}, {2, 1}, {3, 1}}, UbatchRule::kSequences, 1);
    ExpectUbatches({{0, 100}, {2, 200}}, UbatchRule::kSequences, 2);
  });
}

}  // namespace aana::test
