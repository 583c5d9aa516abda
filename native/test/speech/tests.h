#pragma once

#include <cstdint>

#include "core/whisper/types.h"

namespace aana::test {

constexpr int64_t kSecond = kSampleRate;

void TestAudioFiles();
void TestClipWindows();
void TestPretokenise();
void TestSpectrogram();
void TestSpeechWindows();

}  // namespace aana::test
