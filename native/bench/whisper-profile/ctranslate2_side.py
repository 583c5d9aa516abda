"""Processor times of the stages of a transcription in faster-whisper and CTranslate2. Prints JSON.

    python ctranslate2_side.py <model folder> <samples: 32-bit floats, mono, 16 kHz> <windows> <rounds> <tokens>

CTranslate2 has no function for the keys and values of the audio: its decoder computes them with the prompt. So a text of one token and
one of many are generated, and the difference is the time of a token. All times are the least of all rounds.
"""

import json
import sys
import time

import ctranslate2
import faster_whisper
import numpy
from faster_whisper.feature_extractor import FeatureExtractor

MODEL, SAMPLES, WINDOWS, ROUNDS, TOKENS = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
WINDOW_SAMPLES = 30 * 16000
START, LANGUAGE, TRANSCRIBE = 50258, 50259, 50359
PROMPT = [START, LANGUAGE, TRANSCRIBE]  # with timestamps


def milliseconds(function):
    begin = time.process_time_ns()
    result = function()
    return (time.process_time_ns() - begin) / 1e6, result


class Least(dict):
    def keep(self, name, value):
        self[name] = min(value, self.get(name, value))


def generate(model, audio, n_windows, n_tokens):
    """Returns how many tokens all texts have. They have `n_tokens` at most, which is half of `max_length` in CTranslate2."""
    results = model.generate(audio, [PROMPT] * n_windows, beam_size=1, max_length=max(2 * n_tokens, len(PROMPT) + n_tokens - 1), suppress_blank=True, max_initial_timestamp_index=50)
    return sum(len(result.sequences_ids[0]) for result in results)


def main():
    model = ctranslate2.models.Whisper(MODEL, device="cpu", compute_type="int8", intra_threads=1, inter_threads=1)
    extractor = FeatureExtractor(feature_size=model.n_mels)
    samples = numpy.fromfile(SAMPLES, dtype=numpy.float32)
    windows = [samples[i * WINDOW_SAMPLES : (i + 1) * WINDOW_SAMPLES] for i in range(WINDOWS)]
    times, counts = Least(), {}
    for _ in range(ROUNDS):
        features = []
        for window in windows:
            # faster-whisper computes the features of a further window, because windows of a recording overlap, and leaves them out.
            spent, feature = milliseconds(lambda window=window: extractor(window)[:, :3000])
            times.keep("spectrogram", spent)
            features.append(feature)
        batch = ctranslate2.StorageView.from_array(numpy.ascontiguousarray(numpy.stack(features)))
        one = ctranslate2.StorageView.from_array(numpy.ascontiguousarray(features[0][None]))
        spent, one_audio = milliseconds(lambda one=one: model.encode(one))
        times.keep("encoder", spent)
        spent, audio = milliseconds(lambda batch=batch: model.encode(batch))
        times.keep("encoderTogether", spent / WINDOWS)
        for name, encoded, n in (("", one_audio, 1), ("Together", audio, WINDOWS)):
            short, _ = milliseconds(lambda encoded=encoded, n=n: generate(model, encoded, n, 1))
            long, counts[name] = milliseconds(lambda encoded=encoded, n=n: generate(model, encoded, n, TOKENS))
            times.keep(f"short{name}", short)
            times.keep(f"long{name}", long)
    for name, n in (("", 1), ("Together", WINDOWS)):
        short, long = times.pop(f"short{name}"), times.pop(f"long{name}")
        times[f"token{name}"] = (long - short) / (counts[name] - n)
        times[f"tokens{name}"] = counts[name]
        # One token of each text is generated besides.
        times[f"promptAndAudioKeys{name}"] = short / n - times[f"token{name}"]
    versions = {"ctranslate2": ctranslate2.__version__, "fasterWhisper": faster_whisper.__version__}
    print(json.dumps({**versions, **{name: round(value, 4) for name, value in times.items()}}))


main()
