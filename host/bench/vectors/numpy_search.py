"""Prints the median of the CPU milliseconds of an exact search for the ten nearest of <count> vectors on one thread."""

import os
import sys
import time

os.environ['OPENBLAS_NUM_THREADS'] = '1'
import numpy as np  # noqa: E402

count, dimensions = int(sys.argv[1]), int(sys.argv[2])
vectors = np.random.standard_normal((count, dimensions)).astype(np.float32)
times = []
for _ in range(20):
    query = np.random.standard_normal(dimensions).astype(np.float32)
    start = time.process_time()
    products = vectors @ query
    nearest = np.argpartition(-products, 10)[:10]
    nearest[np.argsort(-products[nearest])]
    times.append(time.process_time() - start)
print(1000 * np.median(times))
