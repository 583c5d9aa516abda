"""faster-whisper behind a minimal HTTP server, which streams each segment. BENCH_ASR has the settings. Started by subjects.ts."""

import io
import json
import os
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlparse

from faster_whisper import BatchedInferencePipeline, WhisperModel

SETTINGS = json.loads(os.environ["BENCH_ASR"])
MODEL = WhisperModel(
    SETTINGS["model"],
    device="cpu",
    compute_type="int8",
    cpu_threads=SETTINGS["threads"],
    num_workers=SETTINGS["windows"],
)
BATCH_SIZE = SETTINGS["batchSize"]
PIPELINE = BatchedInferencePipeline(MODEL) if BATCH_SIZE > 0 else MODEL
OPTIONS = {
    "beam_size": SETTINGS["beams"],
    "condition_on_previous_text": False,
    "vad_filter": SETTINGS["vad"],
    "without_timestamps": not SETTINGS["timestamps"],
    **({"batch_size": BATCH_SIZE} if BATCH_SIZE > 0 else {}),
}


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        self.send_response(200)
        self.end_headers()

    def do_POST(self):
        audio = io.BytesIO(self.rfile.read(int(self.headers["content-length"])))
        language = parse_qs(urlparse(self.path).query).get("language", [None])[0]
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        try:
            segments, _ = PIPELINE.transcribe(audio, language=language, **OPTIONS)
            for segment in segments:
                self.write({"text": segment.text})
        except Exception as error:
            self.write({"error": repr(error)})

    def write(self, piece):
        self.wfile.write(f"data: {json.dumps(piece)}\n\n".encode())
        self.wfile.flush()


ThreadingHTTPServer(("127.0.0.1", SETTINGS["port"]), Handler).serve_forever()
