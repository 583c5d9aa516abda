// The unit tests of the sandbox's values, frames and channels.
#include "../../check.h"
#include "tests.h"

int main() {
  aana::test::TestCbor();
  aana::test::TestValues();
  aana::test::TestFrames();
  aana::test::TestChannel();
  return aana::test::ExitStatus();
}
