// The process of one build. It builds the component of the request in its folder and leaves the result there.
import { readFile, writeFile } from 'node:fs/promises';
import { toErrorRecord } from '../../../base/core/errors.ts';
import { type BuildOutcome, type BuildRequest, buildFiles } from './contained-build.ts';
import { makeComponent } from './make-component.ts';

const folder = process.argv[2] ?? '';
const files = buildFiles(folder);
const { manifest, workshop } = JSON.parse(await readFile(files.request, 'utf8')) as BuildRequest;
let outcome: BuildOutcome;
try {
  const { component, ...made } = await makeComponent(manifest, workshop, folder);
  await writeFile(files.component, component);
  outcome = { made };
} catch (error) {
  outcome = { error: toErrorRecord(error) };
}
await writeFile(files.outcome, JSON.stringify(outcome));
