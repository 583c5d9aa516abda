// node-llama-cpp behind a minimal HTTP server whose `/completion` answers like llama-server's. BENCH_FOLDER has
// node-llama-cpp installed, BENCH_LLM has the options. Started by ../llm.ts.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { portOf, served } from '../plugins/served.ts';
import type { CompletionRequest } from './protocol.ts';
import type { ServerOptions } from './subjects.ts';

/** The part of node-llama-cpp that is used here. */
interface Sequence {
  evaluate(tokens: readonly number[], options: object): AsyncIterable<number>;
  clearHistory(): Promise<void>;
}
interface Library {
  getLlama(options: object): Promise<{
    loadModel(options: object): Promise<{
      tokenize(text: string, special: boolean): number[];
      detokenize(tokens: readonly number[]): string;
      createContext(options: object): Promise<{ getSequence(): Sequence }>;
    }>;
  }>;
}

const { modelPath, slots, contextTokens, threads } = JSON.parse(process.env['BENCH_LLM'] ?? '{}') as ServerOptions;
const entry = createRequire(join(process.env['BENCH_FOLDER'] ?? '', 'x.js')).resolve('node-llama-cpp');
const { getLlama } = (await import(pathToFileURL(entry).href)) as Library;
const llama = await getLlama({ build: 'never', gpu: false, progressLogs: false, maxThreads: threads });
const model = await llama.loadModel({ modelPath, gpuLayers: 0 });
const context = await model.createContext({ sequences: slots, contextSize: contextTokens, threads, batchSize: 512 });
const free = Array.from({ length: slots }, () => context.getSequence());
const waiting: ((sequence: Sequence) => void)[] = [];

async function borrow(): Promise<Sequence> {
  return free.pop() ?? (await new Promise<Sequence>((resolve) => waiting.push(resolve)));
}

function giveBack(sequence: Sequence): void {
  const next = waiting.shift();
  if (next) next(sequence);
  else free.push(sequence);
}

const server = createServer(async (request, response) => {
  let body = '';
  for await (const part of request.setEncoding('utf8')) body += part;
  const { prompt, n_predict: most } = JSON.parse(body) as CompletionRequest;
  const tokens = model.tokenize(prompt, true);
  const sequence = await borrow();
  try {
    await sequence.clearHistory();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    let count = 0;
    const options = { temperature: 0, yieldEogToken: true };
    for await (const token of sequence.evaluate(tokens, options)) {
      count += 1;
      const content = model.detokenize([token]);
      const event = { content: content || ' ', tokens_predicted: count, tokens_evaluated: tokens.length };
      response.write(`data: ${JSON.stringify(event)}\n\n`);
      if (count === most || response.destroyed) break;
    }
    response.end();
  } finally {
    giveBack(sequence);
  }
});
server.listen(0, '127.0.0.1');
await once(server, 'listening');
served({ port: portOf(server), close: async () => server.close() });
