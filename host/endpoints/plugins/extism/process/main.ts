/**
 * The entry of a process that runs one Extism module, and speaks to the host as the sandbox of components does. With
 * `describe`, it only tells what a module imports and exports.
 */
import { closeSync, readFileSync, writeSync } from 'node:fs';
import { Socket } from 'node:net';
import { type Frame, frameKind, frameOf, FrameReader } from '../../sandbox/frames.ts';
import { GuestThreads } from './guest-threads.ts';
import { compileModule } from './module.ts';
import { readConfinement, readSettings } from './settings.ts';
import { calledFunctions, exportedFunctions, fullName, fullResource, resourceTypes } from './world.ts';

const standardInput = 0;
const standardError = 2;
const moduleFile = 3;
const socketFile = 4;

async function describe(): Promise<void> {
  const module = await compileModule(readFileSync(standardInput));
  const described = { imports: WebAssembly.Module.imports(module), exports: WebAssembly.Module.exports(module) };
  process.stdout.write(JSON.stringify(described));
}

async function serve(given: readonly string[]): Promise<void> {
  // The host gets these, too, and lets runs end before it ends this process.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => {});
  const { slots, memoryBytes, endpoint } = readSettings(given);
  const module = await compileModule(readFileSync(moduleFile), memoryBytes);
  closeSync(moduleFile);
  const functions = calledFunctions(WebAssembly.Module.imports(module));
  const socket = new Socket({ fd: socketFile, readable: true, writable: true });
  const threads = new GuestThreads({
    ...{ slots, init: { module, memoryBytes, functions, endpoint } },
    onFrame: (frame) => void socket.write(frame),
  });
  const reader = new FrameReader();
  socket.on('data', (bytes: Buffer) => {
    for (const frame of reader.take(bytes)) take(threads, frame);
  });
  socket.on('error', () => {}); // it is closed then
  socket.on('close', () => process.exit());
  const facts = {
    slots,
    functions: functions.map((name) => [fullName(name)]),
    exports: exportedFunctions,
    resources: resourceTypes.map(fullResource),
    confinement: readConfinement(),
  };
  socket.write(frameOf(0, frameKind.ready, [], facts));
}

function take(threads: GuestThreads, { invocation, kind, payload }: Frame): void {
  switch (kind) {
    case frameKind.run:
      return threads.run(invocation, payload);
    case frameKind.answer:
      return threads.post(invocation, 'answer', payload.subarray(callBytes));
    case frameKind.refuse:
      return threads.post(invocation, 'refuse', payload.subarray(callBytes));
    case frameKind.credit:
      return threads.post(invocation, 'credit', payload);
    case frameKind.ending:
      return threads.warn(invocation);
    case frameKind.cancel:
      return threads.cancel(invocation);
    default:
      throw new Error('a frame has an unknown kind');
  }
}

/** Bytes of the number of a call, of which a run has one at a time. */
const callBytes = 4;

const [mode, ...given] = process.argv.slice(2);
try {
  await (mode === 'describe' ? describe() : serve(given));
} catch (error) {
  writeSync(standardError, `${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
