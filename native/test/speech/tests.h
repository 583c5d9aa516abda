#pragma once

namespace aana::test {

void TestAudioFiles();
void TestClipWindows();
void TestShortDft();
void TestSpeechWindows();

}  // namespace aana::test
