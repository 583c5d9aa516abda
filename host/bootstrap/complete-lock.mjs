#!/usr/bin/env node
// Adds optional packages of other platforms to package-lock.json, which npm omits if the registry in use lacks them.
// `npm ci` refuses a lock without them. Run it after changing dependencies: node host/bootstrap/complete-lock.mjs
// [--check]
import fs from 'node:fs';
import { fileURLToPath } from 'node:url';

const file = fileURLToPath(new URL('../../package-lock.json', import.meta.url));
const lock = JSON.parse(fs.readFileSync(file, 'utf8'));

/** Returns whether the lock has `name` where Node would find it for the package at `from`. */
function isLocked(name, from) {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf('/node_modules/')))) {
    if (lock.packages[`${at ? `${at}/` : ''}node_modules/${name}`]) return true;
    if (!at) return false;
  }
}

const missing = {};
for (const [at, entry] of Object.entries(lock.packages)) {
  for (const [name, range] of Object.entries(entry.optionalDependencies ?? {})) {
    if (isLocked(name, at)) continue;
    const os = /(?:^|[-/])(aix|android|darwin|freebsd|linux|netbsd|openbsd|openharmony|sunos|win32)(?=-)/.exec(
      name,
    )?.[1];
    const cpu = /(?<=-)(arm64|arm|ia32|loong64|mips64el|ppc64|riscv64|s390x|wasm32|x64)(?=-|$)/.exec(name)?.[1];
    const libc = /musl/.test(name) ? 'musl' : /-gnu/.test(name) && os === 'linux' ? 'glibc' : undefined;
    missing[`node_modules/${name}`] = {
      version: range.replace(/^[\^~]/, ''),
      ...(cpu && { cpu: [cpu] }),
      ...(libc && { libc: [libc] }),
      optional: true,
      ...(os && { os: [os] }),
    };
  }
}

const names = Object.keys(missing);
if (names.length > 0 && process.argv.includes('--check')) {
  process.stderr.write(
    `package-lock.json lacks ${names.length} optional packages of other platforms (${names[0]}, …): run node ` +
      `host/bootstrap/complete-lock.mjs\n`,
  );
  process.exitCode = 1;
} else if (names.length > 0) {
  const { '': root, ...rest } = { ...lock.packages, ...missing };
  lock.packages = { '': root, ...Object.fromEntries(Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1))) };
  fs.writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  process.stdout.write(`added ${names.length} entries\n`);
}
