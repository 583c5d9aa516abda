// The unit tests of the sandbox's values and frames.
#include "check.h"
#include "tests.h"

int main() {
  aana::test::TestCbor();
  aana::test::TestValues();
  aana::test::TestFrames();
  return aana::test::ExitStatus();
}
