#pragma once

namespace aana::test {

void TestAudioFiles();
void TestSpeechWindows();

}  // namespace aana::test
