// Tests of the decode loop of the language model engine over a fake of llama.cpp.
#include "../check.h"
#include "tests.h"

int main() {
  aana::test::TestEncoder();
  aana::test::TestFairness();
  aana::test::TestInterruptions();
  aana::test::TestPauses();
  aana::test::TestThreads();
  return aana::test::ExitStatus();
}
