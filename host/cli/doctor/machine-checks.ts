import { readFile } from 'node:fs/promises';
import { silentLogger } from '../../base/core/log/logger.ts';
import { LogRing } from '../../base/core/log/log-ring.ts';
import { processorListText } from '../../base/core/machine/processor-list.ts';
import { allowedProcessors, usableCores, usableCpus } from '../../base/core/machine/processors.ts';
import { checkAffinity } from '../../inference/deployments/index.ts';
import { findMachine } from '../../inference/devices/index.ts';
import { nvidiaDriver } from '../../inference/devices/nvidia-smi.ts';
import { bytesText, type Check, type CheckResult, fail, ok, reasonOf, warn } from './check.ts';

/** The GPUs that deployments would use, and the main memory. */
export const gpuCheck: Check = {
  name: 'gpu',
  needsConfig: false,
  run: async ({ config, env, signal }) => {
    const ring = new LogRing();
    const log = ring.tap(silentLogger, () => 'warn');
    const [machine, driver] = await Promise.all([
      findMachine({ env, log, declared: config.devices, signal }),
      nvidiaDriver({ env, log: silentLogger, timeoutMs: 15_000, signal }),
    ]);
    const free = (await machine.probe?.freeGpuBytes?.(signal)) ?? [];
    const problems: string[] = [];
    for await (const { message, fields } of ring.read({ lines: 10, follow: false })) {
      const reason = fields['reason'];
      // The check of the addon says the first one, and the machine has the second one with its advice.
      if (!['the native addon cannot list GPUs', 'GPUs cannot be used'].includes(message))
        problems.push(typeof reason === 'string' ? `${message}: ${reason}` : message);
    }
    const withDriver = driver === undefined ? '' : `, driver ${driver}`;
    const results: CheckResult[] = machine.gpus.map(({ name, memoryBytes }, index) => {
      const freeBytes = free[index];
      const memory = `${bytesText(memoryBytes)}${freeBytes === undefined ? '' : `, ${bytesText(freeBytes)} free`}`;
      return ok(`gpu ${index}`, `${name}, ${memory}${withDriver}`);
    });
    for (const { found, advice } of machine.problems ?? []) results.push(warn('gpu', found, advice));
    if (problems.length > 0)
      results.push(warn('gpu', problems.join('; '), 'see docs/gpu.md; without a GPU, models run on the CPU'));
    else if (results.length === 0) results.push(ok('gpu', `none${withDriver}; models run on the CPU`));
    const freeMain = machine.probe?.freeMainBytes?.();
    const memory = `${bytesText(machine.memoryBytes)}${freeMain === undefined ? '' : `, ${bytesText(freeMain)} free`}`;
    results.push(
      freeMain !== undefined && freeMain < LEAST_MEMORY
        ? warn('memory', memory, 'end other programs; the start of models may fail')
        : ok('memory', memory),
    );
    return results;
  },
};

/** The processors that models may use, and those to which the configuration binds deployments. */
export const processorsCheck: Check = {
  name: 'processors',
  needsConfig: false,
  run: async ({ config }) => {
    const processors = allowedProcessors();
    const [cpus, cores] = [usableCpus('/', processors), usableCores('/', processors)];
    const nodes = new Set(processors?.map(({ node }) => node)).size;
    const found = [
      `${cpus}, with ${cores} ${cores === 1 ? 'core' : 'cores'}`,
      ...(processors ? [`numbers ${processorListText(processors.map(({ id }) => id))}`] : []),
      ...(nodes > 1 ? [`${nodes} NUMA nodes`] : []),
    ];
    const results: CheckResult[] = [ok('processors', found.join('; '))];
    for (const [name, options] of Object.entries(config.deployments)) {
      try {
        checkAffinity(name, options, { processors });
      } catch (error) {
        results.push(fail('processors', reasonOf(error), 'name processors that the host may use, or "auto"'));
      }
    }
    return results;
  },
};

const LEAST_MEMORY = 512 * 2 ** 20;

/** Files that the host opens besides one for each connection. */
const OWN_FILES = 512;
const LEAST_FILES = 256;

/** The limit of open files. Node raises the soft limit to the hard limit when it starts. */
export const openFilesCheck: Check = {
  name: 'open files',
  needsConfig: false,
  run: async ({ config }) => {
    const limits = await readFile('/proc/self/limits', 'utf8').catch(() => '');
    const text = /^Max open files\s+(\d+|unlimited)/m.exec(limits)?.[1];
    if (text === undefined) return [];
    const limit = text === 'unlimited' ? Number.POSITIVE_INFINITY : Number(text);
    return [openFilesResult(limit, config.limits.max_connections)];
  },
};

/** Returns the result for a limit of open files and a limit of connections. */
export function openFilesResult(limit: number, connections: number): CheckResult {
  const found = Number.isFinite(limit) ? `at most ${limit}` : 'unlimited';
  if (limit < LEAST_FILES)
    return fail('open files', found, `raise the limit to ${connections + OWN_FILES} (ulimit -n)`);
  return limit < connections + OWN_FILES
    ? warn(
        'open files',
        `${found}, with limits.max_connections at ${connections}`,
        `raise the limit to ${connections + OWN_FILES} (ulimit -n, LimitNOFILE of systemd), or lower ` +
          `limits.max_connections`,
      )
    : ok('open files', found);
}
