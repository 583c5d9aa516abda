/** The entry of a thread of guests. It has one run at a time, and blocks while the guest waits for the host. */
import { parentPort, workerData } from 'node:worker_threads';
import { readCbor } from '../../sandbox/cbor.ts';
import { functionCodecs } from '../../sandbox/value-codecs.ts';
import { ownSchedstat } from './computing.ts';
import { ExtismGuest } from './guest.ts';
import { HostLink } from './host-link.ts';
import type { FromThread, RunContent, ThreadInit, ToThread } from './messages.ts';
import { offeredTypes } from '../../sandbox/component-types.ts';
import { exportedFunctions, typeOf } from './world.ts';

const init: ThreadInit = workerData;
const port = parentPort!;
const types = offeredTypes();
const link = new HostLink(port, init, types);
const guest = new ExtismGuest(init, link);
const results = exportedFunctions.map(
  (name) => functionCodecs(typeOf(types.exports, `${init.endpoint}#${name}`)).result,
);

port.on('message', (message: ToThread) => {
  if (message.kind === 'run') void run(message); // it reports every outcome by a frame
  else link.take(message);
});
port.postMessage({ kind: 'up', cpuFile: ownSchedstat() } satisfies FromThread);

async function run({ invocation, payload }: ToThread & { readonly kind: 'run' }): Promise<void> {
  const content = readCbor(Buffer.from(payload.buffer)) as unknown as RunContent;
  const [exported, , [name, input]] = content;
  const describes = exportedFunctions[exported] === 'describe';
  link.begin(invocation, content, !describes);
  try {
    const result = describes ? await guest.describe() : await guest.run(String(name), String(input));
    link.returned(results[exported]!.encode(result));
  } catch (error) {
    link.failed('trap', error instanceof Error ? error.message : String(error));
  }
}
