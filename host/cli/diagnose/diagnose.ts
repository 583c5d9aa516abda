import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { cpus, loadavg, release, tmpdir, totalmem, uptime } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import * as tar from 'tar';
import { type Config, describeConfig, redactorOf } from '../../base/config/index.ts';
import { OperatorClient } from '../../apis/control/index.ts';
import { fail } from '../../base/core/errors.ts';
import { randomSuffix } from '../../base/core/ids.ts';
import { formatRecord } from '../../base/core/log/logger.ts';
import { packageVersion } from '../../base/core/package-root.ts';
import { reasonOf } from '../doctor/check.ts';
import { doctorText, examine } from '../doctor/doctor.ts';

export interface DiagnoseOptions {
  readonly load: () => Config;
  readonly env: NodeJS.ProcessEnv;
  /** The file to write. It must not exist. */
  readonly output: string;
  /** Selects an application if several run. */
  readonly port: number | undefined;
  readonly host: string | undefined;
}

/**
 * Writes a `.tar.gz` with what somebody needs who looks for a fault: versions, the report of the doctor, the
 * configuration, and the state, log, metrics and traces of the running application. It has no secrets and no contents
 * of requests. What cannot be read is replaced by the reason. Returns the path.
 */
export async function diagnose({ load, env, output, port, host }: DiagnoseOptions): Promise<string> {
  const target = resolve(output);
  if (existsSync(target)) throw fail('InvalidInput', `${target} exists; name another file with --output`);
  const config = attempt(load);
  const redact = redactorOf(config instanceof Error ? undefined : config, env);
  const [report, application] = await Promise.all([
    examine(load, env),
    config instanceof Error ? withReason(config) : ofApplication(config, { port, host }).catch(withReason),
  ]);
  const files: Readonly<Record<string, unknown>> = {
    'versions.json': versions(),
    'doctor.json': report,
    'doctor.txt': doctorText(report),
    'configuration.json': config instanceof Error ? { error: config.message } : describeConfig(config),
    ...application,
  };
  const folder = await mkdtemp(join(tmpdir(), 'aana-diagnosis-')); // of mode 0700
  const partial = `${target}.${randomSuffix()}.partial`;
  try {
    for (const [name, content] of Object.entries(files)) {
      const clean = redact(content);
      const text = typeof clean === 'string' ? clean : `${JSON.stringify(clean, undefined, 2)}\n`;
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), text, { mode: 0o600 });
    }
    await tar.create({ file: partial, mode: 0o600, gzip: true, cwd: folder, portable: true }, await readdir(folder));
    await rename(partial, target);
    return target;
  } finally {
    await rm(folder, { recursive: true, force: true });
    await rm(partial, { force: true });
  }
}

/** Returns the files about the running application. Throws if none runs. */
async function ofApplication(
  config: Config,
  choice: Pick<DiagnoseOptions, 'port' | 'host'>,
): Promise<Record<string, unknown>> {
  const operator = await OperatorClient.open({ runtimeDir: config.runtime_dir, ...choice });
  const [{ application: status, plugins }, { configuration, logs, metrics, traces }] = await Promise.all([
    operator.ask('get /api/application', {}),
    operator.ask('get /api/diagnosis', {}),
  ]);
  return {
    'application/status.json': status,
    'application/plugins.json': plugins,
    'application/configuration.json': configuration,
    'application/log.txt': logs.map((record) => formatRecord(record, 'text')).join(''),
    'application/traces.json': traces,
    ...(metrics !== null && { 'application/metrics.txt': metrics }),
  };
}

function withReason(error: unknown): Record<string, unknown> {
  return { 'application.txt': `${reasonOf(error)}\n` };
}

function attempt<T>(work: () => T): T | Error {
  try {
    return work();
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}

function versions(): unknown {
  return {
    'aana-host': packageVersion(),
    time: new Date().toISOString(),
    platform: `${process.platform}-${process.arch}`,
    system: release(),
    uptime_s: Math.round(uptime()),
    processors: cpus().length,
    processor: cpus()[0]?.model,
    memory_bytes: totalmem(),
    load: loadavg(),
    node: process.versions,
  };
}
