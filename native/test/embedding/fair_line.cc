// Unit tests of the order in which an engine for embeddings takes texts.
#include "core/llama/embedding/fair_line.h"

#include <map>
#include <string>

#include "../sampling/check.h"

namespace {

using aana::FairLine;
using aana::test::Expect;
using aana::test::Test;

FairLine::Id Next(const FairLine& line) {
  return line.Next([](FairLine::Id) { return true; }).value_or(-1);
}

// Serves `n_turns` turns of `work` each. Returns the turns of each request.
std::map<FairLine::Id, int> Serve(FairLine& line, int n_turns, uint64_t work = 10) {
  std::map<FairLine::Id, int> turns;
  for (int i = 0; i < n_turns; i++) {
    const auto id = Next(line);
    turns[id]++;
    line.Charge(id, work);
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
    line.Charge(7, 1);
  });

  Test("requests of a tenant get equal shares of the work", [] {
    FairLine line;
    for (const FairLine::Id id : {1, 2, 3}) line.Add(id, "a", 0);
    ExpectTurns(Serve(line, 30), {{1, 10}, {2, 10}, {3, 10}});
  });

  Test("tenants get equal shares, regardless of the number and priority of their requests", [] {
    FairLine line;
    for (const FairLine::Id id : {1, 2, 3}) line.Add(id, "a", 9);
    line.Add(4, "b", -9);
    ExpectTurns(Serve(line, 30), {{1, 5}, {2, 5}, {3, 5}, {4, 15}});
  });

  Test("a share is counted in work, not in turns", [] {
    FairLine line;
    line.Add(1, "a", 0);
    line.Add(2, "b", 0);
    std::map<FairLine::Id, int> turns;
    for (int i = 0; i < 40; i++) {
      const auto id = Next(line);
      turns[id]++;
      line.Charge(id, id == 1 ? 30 : 10);
    }
    ExpectTurns(turns, {{1, 10}, {2, 30}});
  });

  Test("among a tenant's requests a higher priority goes first", [] {
    FairLine line;
    line.Add(1, "a", 0);
    line.Add(2, "a", 1);
    ExpectTurns(Serve(line, 5), {{2, 5}});
    line.Remove(2);
    ExpectTurns(Serve(line, 5), {{1, 5}});
  });

  Test("a request that is not ready is passed over", [] {
    FairLine line;
    line.Add(1, "a", 0);
    line.Add(2, "a", 0);
    Expect(line.Next([](FairLine::Id id) { return id != 1; }) == FairLine::Id{2}, "it is 1");
    Expect(!line.Next([](FairLine::Id) { return false; }), "there is one");
  });
}

void TestNewcomers() {
  Test("a new request does not wait for a long one of its tenant", [] {
    FairLine line;
    line.Add(1, "a", 0);
    Serve(line, 100);
    line.Add(2, "a", 0);
    ExpectTurns(Serve(line, 2), {{1, 1}, {2, 1}});
  });

  Test("a long request goes on while short ones keep coming", [] {
    FairLine line;
    line.Add(1, "a", 0);
    int n_long = 0;
    for (FairLine::Id id = 2; id < 100; id++) {
      line.Add(id, "a", 0);
      // Each short request needs one turn. It ends, and the next comes.
      for (FairLine::Id served = 1; served == 1;) {
        served = Next(line);
        n_long += served == 1;
        line.Charge(served, 10);
        if (served != 1) line.Remove(served);
      }
    }
    Expect(n_long >= 90, std::to_string(n_long) + " turns");
  });

  Test("time without requests earns a tenant no later work", [] {
    FairLine line;
    line.Add(1, "a", 0);
    line.Add(2, "b", 0);
    Serve(line, 10);
    line.Remove(2);
    Serve(line, 100);
    line.Add(3, "b", 0);
    ExpectTurns(Serve(line, 10), {{1, 5}, {3, 5}});
  });

  Test("a tenant that had more than its share keeps its debt over a pause", [] {
    FairLine line;
    line.Add(1, "a", 0);
    line.Add(2, "b", 0);
    line.Charge(1, 500);
    line.Remove(1);
    line.Add(3, "a", 0);
    ExpectTurns(Serve(line, 50), {{2, 50}});
    ExpectTurns(Serve(line, 10), {{2, 5}, {3, 5}});
  });

  Test("tenants without requests are forgotten", [] {
    FairLine line;
    line.Add(0, "kept", 0);
    for (FairLine::Id id = 1; id < 1000; id++) {
      line.Add(id, "tenant " + std::to_string(id), 0);
      line.Remove(id);
    }
    Expect(line.n_tenants() < 5, std::to_string(line.n_tenants()) + " are remembered");
  });
}

}  // namespace

int main() {
  TestOrder();
  TestNewcomers();
  return aana::test::ExitStatus();
}
