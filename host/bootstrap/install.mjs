import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { SetupError } from './requirements.mjs';

/** Runs a command and shows its title and duration. The command's output is shown only when it fails. */
function step(title, command, args, cwd) {
  return new Promise((resolve, reject) => {
    const startedAt = Date.now();
    const tty = process.stderr.isTTY;
    const seconds = () => Math.round((Date.now() - startedAt) / 1000);
    process.stderr.write(tty ? `${title}…` : `${title}…\n`);
    const ticker = setInterval(
      () => process.stderr.write(tty ? `\r${title}… ${seconds()} s` : `${title}… ${seconds()} s\n`),
      tty ? 1000 : 10_000,
    );
    const child = spawn(command, args, { cwd, stdio: ['ignore', 'pipe', 'pipe'] });
    const output = [];
    child.stdout.on('data', (data) => output.push(data));
    child.stderr.on('data', (data) => output.push(data));
    const finish = (settle) => {
      clearInterval(ticker);
      process.stderr.write(tty ? `\r${title}: ${seconds()} s\n` : `${title}: done in ${seconds()} s\n`);
      settle();
    };
    child.on('error', (error) =>
      finish(() =>
        reject(new SetupError(`${command} cannot be started (${error.message}); install it and try again.`)),
      ),
    );
    child.on('close', (code) => {
      if (code === 0) return finish(resolve);
      finish(() =>
        reject(
          new SetupError(
            `${Buffer.concat(output).toString().trimEnd()}\n${title} failed: \`${command} ${args.join(' ')}\` ended ` +
              `with ${code}.`,
          ),
        ),
      );
    });
  });
}

function hashFiles(files) {
  const hash = createHash('sha256');
  for (const file of files) hash.update(fs.readFileSync(file));
  return hash.digest('hex');
}

const readStamp = (file) => {
  try {
    return fs.readFileSync(file, 'utf8');
  } catch {
    return '';
  }
};

/**
 * Runs `npm ci` if the lock file has changed since the last run, or if the tests need packages that are not there.
 * Development packages are installed for the tests, and kept where they are. Install scripts of packages do not run;
 * this project builds native parts itself.
 */
export async function installDependencies(root, { forTests }) {
  const stamp = path.join(root, 'node_modules/.aana-installed');
  const wanted = hashFiles([path.join(root, 'package.json'), path.join(root, 'package-lock.json')]);
  const hasDevelopment = readStamp(path.join(root, 'node_modules/.package-lock.json')).includes('"dev": true');
  if (readStamp(stamp) === wanted && (hasDevelopment || !forTests)) return;
  const all = forTests || hasDevelopment;
  const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';
  await step(
    `installing dependencies (about ${all ? 98 : 46} MB)`,
    npm,
    ['ci', all ? '--include=dev' : '--omit=dev', '--ignore-scripts', '--no-audit', '--no-fund'],
    root,
  );
  fs.writeFileSync(stamp, wanted);
}

const SOURCE_FOLDERS = ['host', 'native', 'plugins', 'tools', 'wit'];
const SOURCE_FILE = /\.(tsx?|json|wit|mjs)$/;

function newestSource(folder) {
  let newest = 0;
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    if (entry.name === 'node_modules' || entry.name === 'dist' || entry.name.startsWith('.')) continue;
    const at = path.join(folder, entry.name);
    if (entry.isDirectory()) newest = Math.max(newest, newestSource(at));
    else if (SOURCE_FILE.test(entry.name)) newest = Math.max(newest, fs.statSync(at).mtimeMs);
  }
  return newest;
}

/** Runs a step unless `stamp` says that it ran after the last change of a source. */
async function afterChanges(root, stamp, title, args) {
  const file = path.join(root, stamp);
  const newest = Math.max(
    ...SOURCE_FOLDERS.map((folder) => newestSource(path.join(root, folder))),
    fs.statSync(path.join(root, 'tsconfig.base.json')).mtimeMs,
  );
  if (readStamp(file) === String(newest)) return;
  await step(title, process.execPath, args, root);
  fs.writeFileSync(file, String(newest));
}

/** Bundles what users start. */
export const bundleSources = (root) =>
  afterChanges(root, 'bundle/.aana-bundled', 'bundling', ['host/bootstrap/bundle.mjs']);

/** Compiles the tests and what they import. */
export const compileSources = (root) =>
  afterChanges(root, 'dist/.aana-compiled', 'compiling', ['node_modules/typescript/bin/tsc', '-b']);
