// `npm run build:sandbox` builds the sandbox of plugins with the programs that test it, writes the types that it offers
// (`wit/generated/types.json`), and prints its path.
import { writeFile } from 'node:fs/promises';
import { loadConfig } from '../../host/base/config/index.ts';
import { createLogger } from '../../host/base/core/log/logger.ts';
import { buildSandbox } from '../../host/setup/native-build/index.ts';
import { typesFile } from '../../host/endpoints/plugins/sandbox/component-types.ts';
import { typesOfWorld } from './types.ts';

const log = createLogger({ level: 'info', format: 'text', write: (line) => process.stderr.write(line) });
const sandbox = await buildSandbox({ cacheDir: loadConfig().cache_dir, log, withTests: true });
await writeFile(typesFile, `${JSON.stringify(await typesOfWorld(sandbox), null, 2)}\n`);
process.stdout.write(`${sandbox.program}\n`);
