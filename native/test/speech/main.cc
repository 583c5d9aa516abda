// Unit tests of how long audio is read, transformed and cut into windows, and how a prompt is split; they need no
// model.
#include "../check.h"
#include "tests.h"

int main() {
  aana::test::TestAudioFiles();
  aana::test::TestClipWindows();
  aana::test::TestPretokenise();
  aana::test::TestSpectrogram();
  aana::test::TestSpeechWindows();
  return aana::test::ExitStatus();
}
