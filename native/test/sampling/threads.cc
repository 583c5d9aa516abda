// Threads that choose tokens, and how many of them.
#include <latch>
#include <string>
#include <vector>

#include "../check.h"
#include "core/llama/threads/thread_choice.h"
#include "core/llama/threads/thread_team.h"
#include "tests.h"

namespace aana::test {

using llama::ThreadChoice;
using llama::ThreadTeam;
using Seconds = ThreadChoice::Seconds;

namespace {

constexpr Seconds kLeast{0.001};

void ExpectThreads(ThreadChoice& choice, size_t n_sequences, size_t n) {
  const size_t n_threads = choice.Next(n_sequences);
  Expect(n_threads == n, std::to_string(n_threads) + " threads for " + std::to_string(n_sequences) +
                             " sequences, not " + std::to_string(n));
}

}  // namespace

void TestThreadTeam() {
  Test("each part is done once, round after round", [] {
    ThreadTeam team(3);
    for (size_t n_parts = 0; n_parts < 300; n_parts++) {
      std::vector<int> n_done(n_parts);
      team.Run(n_parts, n_parts % 5, [&](size_t part, size_t) { n_done[part]++; });
      for (const int n : n_done) Expect(n == 1, "a part was done " + std::to_string(n) + " times");
    }
  });
  Test("parts are done at the same time, by as many threads as are wanted", [] {
    ThreadTeam team(3);
    Expect(team.n_helpers() == 3, "threads are missing");
    std::vector<size_t> thread_by_part(3);
    std::latch all_begun(3);
    team.Run(3, 2, [&](size_t part, size_t thread) {
      thread_by_part[part] = thread;
      all_begun.arrive_and_wait();
    });
    int n_callers = 0;
    for (const auto thread : thread_by_part) n_callers += thread == 0 ? 1 : 0;
    Expect(n_callers == 1,
           "the caller did " + std::to_string(n_callers) + " of three parts that waited for each other");
  });
  Test("the caller does all parts where nobody helps", [] {
    for (const size_t n_helpers : {0, 2}) {
      ThreadTeam team(n_helpers);
      size_t n_done = 0;
      team.Run(5, 0, [&](size_t, size_t thread) { n_done += thread == 0 ? 1 : 0; });
      Expect(n_done == 5, std::to_string(n_done) + " of 5 parts");
    }
  });
  Test("one thread chooses little work, and more threads as much as is worth waking them", [] {
    ThreadChoice choice(4, kLeast);
    ExpectThreads(choice, 8, 1);  // nothing is known
    choice.Learn(1, 8, Seconds(8 * 0.0002), Seconds(0.0016));
    ExpectThreads(choice, 8, 1);
    ExpectThreads(choice, 10, 2);
    ExpectThreads(choice, 15, 3);
    ExpectThreads(choice, 1000, 4);
    for (int i = 0; i < 20; i++) choice.Learn(1, 8, Seconds(8 * 0.01), Seconds(0.08));
    ExpectThreads(choice, 8, 4);
    ExpectThreads(choice, 2, 2);
    ExpectThreads(choice, 1, 1);
    ThreadChoice alone(1, kLeast);
    alone.Learn(1, 8, Seconds(8), Seconds(8));
    ExpectThreads(alone, 8, 1);
  });
  Test("threads that are no faster than one are not tried again for a while", [] {
    ThreadChoice choice(4, kLeast);
    choice.Learn(1, 8, Seconds(0.8), Seconds(0.8));
    for (int i = 0; i < 3; i++) choice.Learn(4, 8, Seconds(0.8), Seconds(0.79));
    choice.Learn(4, 8, Seconds(0.8), Seconds(0.2));
    for (int i = 0; i < 3; i++) choice.Learn(4, 8, Seconds(0.8), Seconds(0.79));
    ExpectThreads(choice, 8, 4);
    choice.Learn(4, 8, Seconds(0.8), Seconds(0.79));
    for (int i = 0; i < 256; i++) {
      ExpectThreads(choice, 8, 1);
      choice.Learn(1, 8, Seconds(0.8), Seconds(0.8));
    }
    ExpectThreads(choice, 8, 4);
  });
}

}  // namespace aana::test
