import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import { refuse } from './limits.ts';
import type { ImportArguments, ReadKey } from './read-key.ts';

export interface KeyQuestion {
  readonly args: ImportArguments;
  /** Takes the answer. */
  readonly port: MessagePort;
}

/** A key, or the error of the standard. */
export type KeyAnswer = ReadKey | { readonly name: string; readonly message: string };

let thread: Worker | undefined;

/** Imports a key in another thread, so that this one serves requests meanwhile. Throws `CryptoFailed`. */
export async function readKeyInThread(args: ImportArguments): Promise<ReadKey> {
  const { port1, port2 } = new MessageChannel();
  const asked = (thread ??= begun());
  const answered = new Promise<KeyAnswer>((resolve, reject) => {
    port1.once('message', resolve);
    port1.once('close', () => {
      forget(asked);
      reject(new Error('the thread that reads keys has ended'));
    });
  });
  asked.postMessage({ args, port: port2 } satisfies KeyQuestion, [port2]);
  try {
    const answer = await answered;
    if ('name' in answer) throw refuse(answer.name, answer.message);
    return answer;
  } finally {
    port1.removeAllListeners().close();
  }
}

/** Starts the thread, which stays and does not keep the process. */
function begun(): Worker {
  const worker = new Worker(new URL('./key-thread-main.js', import.meta.url));
  worker.on('error', () => {}); // 'exit' follows
  worker.once('exit', () => forget(worker));
  worker.unref();
  return worker;
}

function forget(ended: Worker): void {
  if (thread === ended) thread = undefined;
}
