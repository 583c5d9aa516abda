// Packs a release: npm run pack:release -- <folder> [<other platform>…]
import { loadConfig } from '../../host/base/config/index.ts';
import { platformName } from '../../host/setup/native-build/index.ts';
import { packRelease } from './pack-release.ts';

const [folder = 'build/release', ...others] = process.argv.slice(2);
const platforms = [...new Set([platformName, ...others])];
const { main, prebuilt, sbom } = await packRelease(folder, loadConfig().cache_dir, platforms);
process.stdout.write(`${[main, ...prebuilt, sbom].join('\n')}\n`);
