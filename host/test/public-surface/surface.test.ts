// Checks that names which users write down change only on purpose.
import { readFileSync } from 'node:fs';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { publicSurface, type PublicSurface, SURFACE_FILE } from './surface.ts';

const Surface = suite('the public surface');

Surface('equals surface.json; after a change on purpose run node dist/host/test/public-surface/write.js', async () => {
  const stored = JSON.parse(readFileSync(SURFACE_FILE, 'utf8')) as PublicSurface;
  const found = await publicSurface();
  for (const part of Object.keys(found) as (keyof PublicSurface)[]) assert.equal(found[part], stored[part], part);
  assert.ok(
    found.commands.length > 20 && found.settings.length > 50 && found.http.length > 20 && found.world.length > 100,
    'the surface was not read',
  );
});

Surface.run();
