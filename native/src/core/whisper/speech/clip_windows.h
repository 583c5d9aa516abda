#pragma once

#include <cstdint>
#include <vector>

#include "core/whisper/audio/audio_source.h"
#include "core/whisper/speech/window_size.h"
#include "core/whisper/speech_windows.h"

namespace aana {

// Whether the audio has all samples of the parts: it is complete, or they end before.
bool CanCutClips(const AudioSource& audio, const std::vector<SpeechRegion>& clips);

// Returns the windows of the parts of an audio that a caller has chosen, in order of time: one for each part, and
// several for a part that is longer than `window`, which is cut at quiet places. Parts are cut to the audio. Parts
// without samples, and windows in which all samples are 0, are left out. Throws an AudioError.
std::vector<SpeechWindow> ClipWindows(const AudioSource& audio, std::vector<SpeechRegion> clips,
                                      int64_t window = kWindow);

}  // namespace aana
