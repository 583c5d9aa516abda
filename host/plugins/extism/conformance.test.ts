import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assemblyScriptGuest, installCompiler } from '../fixtures/assemblyscript/guest.ts';
import { conformance } from '../fixtures/conformance-suite.ts';

const dir = await mkdtemp(join(tmpdir(), 'aana-assemblyscript-'));
process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
const guest = assemblyScriptGuest(dir, await installCompiler(dir));
conformance('blocking', guest);
conformance('suspending', guest);
