/** Entry of a plugin's worker thread: instances of one component, and nothing of the host but messages. */
import { parentPort, workerData } from 'node:worker_threads';
import type { RunMessage, ToWorker, WorkerInit } from '../protocol.ts';
import { enableExtendedConstants, standInForPromising } from '../wasm-features.ts';
import { BlockingBridge, type Invocation, SuspendingBridge } from './bridge.ts';
import { type Glue, GuestInstance, type Snapshot } from './instance.ts';

const maxIdle = 32;

const init: WorkerInit = workerData;
const port = parentPort!;
enableExtendedConstants();
if (init.mode === 'blocking') standInForPromising();

const bridge = init.mode === 'blocking' ? new BlockingBridge(port, init.control) : new SuspendingBridge(port, init.control);
const idle: GuestInstance[] = [];
const running = new Map<number, Invocation>();
let snapshot: Snapshot | undefined;

try {
  const glue: Glue = await import(init.glue);
  const makeInstance = (): GuestInstance => new GuestInstance(glue, init.modules, bridge, snapshot);

  const first = makeInstance();
  snapshot = first.snapshot;
  idle.push(first);

  const run = async (message: RunMessage): Promise<void> => {
    const invocation: Invocation = { ...message, held: new Set(), cpuMs: 0, lines: 0, progress: { percent: -1, text: '', count: 0 }, isAbandoned: false };
    running.set(message.id, invocation);
    let instance: GuestInstance;
    try {
      instance = idle.pop() ?? makeInstance();
    } catch (error) {
      running.delete(message.id);
      bridge.post({ type: 'done', id: message.id, cpuMs: 0, outcome: { state: 'trapped', reason: error instanceof Error ? error.message : String(error) } });
      return;
    }
    const outcome = await instance.run(invocation);
    if (!running.delete(message.id)) return; // abandoned meanwhile
    bridge.post({ type: 'done', id: message.id, cpuMs: invocation.cpuMs, outcome });
    if (outcome.state !== 'trapped' && idle.length < maxIdle && instance.reset(invocation)) idle.push(instance);
    else if (idle.length === 0) idle.push(makeInstance());
  };

  port.on('message', (message: ToWorker) => {
    switch (message.type) {
      case 'run':
        void run(message); // every way out of it is a message
        return;
      case 'reply':
        bridge.onReply(message);
        return;
      case 'abandon': {
        const invocation = running.get(message.id);
        if (invocation) invocation.isAbandoned = true;
        running.delete(message.id);
        bridge.forget(message.id);
        bridge.post({ type: 'abandoned', id: message.id });
        return;
      }
      default:
        message satisfies never;
    }
  });
  bridge.post({ type: 'ready', endpoints: first.endpoints });
} catch (error) {
  bridge.post({ type: 'broken', reason: error instanceof Error ? error.message : String(error) });
}
