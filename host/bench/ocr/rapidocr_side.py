"""Reads the page of each line, {file, width, height} in JSON, on one thread, and prints its lines and CPU seconds."""

import json
import sys
import time

import cv2
import numpy
from rapidocr_onnxruntime import RapidOCR

cv2.setNumThreads(1)
reader = RapidOCR(intra_op_num_threads=1, inter_op_num_threads=1)
print('{}', flush=True)
for line in sys.stdin:
    page = json.loads(line)
    pixels = numpy.fromfile(page['file'], numpy.uint8).reshape(page['height'], page['width'], 3)
    before = time.process_time()
    found, _ = reader(pixels[:, :, ::-1].copy())
    seconds = time.process_time() - before
    print(json.dumps({'lines': [text for _, text, _ in found or []], 'seconds': seconds}), flush=True)
