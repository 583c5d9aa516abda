import { loadConfig } from '../base/config/index.ts';
import { silentLogger } from '../base/core/log/logger.ts';
import { findFfmpeg } from '../io/media/index.ts';
import { ModelStore } from '../setup/models/index.ts';

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
    ...env,
    AANA_CACHE_DIR: cacheDir,
    ...(ffmpeg && { AANA_TEST_FFMPEG: ffmpeg.path }),
    ...(speech && { AANA_TEST_SPEECH: speech }),
  };
}
