import { ModelStore } from '../../setup/models/index.ts';
import { silentLogger } from '../../base/core/log/logger.ts';

/** Returns the path of a model that the set-up of the tests pulled. */
export async function testModel(id: string): Promise<string> {
  const cacheDir = process.env.AANA_CACHE_DIR;
  if (!cacheDir) throw new Error('AANA_CACHE_DIR is not set: run the tests with npm test');
  const model = await new ModelStore({ cacheDir, log: silentLogger }).resolve(id);
  if (!model) throw new Error(`${id} is not in ${cacheDir}: run npm test`);
  return model.path;
}
