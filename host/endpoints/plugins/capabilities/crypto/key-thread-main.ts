/** The entry of the thread that reads keys. */
import { parentPort } from 'node:worker_threads';
import type { KeyAnswer, KeyQuestion } from './key-thread.ts';
import { readKey } from './read-key.ts';
import { standardError } from './standard-error.ts';

parentPort!.on('message', ({ args, port }: KeyQuestion) => {
  readKey(args).then(
    (read) => port.postMessage(read satisfies KeyAnswer),
    (error: unknown) => port.postMessage(recordOf(error) satisfies KeyAnswer),
  );
});

function recordOf(error: unknown): KeyAnswer {
  const { data, message } = standardError(error);
  return { name: (data as { readonly name: string }).name, message };
}
