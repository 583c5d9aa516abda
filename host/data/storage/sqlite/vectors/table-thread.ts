/** The entry of the thread that searches in tables of vectors. */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { type MessagePort, parentPort } from 'node:worker_threads';
import { largest } from './largest.ts';
import { productsIn } from './products.ts';
import {
  layoutOf,
  newMemory,
  type TableAnswer,
  type TableMessage,
  type TableQuestion,
  type TableRows,
  type TableSpec,
} from './vector-table.ts';

// V8 does not count the memories of WebAssembly, so it would keep those of tables that nobody has any more.
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;
setFlagsFromString('--no-expose-gc');

parentPort!.on('message', ({ port, ...spec }: TableMessage) => {
  port.once('close', () => setImmediate(collectGarbage));
  try {
    serve(spec, port);
  } catch {
    port.close();
  }
});

function serve(spec: TableSpec, port: MessagePort): void {
  const layout = layoutOf(spec);
  const { rowBytes, products: place, first, bytes } = layout;
  const memory = newMemory(layout);
  const products = productsIn(memory);
  const asked = new Float32Array(memory.buffer, 0, spec.dimensions);
  const all = new Float32Array(memory.buffer, place, spec.rows);
  const rows = new Uint8Array(memory.buffer, first);
  port.on('message', (message: TableRows | TableQuestion) => {
    if ('begin' in message) rows.set(message.bytes, message.begin * rowBytes);
    else port.postMessage(answerTo(message));
  });

  function answerTo({ vector, limit, among }: TableQuestion): TableAnswer {
    asked.set(vector);
    if (!among) products(0, first, bytes, rowBytes, place);
    for (const [n, row] of among?.entries() ?? []) {
      const from = first + row * rowBytes;
      products(0, from, from + rowBytes, rowBytes, place + n * all.BYTES_PER_ELEMENT);
    }
    const found = largest(among ? all.subarray(0, among.length) : all, limit);
    return { rows: found, products: found.map((row) => all[row]!) };
  }
}
