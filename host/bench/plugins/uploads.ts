import { median, round } from '../report.ts';
import { upload } from '../upload/measure.ts';
import { calm } from './calm.ts';
import type { Subject } from './processes.ts';

const MIB = 16;

interface Cost {
  readonly cpuMs: number;
  readonly sandboxCpuMs: number;
  readonly wallMs: number;
}

/** Uploads a file, which is the answer, too. Returns the time of the server with its plugins, and until the answer. */
async function exchange({ port, usage }: Subject, path: string): Promise<Cost> {
  const before = await usage();
  const startedAt = performance.now();
  const answer = await upload(port, path, MIB);
  const wallMs = performance.now() - startedAt;
  const after = await usage();
  if (answer.length !== MIB * 2 ** 20) throw new Error(`${path}: the answer has ${answer.length} bytes`);
  const sandboxCpuMs = (after.sandboxCpuMicroseconds - before.sandboxCpuMicroseconds) / 1000;
  const cpuMs = (after.cpuMicroseconds - before.cpuMicroseconds) / 1000 + sandboxCpuMs;
  return { cpuMs, sandboxCpuMs, wallMs };
}

/**
 * Compares endpoints that answer a file of 16 MiB with its bytes, in a plugin and in host code, in pairs. The first one
 * is a warm-up.
 */
export async function uploadsBesideHostCode(subject: Subject, rounds: number, calmMs: number): Promise<unknown> {
  const pairs: { readonly plugin: Cost; readonly host: Cost }[] = [];
  for (let number = -1; number < rounds; number++) {
    await calm(calmMs);
    const pair = { plugin: await exchange(subject, '/bench/upload'), host: await exchange(subject, '/host/upload') };
    if (number >= 0) pairs.push(pair);
  }
  const middle = (pick: (pair: (typeof pairs)[number]) => number): number => round(median(pairs.map(pick)));
  return {
    mib: MIB,
    plugin: {
      cpuMs: middle(({ plugin }) => plugin.cpuMs),
      sandboxCpuMs: middle(({ plugin }) => plugin.sandboxCpuMs),
      wallMs: middle(({ plugin }) => plugin.wallMs),
    },
    host: { cpuMs: middle(({ host }) => host.cpuMs), wallMs: middle(({ host }) => host.wallMs) },
    besideHost: {
      cpu: middle(({ plugin, host }) => plugin.cpuMs / host.cpuMs),
      wall: middle(({ plugin, host }) => plugin.wallMs / host.wallMs),
    },
  };
}
