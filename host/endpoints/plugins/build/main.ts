// The process of one build. It does the steps that need no plugin, reads the manifest of a plugin from its standard
// input, builds the component and leaves the result in its folder.
import { readFile, writeFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { toErrorRecord } from '../../../base/core/errors.ts';
import type { PluginManifest } from '../set/manifest.ts';
import { bundlePlugin } from './bundle.ts';
import { type BuildOutcome, type BuildStart, buildFiles } from './contained-build.ts';
import { beginComponent } from './make-component.ts';

const folder = process.argv[2] ?? '';
const files = buildFiles(folder);
let outcome: BuildOutcome;
try {
  const { workshop, rehearse } = JSON.parse(await readFile(files.start, 'utf8')) as BuildStart;
  const isAhead = rehearse !== undefined || workshop.kept === undefined;
  const make = await beginComponent(workshop, folder, isAhead);
  if (rehearse) await bundlePlugin(rehearse, workshop.tools).catch(() => {});
  const { component, ...made } = await make(JSON.parse(await text(process.stdin)) as PluginManifest);
  await writeFile(files.component, component);
  outcome = { made };
} catch (error) {
  outcome = { error: toErrorRecord(error) };
}
await writeFile(files.outcome, JSON.stringify(outcome));
process.exit(); // a compiler whose component is not needed may still run
