import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { loadConfig } from '../base/config/index.ts';
import { silentLogger } from '../base/core/log/logger.ts';
import { findFfmpeg } from '../io/media/index.ts';
import { ModelStore } from '../setup/models/index.ts';

/**
 * Returns the environment with which Node 20 reads the authorities of NODE_EXTRA_CA_CERTS at the first TLS connection
 * of a process. It would read them, and its own, at the start of each process, which doubles the CPU time of that
 * start. Later versions read them late.
 */
async function lateAuthorities(env: NodeJS.ProcessEnv, folder: string): Promise<NodeJS.ProcessEnv> {
  const { NODE_EXTRA_CA_CERTS: extra, ...others } = env;
  if (!process.versions.node.startsWith('20.') || !extra) return env;
  const { SSL_CERT_FILE: other, NODE_OPTIONS: options } = env;
  const files = other ? new Set([extra, other]) : [extra];
  const texts = await Promise.all([...files].map((file) => readFile(file, 'utf8')));
  await mkdir(folder, { recursive: true });
  const path = join(folder, 'authorities.pem');
  await writeFile(`${path}.${process.pid}`, [...rootCertificates, ...texts].join('\n'));
  await rename(`${path}.${process.pid}`, path); // other runs of tests read it
  return {
    ...others,
    SSL_CERT_FILE: path,
    NODE_OPTIONS: [options, '--use-openssl-ca'].filter(Boolean).join(' '),
  };
}

/**
 * Returns the environment of every test file, with the models, ffmpeg and the speech sample that the set-up of the
 * tests fetched.
 */
export async function testEnvironment(env: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
  const { cache_dir: cacheDir, media } = loadConfig({ env });
  const models = new ModelStore({ cacheDir, log: silentLogger, offline: true });
  const ffmpeg = await findFfmpeg({
    configured: media.ffmpeg_path ?? undefined,
    cached: await models.resolveTool('ffmpeg'),
    log: silentLogger,
  });
  const speech = await models.resolveTool('speech-sample');
  return {
    ...(await lateAuthorities(env, join(cacheDir, 'tests'))),
    AANA_CACHE_DIR: cacheDir,
    ...(ffmpeg && { AANA_TEST_FFMPEG: ffmpeg.path }),
    ...(speech && { AANA_TEST_SPEECH: speech }),
  };
}
