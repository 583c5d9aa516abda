// Main module of a replica process. It serves calls on file descriptor 3 until the host closes it.
import { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { errorLogFields, fail, loggedStack, toErrorRecord } from '../../../base/core/errors.ts';
import type { Logger, LogFields, LogLevel } from '../../../base/core/log/logger.ts';
import { FrameSocket } from '../../rpc/frame-socket.ts';
import { markReplica } from '../process/in-replica.ts';
import type { Implementation, StartImplementation } from '../process/implementation.ts';
import {
  type ArtifactFolders,
  type HostFrame,
  isCallAnswer,
  isCallRequest,
  type ReplicaAddress,
  type ReplicaFrame,
} from '../../rpc/frames.ts';
import type { ReplicaMemory } from '../../rpc/replica-memory.ts';
import { type Connection, Connections } from './connections.ts';
import { HostListener } from './listener.ts';
import { ownMemory } from './own-memory.ts';
import type { ReplicaArtifacts } from './replica-artifacts.ts';

const SOCKET_FD = 3;
const WARM_UP_REPORT_MS = 500;
/** Length to which a log message is cut when the line does not fit into a frame. */
const MAX_MESSAGE_CHARACTERS = 2000;
/** Of a host that has named none. */
const NO_FOLDERS: ArtifactFolders = { roots: [], copies: tmpdir() };

type StartFrame = Extract<HostFrame, { type: 'start' }>;

let implementation: Implementation | undefined;
let connections: Connections | undefined;
let parent: Connection | undefined;
let artifacts: Promise<ReplicaArtifacts> | undefined;
let listener: HostListener | undefined;
let isReady = false;

markReplica();

const socket = new FrameSocket<HostFrame, ReplicaFrame>(new Socket({ fd: SOCKET_FD, readable: true, writable: true }), {
  onFrame,
  // The host is gone, and native threads may be busy for a long time.
  onClose: () => process.kill(process.pid, 'SIGKILL'),
});

// A terminal sends these to the whole group, and systemd to all processes of a unit. The host decides when a replica
// ends: calls may still finish on it. When the host ends, the socket closes, and the kernel kills this process.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
process.on('uncaughtException', (error) => void outsideOfCalls('uncaught exception', error));
process.on('unhandledRejection', (error) => void outsideOfCalls('unhandled rejection', error));

function onFrame(frame: HostFrame): void {
  if (isCallAnswer(frame) || isCallRequest(frame)) {
    parent?.onFrame(frame);
    return;
  }
  switch (frame.type) {
    case 'start':
      if (!connections) void start(frame);
      return;
    case 'bounds':
      connections?.setBounds(frame.maxOngoing);
      return;
    case 'reconfigure':
      void reconfigure(frame.id, frame.spec);
      return;
    case 'ping':
      void answerPing();
      return;
    case 'shutdown':
      void shutdown();
      return;
    default:
      frame satisfies never;
  }
}

async function start(frame: StartFrame): Promise<void> {
  const all = (connections = new Connections(frame.maxOngoing));
  parent = connections.add((sent) => socket.send(sent), { drained: () => socket.drained });
  try {
    const module = (await import(frame.implementation)) as { readonly start?: StartImplementation };
    if (typeof module.start !== 'function') throw new TypeError(`${frame.implementation} exports no function "start"`);
    implementation = await module.start(frame.spec, {
      log: remoteLogger({}),
      artifactPath: async (artifact) => (await artifactsFor(frame, all)).path(artifact),
      growingPaths: async (ids, endId) => (await artifactsFor(frame, all)).growing(ids, endId),
      progress: (fraction, text) => socket.send({ type: 'progress', fraction, text }),
      onModels: (ids) => socket.send({ type: 'models', ids }),
      host: connections.host,
    });
    await warmUp(implementation);
    connections.serve(implementation.methods);
    const listens = frame.listen && (await listen(frame.listen, frame.member, connections));
    isReady = true;
    socket.send({
      type: 'ready',
      info: implementation.info ?? null,
      code: implementation.code,
      memory: memoryOf(implementation),
      listens,
    });
  } catch (error) {
    socket.send({ type: 'failed', error: toErrorRecord(error) });
    await leave(1);
  }
}

/** Loads its code once. Its schemas take longer than the rest of this process, and many replicas get no artifact. */
function artifactsFor({ artifacts: folders = NO_FOLDERS }: StartFrame, all: Connections): Promise<ReplicaArtifacts> {
  artifacts ??= import('./replica-artifacts.ts').then(
    (module) => new module.ReplicaArtifacts(folders, all, remoteLogger({})),
  );
  return artifacts;
}

/**
 * Listens for further hosts, and returns where. A replica that cannot do that has only the host that started it, or
 * those of this machine.
 */
async function listen(
  { tcp, ...local }: ReplicaAddress,
  member: StartFrame['member'],
  all: Connections,
): Promise<ReplicaAddress | undefined> {
  try {
    listener = await HostListener.open(local, all, remoteLogger({}));
  } catch (error) {
    remoteLogger({}).warn('other processes cannot call this replica', { error: toErrorRecord(error).message });
    return undefined;
  }
  if (!tcp || !member) return local;
  try {
    return { ...local, tcp: await listener.openPort(tcp.host, member) };
  } catch (error) {
    remoteLogger({}).warn('other machines cannot call this replica', { error: toErrorRecord(error).message });
    return local;
  }
}

/** Warms up. Reports progress while the engine works, because the host ends a start without progress. */
async function warmUp(started: Implementation): Promise<void> {
  let last = started.activity?.().beats;
  const timer = setInterval(() => {
    const beats = started.activity?.().beats;
    if (beats !== last) socket.send({ type: 'progress', text: 'warming up' });
    last = beats;
  }, WARM_UP_REPORT_MS);
  try {
    await started.warmUp?.();
  } finally {
    clearInterval(timer);
  }
}

async function answerPing(): Promise<void> {
  try {
    await implementation?.checkHealth?.();
  } catch (error) {
    return lastWords('health check failed', error);
  }
  const { busy, beats } = implementation?.activity?.() ?? { busy: false, beats: 0 };
  const { user, system } = process.cpuUsage();
  socket.send({
    type: 'pong',
    steps: implementation?.steps?.() ?? 0,
    busy,
    beats,
    cpuMs: (user + system) / 1000,
    memory: implementation && memoryOf(implementation),
  });
  sendMetrics();
}

function sendMetrics(): void {
  const metrics = implementation?.metrics?.() ?? [];
  if (metrics.length > 0) socket.send({ type: 'metrics', metrics });
}

/** Returns undefined for an implementation that does not report memory, such as a test double. */
function memoryOf({ gpuMemory }: Implementation): ReplicaMemory | undefined {
  return gpuMemory && { ...ownMemory(), gpus: gpuMemory() };
}

async function reconfigure(id: number, spec: unknown): Promise<void> {
  try {
    if (!isReady || !implementation?.reconfigure)
      throw fail('NotReconfigurable', 'the implementation cannot change its configuration while it runs');
    await implementation.reconfigure(spec);
    socket.send({ type: 'result', id, value: null });
  } catch (error) {
    socket.send({ type: 'error', id, error: toErrorRecord(error) });
  }
}

async function shutdown(): Promise<void> {
  await listener?.leave(); // first, because calls of a replica that ends are repeated elsewhere, and cancelled ones not
  connections?.cancelAll();
  try {
    sendMetrics();
    await implementation?.close?.();
  } catch (error) {
    remoteLogger({}).warn('closing the model failed', { error: toErrorRecord(error).message });
  }
  await leave(0);
}

/** Ends the process. After the first call the message may contain data of a request, so it is logged as content. */
function outsideOfCalls(message: string, error: unknown): Promise<void> {
  if (!isReady) return lastWords(message, error);
  const { error: name, content } = errorLogFields(error);
  return content === undefined
    ? lastWords(message, error)
    : end(message, { error: name, content, stack: loggedStack(error) });
}

function lastWords(message: string, error: unknown): Promise<void> {
  const { name, message: text, stack } = toErrorRecord(error);
  return end(message, { error: `${name}: ${text}`, stack });
}

async function end(message: string, fields: LogFields): Promise<void> {
  remoteLogger({}).error(message, fields);
  await leave(1);
}

async function leave(code: number): Promise<void> {
  await Promise.all([socket.flushed(), artifacts?.then((all) => all.close()).catch(() => {})]);
  process.exit(code);
}

/** Returns a logger that writes to the host's log. */
function remoteLogger(bound: LogFields): Logger {
  const emit =
    (level: LogLevel) =>
    (message: string, fields: LogFields = {}): void => {
      try {
        socket.send({ type: 'log', level, message, fields: { ...bound, ...fields } });
      } catch {
        socket.send({ type: 'log', level, message: message.slice(0, MAX_MESSAGE_CHARACTERS), fields: {} });
      }
    };
  return {
    debug: emit('debug'),
    info: emit('info'),
    warn: emit('warn'),
    error: emit('error'),
    child: (fields) => remoteLogger({ ...bound, ...fields }),
  };
}
