// Unit tests of the scheduling of the language model engine; they need no model.
#include "../check.h"
#include "tests.h"

int main() {
  aana::test::TestCells();
  aana::test::TestKeptStates();
  aana::test::TestPromptCache();
  aana::test::TestShares();
  aana::test::TestSlots();
  aana::test::TestStateParts();
  aana::test::TestSteps();
  return aana::test::ExitStatus();
}
