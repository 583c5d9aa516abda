// Unit tests of the order in which an engine for embeddings takes texts.
#include "core/llama/embedding/fair_line.h"

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "../check.h"

namespace {

using aana::RequestTerms;
using aana::llama::FairLine;
using aana::test::Expect;
using aana::test::Test;

const FairLine::TimePoint kStart{};

FairLine::Id Next(const FairLine& line, FairLine::TimePoint now = kStart) {
  return line.Next(now, [](FairLine::Id) { return true; }).value_or(-1);
}

void Add(FairLine& line, FairLine::Id id, const std::string& tenant, int32_t priority = 0, double weight = 1,
         FairLine::TimePoint now = kStart) {
  line.Add(id, RequestTerms{.tenant = tenant, .priority = priority, .weight = weight, .deadline = std::nullopt}, now);
}

// Serves `n_turns` turns of `work` each. Returns the turns of each request.
std::map<FairLine::Id, int> Serve(FairLine& line, int n_turns, uint64_t work = 10) {
  std::map<FairLine::Id, int> turns;
  for (int i = 0; i < n_turns; i++) {
    const auto id = Next(line);
    turns[id]++;
    line.Charge(id, work, kStart);
  }
  return turns;
}

std::string Text(const std::map<FairLine::Id, int>& turns) {
  std::string text;
  for (const auto& [id, n] : turns) text += std::to_string(id) + ":" + std::to_string(n) + " ";
  return text;
}

void ExpectTurns(const std::map<FairLine::Id, int>& turns, const std::map<FairLine::Id, int>& expected) {
  Expect(turns == expected, Text(turns) + "instead of " + Text(expected));
}

void TestOrder() {
  Test("an empty line has no next request", [] {
    FairLine line;
    Expect(line.empty() && Next(line) == -1, "it has one");
    line.Remove(7);
    line.Charge(7, 1, kStart);
  });

  Test("requests of a tenant get equal shares of the work", [] {
    FairLine line;
    for (const FairLine::Id id : {1, 2, 3}) Add(line, id, "a");
    ExpectTurns(Serve(line, 30), {{1, 10}, {2, 10}, {3, 10}});
  });

  Test("tenants get equal shares, regardless of the number and priority of their requests", [] {
    FairLine line;
    for (const FairLine::Id id : {1, 2, 3}) Add(line, id, "a", 9);
    Add(line, 4, "b", -9);
    ExpectTurns(Serve(line, 30), {{1, 5}, {2, 5}, {3, 5}, {4, 15}});
  });

  Test("a share is counted in work, not in turns", [] {
    FairLine line;
    Add(line, 1, "a");
    Add(line, 2, "b");
    std::map<FairLine::Id, int> turns;
    for (int i = 0; i < 40; i++) {
      const auto id = Next(line);
      turns[id]++;
      line.Charge(id, id == 1 ? 30 : 10, kStart);
    }
    ExpectTurns(turns, {{1, 10}, {2, 30}});
  });

  Test("among a tenant's requests a higher priority goes first", [] {
    FairLine line;
    Add(line, 1, "a");
    Add(line, 2, "a", 1);
    ExpectTurns(Serve(line, 5), {{2, 5}});
    line.Remove(2);
    ExpectTurns(Serve(line, 5), {{1, 5}});
  });

  Test("a request that is not ready is passed over", [] {
    FairLine line;
    Add(line, 1, "a");
    Add(line, 2, "a");
    Expect(line.Next(kStart, [](FairLine::Id id) { return id != 1; }) == FairLine::Id{2}, "it is 1");
    Expect(!line.Next(kStart, [](FairLine::Id) { return false; }), "there is one");
  });
}

void TestNewcomers() {
  Test("a new request does not wait for a long one of its tenant", [] {
    FairLine line;
    Add(line, 1, "a");
    Serve(line, 100);
    Add(line, 2, "a");
    ExpectTurns(Serve(line, 2), {{1, 1}, {2, 1}});
  });

  Test("a long request goes on while short ones keep coming", [] {
    FairLine line;
    Add(line, 1, "a");
    int n_long = 0;
    for (FairLine::Id id = 2; id < 100; id++) {
      Add(line, id, "a");
      // Each short request needs one turn. It ends, and the next comes.
      for (FairLine::Id served = 1; served == 1;) {
        served = Next(line);
        n_long += served == 1;
        line.Charge(served, 10, kStart);
        if (served != 1) line.Remove(served);
      }
    }
    Expect(n_long >= 90, std::to_string(n_long) + " turns");
  });

  Test("time without requests earns a tenant no later work", [] {
    FairLine line;
    Add(line, 1, "a");
    Add(line, 2, "b");
    Serve(line, 10);
    line.Remove(2);
    Serve(line, 100);
    Add(line, 3, "b");
    ExpectTurns(Serve(line, 10), {{1, 5}, {3, 5}});
  });

  Test("a tenant that had more than its share keeps its debt over a pause", [] {
    FairLine line;
    Add(line, 1, "a");
    Add(line, 2, "b");
    line.Charge(1, 500, kStart);
    line.Remove(1);
    Add(line, 3, "a");
    ExpectTurns(Serve(line, 50), {{2, 50}});
    ExpectTurns(Serve(line, 10), {{2, 5}, {3, 5}});
  });
}

void TestWeights() {
  Test("a tenant with three times the weight gets three times the work", [] {
    FairLine line;
    Add(line, 1, "light");
    Add(line, 2, "heavy", 0, 3);
    Add(line, 3, "heavy", 0, 3);
    ExpectTurns(Serve(line, 40), {{1, 10}, {2, 15}, {3, 15}});
  });

  Test("a weight counts in work, not in turns", [] {
    FairLine line;
    Add(line, 1, "light");
    Add(line, 2, "heavy", 0, 3);
    std::map<FairLine::Id, uint64_t> work;
    for (int i = 0; i < 100; i++) {
      const auto id = Next(line);
      const uint64_t charged = id == 1 ? 10 : 90;
      work[id] += charged;
      line.Charge(id, charged, kStart);
    }
    const auto ratio = static_cast<double>(work[2]) / static_cast<double>(work[1]);
    Expect(ratio > 2.7 && ratio < 3.3, std::to_string(ratio));
  });
}

void TestAgeing() {
  using std::chrono::seconds;

  Test("a low priority gets a turn when it has waited 5 s for each level", [] {
    FairLine line;
    Add(line, 1, "a", 0);
    std::map<int, FairLine::Id> served;
    // Requests of a higher priority keep coming, one each second.
    for (int second = 0; second < 40; second++) {
      const auto now = kStart + seconds(second);
      Add(line, 100 + second, "a", 2, 1, now);
      const auto id = Next(line, now);
      served[second] = id;
      line.Charge(id, 10, now);
      if (id != 1) line.Remove(id);
    }
    int n_turns = 0;
    for (const auto& [second, id] : served) {
      if (id != 1) continue;
      n_turns++;
      Expect(second >= 10, "its first turn comes after " + std::to_string(second) + " s");
    }
    Expect(n_turns >= 2 && n_turns <= 4, std::to_string(n_turns) + " turns");
  });

  Test("a long request does not grow older than one that has just come", [] {
    FairLine line;
    Add(line, 1, "a");
    for (int second = 0; second < 60; second++) line.Charge(1, 10, kStart + seconds(second));
    Add(line, 2, "a", 1, 1, kStart + seconds(60));
    Expect(Next(line, kStart + seconds(60)) == 2, "the long one goes first");
  });

  Test("priorities beyond 24 count as 24", [] {
    FairLine line;
    Add(line, 1, "a", 24);
    Add(line, 2, "a", 1'000'000);
    Add(line, 3, "a", -1'000'000);
    Expect(Next(line) == 1, "it is not the first");
    line.Remove(1);
    line.Remove(2);
    Add(line, 4, "a", 0, 1, kStart + seconds(120));
    Expect(Next(line, kStart + seconds(119)) == 4, "the lowest priority is too early");
    Expect(Next(line, kStart + seconds(120)) == 3, "the lowest priority still waits");
  });
}

}  // namespace

int main() {
  TestOrder();
  TestNewcomers();
  TestWeights();
  TestAgeing();
  return aana::test::ExitStatus();
}
