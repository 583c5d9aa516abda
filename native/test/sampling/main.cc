// Unit tests of sampling and of stop strings; they need no model.
#include "check.h"
#include "tests.h"

int main() {
  aana::test::TestSelections();
  aana::test::TestPenalties();
  aana::test::TestSampler();
  aana::test::TestStopMatcher();
  aana::test::TestAgainstUpstream();
  return aana::test::ExitStatus();
}
