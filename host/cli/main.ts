#!/usr/bin/env node
import { ignoresOutputErrors } from '../application/start/output-errors.ts';
import { runCommand } from './run-command.ts';

// `aana-host models list | head` must not fail.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (ignoresOutputErrors()) return; // a server keeps running
  if (error.code === 'EPIPE') process.exit(0);
  process.stderr.write(`error: the output cannot be written: ${error.message}\n`);
  process.exit(1);
});
process.stderr.on('error', () => {}); // it cannot be reported anywhere

process.exitCode = await runCommand(process.argv.slice(2));
// Everything has been closed by now. Resources that are still open must not keep the process running.
setTimeout(() => process.exit(), 2000).unref();
