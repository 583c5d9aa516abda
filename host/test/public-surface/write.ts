// Writes surface.json. Run it after an intended change of the public surface.
import { writeFileSync } from 'node:fs';
import { publicSurface, SURFACE_FILE } from './surface.ts';

writeFileSync(SURFACE_FILE, `${JSON.stringify(await publicSurface(), undefined, 1)}\n`);
process.exit(0);
