#!/usr/bin/env node
// Entry point of a clone. Installs the dependencies, bundles the sources, then runs the program. Only the tests need
// the compiler and other development packages. It runs before anything is installed, so it is plain JavaScript without
// dependencies. The next run reuses all results, and concurrent runs wait for each other.
//
//   node host/bootstrap/start.mjs <arguments of aana-host>
//   node host/bootstrap/start.mjs --test [files…]     set up for the tests, then run them
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { bundleSources, compileSources, installDependencies } from './install.mjs';
import { SetupError, requireNode } from './requirements.mjs';
import { withFileLock } from '../setup/packages/file-lock.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const cli = 'bundle/host/cli/main.js';

/** Runs `node …` in the foreground with the terminal's signals, and returns its exit code. */
function runNode(args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--enable-source-maps', ...args], {
      cwd: process.cwd(),
      stdio: 'inherit',
      ...options,
    });
    // The terminal sends Ctrl-C to the whole group; a supervisor sends SIGTERM only to this process.
    const forward = (signal) => child.kill(signal);
    const ignore = () => {};
    process.on('SIGTERM', forward);
    process.on('SIGHUP', forward);
    process.on('SIGINT', process.stdin.isTTY ? ignore : forward);
    child.on('error', reject);
    child.on('exit', (code, signal) =>
      resolve(signal ? 128 + (signal === 'SIGINT' ? 2 : signal === 'SIGKILL' ? 9 : 15) : (code ?? 1)),
    );
  });
}

async function main(args) {
  requireNode(process.versions.node);
  const isTest = args[0] === '--test';
  const setUp = async () => {
    await installDependencies(root, { forTests: isTest });
    await bundleSources(root);
    if (isTest) await compileSources(root);
  };
  await withFileLock(`${root}.aana/setup.lock`, setUp, {
    onWait: () => process.stderr.write('waiting for another process that installs this checkout…\n'),
  });
  if (!isTest) return runNode([`${root}${cli}`, ...args]);
  const ready = await runNode([`${root}${cli}`, 'setup', '--for', 'test', `${root}plugins`]);
  if (ready !== 0) return ready;
  return runNode([`${root}dist/host/test/run.js`, ...args.slice(1)]);
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error) => {
    process.stderr.write(`${error instanceof SetupError ? error.message : (error?.stack ?? error)}\n`);
    process.exitCode = 1;
  },
);
