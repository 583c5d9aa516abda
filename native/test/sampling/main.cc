// Unit tests of sampling; they need no model.
#include "check.h"
#include "tests.h"

int main() {
  aana::test::TestSelections();
  aana::test::TestPenalties();
  aana::test::TestSampler();
  aana::test::TestAgainstUpstream();
  return aana::test::ExitStatus();
}
