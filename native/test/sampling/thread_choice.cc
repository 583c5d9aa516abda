// How many threads choose tokens.
#include <string>

#include "../check.h"
#include "core/llama/loop/thread_choice.h"
#include "tests.h"

namespace aana::test {

using llama::ThreadChoice;
using Seconds = ThreadChoice::Seconds;

namespace {

constexpr Seconds kLeast{0.001};

void ExpectThreads(ThreadChoice& choice, size_t n_sequences, size_t n) {
  const size_t n_threads = choice.Next(n_sequences);
  Expect(n_threads == n, std::to_string(n_threads) + " threads for " + std::to_string(n_sequences) +
                             " sequences, not " + std::to_string(n));
}

}  // namespace

void TestThreadChoice() {
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
