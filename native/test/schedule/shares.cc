#include <chrono>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "../check.h"
#include "core/fair_share.h"
#include "core/llama/loop/scheduler.h"
#include "core/llama/schedule/waiting_line.h"
#include "tests.h"

namespace aana::test {
namespace {

using llama::Sequence;
using llama::WaitingLine;

const auto kStart = std::chrono::steady_clock::now();

std::unique_ptr<Sequence> Waiting(int64_t id, const std::string& tenant, int32_t priority = 0,
                                  std::chrono::seconds arrived_after = {}) {
  auto sequence = std::make_unique<Sequence>(llama::ReadRequest{
      .id = id,
      .tokens = {1, 2},
      .sampling = {},
      .rules = {},
      .terms = {.tenant = tenant, .priority = priority, .deadline = std::nullopt},
      .arrived_at = kStart + arrived_after,
  });
  sequence->number = static_cast<uint64_t>(id);
  return sequence;
}

// Returns the order in which one place is given to the line, when each request costs as many tokens as `cost` says.
std::vector<int64_t> OrderOf(WaitingLine& line, FairShare& shares, const std::map<std::string, double>& weights,
                             int64_t cost = 10) {
  std::vector<int64_t> order;
  while (!line.empty()) {
    const auto next = line.TakeNext(shares);
    const auto& tenant = next->terms().tenant;
    shares.Begin(tenant);
    shares.Charge(tenant, weights.at(tenant), cost);
    shares.End(tenant);
    order.push_back(next->id());
  }
  return order;
}

void ExpectOrder(const std::vector<int64_t>& order, const std::vector<int64_t>& expected) {
  std::string text;
  for (const auto id : order) text += " " + std::to_string(id);
  Expect(order == expected, "the order is" + text);
}

}  // namespace

void TestShares() {
  Test("tenants take turns, whatever the number of their requests", [] {
    WaitingLine line;
    FairShare shares;
    for (int64_t id = 1; id <= 4; id++) line.Add(Waiting(id, "many"));
    line.Add(Waiting(5, "few"));
    line.Add(Waiting(6, "few"));
    ExpectOrder(OrderOf(line, shares, {{"many", 1}, {"few", 1}}), {1, 5, 2, 6, 3, 4});
  });
  Test("a tenant with three times the weight gets three times the tokens", [] {
    WaitingLine line;
    FairShare shares;
    for (int64_t id = 1; id <= 40; id++) line.Add(Waiting(id, id % 2 == 0 ? "heavy" : "light"));
    const auto order = OrderOf(line, shares, {{"heavy", 3}, {"light", 1}});
    int n_heavy = 0;
    for (size_t i = 0; i < 16; i++) n_heavy += order[i] % 2 == 0 ? 1 : 0;
    Expect(n_heavy >= 11 && n_heavy <= 13, std::to_string(n_heavy) + " of the first 16 are of the heavy tenant");
  });
  Test("a tenant gets no credit for the time when it had no requests", [] {
    WaitingLine line;
    FairShare shares;
    for (int64_t id = 1; id <= 20; id++) line.Add(Waiting(id, "steady"));
    OrderOf(line, shares, {{"steady", 1}});
    for (int64_t id = 21; id <= 24; id++) line.Add(Waiting(id, "new"));
    for (int64_t id = 31; id <= 34; id++) line.Add(Waiting(id, "steady"));
    const auto order = OrderOf(line, shares, {{"steady", 1}, {"new", 1}});
    int n_new = 0;
    for (size_t i = 0; i < 4; i++) n_new += order[i] < 30 ? 1 : 0;
    Expect(n_new <= 3, "the new tenant has all of the first places");
  });
  Test("a level of priority counts as five seconds of waiting", [] {
    WaitingLine line;
    FairShare shares;
    using std::chrono::seconds;
    line.Add(Waiting(1, "a", 0, seconds(0)));
    line.Add(Waiting(2, "a", 2, seconds(9)));            // as if it had come at −1 s
    line.Add(Waiting(3, "a", 2, seconds(12)));           // as if it had come at 2 s
    line.Add(Waiting(4, "a", 1'000'000, seconds(200)));  // as if it had come at 80 s
    line.Add(Waiting(5, "a", -1'000'000, seconds(0)));   // as if it had come at 120 s
    ExpectOrder(OrderOf(line, shares, {{"a", 1}}), {2, 1, 3, 4, 5});
  });
  Test("the least time of a prompt comes from the fastest step", [] {
    llama::Scheduler scheduler(256);
    using std::chrono::duration;
    Expect(scheduler.LeastTime(1000).count() == 0, "it is known before the first step");
    scheduler.NoteStep(100, duration<double>(2.0));
    scheduler.NoteStep(100, duration<double>(1.0));
    scheduler.NoteStep(100, duration<double>(4.0));
    scheduler.NoteStep(1, duration<double>(0.0001));  // says nothing about prompts
    ExpectNear(scheduler.LeastTime(1000).count(), 10.0, 1e-9, "the time of 1,000 tokens in seconds");
  });
  Test("a preempted sequence goes before the others of its tenant", [] {
    WaitingLine line;
    FairShare shares;
    shares.Begin("a");
    shares.Charge("a", 1, 1000);
    line.Add(Waiting(1, "b"));
    line.Add(Waiting(2, "a"));
    auto preempted = Waiting(3, "a");
    preempted->is_preempted = true;
    line.Add(std::move(preempted));
    ExpectOrder(OrderOf(line, shares, {{"a", 1}, {"b", 1}}), {1, 3, 2});
  });
  Test("many tenants that have gone are forgotten without a change of the order", [] {
    FairShare shares;
    for (int i = 0; i < 10'000; i++) {
      const auto tenant = std::to_string(i);
      shares.Begin(tenant);
      shares.Charge(tenant, 1, 5);
      shares.End(tenant);
    }
    Expect(shares.Rank("new") <= shares.Rank("9999"), "a new tenant goes before one that was served");
  });
}

}  // namespace aana::test
