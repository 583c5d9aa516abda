#include "../check.h"
#include "tests.h"

int main() {
  aana::test::TestPrompts();
  aana::test::TestAnswers();
  aana::test::TestCallGrammar();
  aana::test::TestShortening();
  aana::test::TestSharedCopies();
  return aana::test::ExitStatus();
}
