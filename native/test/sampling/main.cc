// Unit tests of sampling, stop strings, grammars and guesses; they need no model.
#include "../check.h"
#include "tests.h"

int main() {
  aana::test::TestSelections();
  aana::test::TestPenalties();
  aana::test::TestSampler();
  aana::test::TestStopMatcher();
  aana::test::TestGrammar();
  aana::test::TestQuotes();
  aana::test::TestSpeculation();
  aana::test::TestThreadChoice();
  aana::test::TestAgainstUpstream();
  aana::test::TestRecorded();
  return aana::test::ExitStatus();
}
