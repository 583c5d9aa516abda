// Writes the generated pages in docs/: npm run docs
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../host/base/core/package-root.ts';
import { PAGES } from './pages.ts';

for (const [name, render] of Object.entries(PAGES)) writeFileSync(join(packageRoot, 'docs', name), render());
