// Packs a release: npm run pack:release -- <folder>
import { loadConfig } from '../../config/index.ts';
import { packRelease } from './pack-release.ts';

const [folder = 'build/release'] = process.argv.slice(2);
const { main, prebuilt, sbom } = await packRelease(folder, loadConfig().cache_dir);
process.stdout.write(`${main}\n${prebuilt}\n${sbom}\n`);
