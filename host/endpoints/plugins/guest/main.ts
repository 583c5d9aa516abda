/** The entry of a plugin's worker thread. It runs guests of one plugin and speaks to the host by messages only. */
import { readlinkSync } from 'node:fs';
import { parentPort, workerData } from 'node:worker_threads';
import { boundedEndpoints, boundedOutcome } from '../invocation/border.ts';
import { OutputRing } from '../invocation/output-ring.ts';
import { begins } from '../threads/slots.ts';
import type { Outcome, RunMessage, ToWorker, WitEndpoint, WorkerInit } from '../invocation/protocol.ts';
import { enableExtendedConstants, standInForPromising } from '../component/core-modules/wasm-features.ts';
import { BlockingBridge, type Invocation, SuspendingBridge } from './bridge.ts';
import { type Glue, type Guest, GuestInstance, type Snapshot } from './instance.ts';
import { InstanceMemory, PluginMemory } from './instance-memory.ts';

const maxIdle = 32;
/**
 * The maximum number of running guests at which an invocation begins immediately. Beyond it, one begins in each turn of
 * the event loop.
 */
const maxEager = 2;

const init: WorkerInit = workerData;
const port = parentPort!;
enableExtendedConstants();
if (init.mode === 'blocking') standInForPromising();

const control = new Int32Array(init.control.buffer);
const bridge = init.mode === 'blocking' ? new BlockingBridge(port, control) : new SuspendingBridge(port, control);
const idle: Guest[] = [];
const running = new Map<number, Invocation>();
/** The ring of each slot. */
const rings: OutputRing[] = [];
const { initialBytes } = init;
const memory = new PluginMemory(init.pages, control, init.memory, () => {
  const unused = idle.pop();
  unused?.release();
  return unused !== undefined;
});

/** The guests of the plugin. The first one has described its endpoints. */
interface Guests {
  readonly endpoints: readonly WitEndpoint[];
  readonly first: Guest;
  make(): Guest;
}

async function components(glueUrl: string): Promise<Guests> {
  const glue: Glue = await import(glueUrl);
  const make = (snapshot: Snapshot | undefined): GuestInstance => {
    const own = new InstanceMemory(memory, initialBytes);
    try {
      return new GuestInstance({
        glue,
        modules: init.modules,
        bridge,
        control: init.control,
        memory: own,
        isRestorable: init.isRestorable,
        snapshot,
      });
    } catch (error) {
      own.release();
      throw error;
    }
  };
  bridge.enterStart();
  const first = make(undefined);
  bridge.leave();
  return { endpoints: first.endpoints, first, make: () => make(first.snapshot) };
}

async function extismPlugin(): Promise<Guests> {
  const { ExtismGuest } = await import('../extism/guest.ts');
  const guest = new ExtismGuest({ module: init.modules['main']!, mode: init.mode, memory, initialBytes, bridge });
  bridge.enterStart();
  const endpoints = await guest.describe();
  bridge.leave();
  return { endpoints, first: guest, make: () => guest };
}

function outputOf({ slot, outputBytes }: RunMessage): Invocation['output'] {
  const ring = rings[slot];
  return ring && outputBytes !== undefined ? { ring, leftBytes: outputBytes } : undefined;
}

function threadFolder(): string | undefined {
  try {
    return readlinkSync('/proc/thread-self');
  } catch {
    return undefined; // not on Linux
  }
}

bridge.post({ type: 'started', thread: threadFolder() });
try {
  const guests = init.glue === undefined ? await extismPlugin() : await components(init.glue);
  idle.push(guests.first);

  // Guests whose answers have arrived continue before others begin. Fewer instances are then active, and their memory
  // stays in the caches of the processor.
  const waiting: RunMessage[] = [];
  let isStarting = false;
  const hasRoom = (): boolean =>
    idle.length > 0 || initialBytes <= init.memory.share || running.size === 0 || memory.hasRoom(initialBytes);
  const startNext = (): void => {
    isStarting = false;
    if (waiting.length === 0 || !hasRoom()) return; // the next invocation that ends starts one
    void run(waiting.shift()!); // it reports every outcome by a message
    startSoon();
  };
  const startSoon = (): void => {
    if (waiting.length === 0 || isStarting) return;
    isStarting = true;
    setImmediate(startNext);
  };

  const run = async (message: RunMessage): Promise<void> => {
    if (!begins(control, message.slot)) {
      bridge.post({ type: 'skipped', slot: message.slot });
      return;
    }
    const invocation: Invocation = {
      ...message,
      output: outputOf(message),
      held: new Set(),
      cpuMs: 0,
      lines: 0,
      progress: { percent: -1, text: '', count: 0 },
      isAbandoned: false,
      memory: undefined,
    };
    running.set(message.id, invocation);
    bridge.enter(invocation); // creating an instance runs the guest's code, too
    let instance: Guest;
    try {
      instance = idle.pop() ?? guests.make();
    } catch (error) {
      bridge.leave();
      running.delete(message.id);
      const outcome: Outcome = bridge.isStopped
        ? { state: 'stopped' }
        : { state: 'trapped', reason: error instanceof Error ? error.message : String(error) };
      bridge.post({ type: 'done', id: message.id, cpuMs: invocation.cpuMs, outcome });
      return;
    }
    const outcome = await instance.run(invocation).catch((error: unknown): Outcome => ({
      state: 'trapped',
      reason: error instanceof Error ? error.message : String(error),
    }));
    const isAbandoned = !running.delete(message.id);
    if (!isAbandoned)
      bridge.post({
        type: 'done',
        id: message.id,
        cpuMs: invocation.cpuMs,
        outcome: boundedOutcome(outcome, message.answerBytes),
      });
    const isWhole = outcome.state === 'returned' || outcome.state === 'failed';
    if (!isAbandoned && isWhole && idle.length < maxIdle && instance.reset(invocation)) idle.push(instance);
    else instance.release();
    startSoon();
  };

  port.on('message', (message: ToWorker) => {
    switch (message.type) {
      case 'run':
        // All invocations of the slot use it, even if this one does not begin.
        if (message.ring) rings[message.slot] = new OutputRing(message.ring);
        if (running.size < maxEager && waiting.length === 0 && hasRoom()) void run(message);
        else {
          waiting.push(message);
          startSoon();
        }
        return;
      case 'reply':
        bridge.onReply(message);
        return;
      case 'abandon': {
        const invocation = running.get(message.id);
        if (invocation) invocation.isAbandoned = true;
        invocation?.memory?.release(); // the instance stays suspended until it is collected
        running.delete(message.id);
        bridge.forget(message.id);
        bridge.post({ type: 'abandoned', id: message.id });
        return;
      }
      default:
        message satisfies never;
    }
  });
  bridge.post({ type: 'ready', endpoints: boundedEndpoints(guests.endpoints) });
} catch (error) {
  const reason = bridge.isStopped ? 'it computed for too long' : error instanceof Error ? error.message : String(error);
  bridge.post({ type: 'broken', reason });
}
