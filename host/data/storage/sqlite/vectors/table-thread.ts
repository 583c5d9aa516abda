/** The entry of the thread that searches in tables of vectors. */
import { parentPort } from 'node:worker_threads';
import { largest } from './largest.ts';
import { productsIn } from './products.ts';
import { layoutOf, type TableAnswer, type TableMessage, type TableQuestion } from './vector-table.ts';

parentPort!.on('message', ({ memory, port, ...spec }: TableMessage) => {
  const { rowBytes, products: place, first, bytes } = layoutOf(spec);
  const products = productsIn(memory);
  const asked = new Float32Array(memory.buffer, 0, spec.dimensions);
  const all = new Float32Array(memory.buffer, place, spec.rows);
  port.on('message', ({ vector, limit, among }: TableQuestion) => {
    asked.set(vector);
    if (!among) products(0, first, bytes, rowBytes, place);
    for (const [n, row] of among?.entries() ?? []) {
      const from = first + row * rowBytes;
      products(0, from, from + rowBytes, rowBytes, place + n * all.BYTES_PER_ELEMENT);
    }
    const rows = largest(among ? all.subarray(0, among.length) : all, limit);
    port.postMessage({ rows, products: rows.map((row) => all[row]!) } satisfies TableAnswer);
  });
});
