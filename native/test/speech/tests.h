#pragma once

namespace aana::test {

void TestAudioFiles();
void TestClipWindows();
void TestSpeechWindows();

}  // namespace aana::test
