/** Entry of a plugin's worker thread: guests of one plugin, and nothing of the host but messages. */
import { readlinkSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { OutputRing } from '../output-ring.ts';
import type { RunMessage, ToWorker, WitEndpoint, WorkerInit } from '../protocol.ts';
import { enableExtendedConstants, standInForPromising } from '../wasm-features.ts';
import { BlockingBridge, type Invocation, SuspendingBridge } from './bridge.ts';
import { type Glue, type Guest, GuestInstance } from './instance.ts';

const maxIdle = 32;
/** While so many guests are suspended, further ones begin one a turn of the loop. */
const maxEager = 2;

const init: WorkerInit = workerData;
const port = parentPort!;
enableExtendedConstants();
if (init.mode === 'blocking') standInForPromising();

const bridge = init.mode === 'blocking' ? new BlockingBridge(port, init.control) : new SuspendingBridge(port, init.control);
const idle: Guest[] = [];
const running = new Map<number, Invocation>();
/** By slot. */
const rings: OutputRing[] = [];

/** Guests as they are made, the first of which has described itself. */
interface Guests {
  readonly endpoints: readonly WitEndpoint[];
  readonly first: Guest;
  make(): Guest;
}

async function components(glueUrl: string): Promise<Guests> {
  const glue: Glue = await import(glueUrl);
  const first = new GuestInstance(glue, init.modules, bridge, undefined);
  return { endpoints: first.endpoints, first, make: () => new GuestInstance(glue, init.modules, bridge, first.snapshot) };
}

async function extismPlugin(): Promise<Guests> {
  const { ExtismGuest } = await import('../extism/guest.ts');
  const guest = new ExtismGuest({ module: init.modules['main']!, mode: init.mode, memoryBytes: init.memoryBytes, bridge });
  return { endpoints: await guest.describe(), first: guest, make: () => guest };
}

function outputOf({ slot, ring, outputBytes }: RunMessage): Invocation['output'] {
  if (ring) rings[slot] = new OutputRing(ring);
  const known = rings[slot];
  return known && outputBytes !== undefined ? { ring: known, leftBytes: outputBytes } : undefined;
}

function threadFolder(): string | undefined {
  try {
    return readlinkSync('/proc/thread-self');
  } catch {
    return undefined; // not on Linux
  }
}

try {
  const guests = init.glue === undefined ? await extismPlugin() : await components(init.glue);
  idle.push(guests.first);

  const run = async (message: RunMessage): Promise<void> => {
    const invocation: Invocation = { ...message, output: outputOf(message), held: new Set(), cpuMs: 0, lines: 0, progress: { percent: -1, text: '', count: 0 }, isAbandoned: false };
    running.set(message.id, invocation);
    let instance: Guest;
    try {
      instance = idle.pop() ?? guests.make();
    } catch (error) {
      running.delete(message.id);
      bridge.post({ type: 'done', id: message.id, cpuMs: 0, outcome: { state: 'trapped', reason: error instanceof Error ? error.message : String(error) } });
      return;
    }
    const outcome = await instance.run(invocation);
    if (!running.delete(message.id)) return; // abandoned meanwhile
    bridge.post({ type: 'done', id: message.id, cpuMs: invocation.cpuMs, outcome });
    if (outcome.state !== 'trapped' && idle.length < maxIdle && instance.reset(invocation)) idle.push(instance);
    else if (idle.length === 0) idle.push(guests.make());
  };

  // Guests whose answers are there go on before others begin: fewer instances take turns then, and those are in the processor's caches.
  const waiting: RunMessage[] = [];
  const startNext = (): void => {
    const message = waiting.shift();
    if (message) void run(message); // every way out of it is a message
    if (waiting.length > 0) setImmediate(startNext);
  };

  port.on('message', (message: ToWorker) => {
    switch (message.type) {
      case 'run':
        if (running.size < maxEager && waiting.length === 0) void run(message);
        else if (waiting.push(message) === 1) setImmediate(startNext);
        return;
      case 'reply':
        bridge.onReply(message);
        return;
      case 'abandon': {
        const invocation = running.get(message.id);
        if (invocation) invocation.isAbandoned = true;
        running.delete(message.id);
        const waits = waiting.findIndex(({ id }) => id === message.id);
        if (waits >= 0) waiting.splice(waits, 1);
        bridge.forget(message.id);
        bridge.post({ type: 'abandoned', id: message.id });
        return;
      }
      default:
        message satisfies never;
    }
  });
  bridge.post({ type: 'ready', endpoints: guests.endpoints, thread: threadFolder() });
} catch (error) {
  bridge.post({ type: 'broken', reason: error instanceof Error ? error.message : String(error) });
}
