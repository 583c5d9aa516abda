// Writes surface.json again. Run it after a change of the public surface that is wanted.
import { writeFileSync } from 'node:fs';
import { publicSurface, SURFACE_FILE } from './surface.ts';

writeFileSync(SURFACE_FILE, `${JSON.stringify(await publicSurface(), undefined, 1)}\n`);
process.exit(0);
