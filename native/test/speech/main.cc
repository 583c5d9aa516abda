// Unit tests of how long audio is read, transformed and cut into windows; they need no model.
#include "../sampling/check.h"
#include "tests.h"

int main() {
  aana::test::TestAudioFiles();
  aana::test::TestClipWindows();
  aana::test::TestShortDft();
  aana::test::TestSpeechWindows();
  return aana::test::ExitStatus();
}
