#!/usr/bin/env node
// Adds to package-lock.json what npm omits. Run it after changing dependencies: node host/bootstrap/complete-lock.mjs
// [--check]
//
// - Optional packages of other platforms that the registry in use lacks. `npm ci` refuses a lock without them.
// - Addresses of the archives. Without them `npm ci` reads all versions of each package, which takes as much CPU time
//   as the rest. The host is a placeholder, which .npmrc names, and npm takes the configured registry instead.
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

/** Returns the address of a package's archive below the placeholder. */
function addressOf(at, { name = at.replace(/^.*node_modules\//, ''), version }) {
  return `https://registry.invalid/${name}/-/${name.replace(/^.*\//, '')}-${version}.tgz`;
}

const missing = {};
let changes = 0;
for (const [at, entry] of Object.entries(lock.packages)) {
  if (entry.integrity !== undefined && entry.resolved !== addressOf(at, entry)) {
    const { name, version, resolved: _, ...rest } = entry;
    lock.packages[at] = { ...(name && { name }), version, resolved: addressOf(at, entry), ...rest };
    changes += 1;
  }
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
changes += names.length;
if (changes > 0 && process.argv.includes('--check')) {
  process.stderr.write(
    `package-lock.json lacks ${changes} packages of other platforms or addresses: run node ` +
      `host/bootstrap/complete-lock.mjs\n`,
  );
  process.exitCode = 1;
} else if (changes > 0) {
  if (names.length > 0) {
    const { '': root, ...rest } = { ...lock.packages, ...missing };
    lock.packages = { '': root, ...Object.fromEntries(Object.entries(rest).sort(([a], [b]) => (a < b ? -1 : 1))) };
  }
  fs.writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  process.stdout.write(`added or changed ${changes} entries\n`);
}
