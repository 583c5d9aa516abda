"""Embeds the texts of the calls of each line, lists in JSON, on one thread, and prints the CPU seconds that it took.

python sentence_transformers_side.py <folder of the model> <torch or onnx>
"""

import json
import os
import sys
import time

os.environ['OMP_NUM_THREADS'] = '1'
import torch  # noqa: E402
from sentence_transformers import SentenceTransformer  # noqa: E402

folder, backend = sys.argv[1:]
torch.set_num_threads(1)
options = {}
if backend == 'onnx':
    import onnxruntime

    session = onnxruntime.SessionOptions()
    session.intra_op_num_threads = session.inter_op_num_threads = 1
    options = {'provider': 'CPUExecutionProvider', 'session_options': session}
    options['file_name'] = 'onnx/model_quantized.onnx'
model = SentenceTransformer(folder, device='cpu', backend=backend, model_kwargs=options)
print('ready', flush=True)
for line in sys.stdin:
    calls = json.loads(line)
    before = time.process_time()
    vectors = [model.encode(texts, batch_size=32, normalize_embeddings=True) for texts in calls]
    print(json.dumps({'seconds': time.process_time() - before, 'first': vectors[0][0].tolist()}), flush=True)
