// Runs `npm run demo` and writes docs/demo.svg, a picture of its real output in which each piece appears when the
// program wrote it. Start it with `npm run record:demo`, after `npm run demo` has run once, because the recording
// should not show the set-up.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot } from '../../host/base/core/package-root.ts';
import { type Piece, terminalSvg } from './terminal-svg.ts';

const LONGEST_PAUSE_MS = 2000;

const start = performance.now();
const pieces: Piece[] = [{ at: 0, text: '$ npm run demo\n' }];
const demo = spawn('npm', ['run', '--silent', 'demo'], { cwd: packageRoot, stdio: ['ignore', 'pipe', 'inherit'] });
demo.stdout.setEncoding('utf8').on('data', (text: string) => {
  pieces.push({ at: Math.round(performance.now() - start), text });
  process.stdout.write(text);
});
const [code] = (await once(demo, 'close')) as [number | null];
if (code === 0) {
  const file = join(packageRoot, 'docs/demo.svg');
  await writeFile(file, terminalSvg('A run of npm run demo', pieces, LONGEST_PAUSE_MS));
  const seconds = ((performance.now() - start) / 1000).toFixed(0);
  process.stderr.write(`${file}: ${seconds} s; pauses of more than ${LONGEST_PAUSE_MS / 1000} s are shortened\n`);
} else process.exitCode = 1;
