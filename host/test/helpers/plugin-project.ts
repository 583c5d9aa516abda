import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../base/core/package-root.ts';

/** Sets up a plugin author's project like `npm install` does, with this checkout as the package. */
export function linkDependencies(project: string): void {
  mkdirSync(join(project, 'node_modules', '@types'), { recursive: true });
  const link = (to: string, from: string): void => {
    if (!existsSync(join(project, 'node_modules', to))) symlinkSync(from, join(project, 'node_modules', to));
  };
  link('aana-host', packageRoot);
  for (const name of ['@types/node', 'undici-types', 'typescript']) link(name, join(packageRoot, 'node_modules', name));
  mkdirSync(join(project, 'node_modules', '.bin'), { recursive: true });
  const programs = { 'aana-host': 'bundle/host/cli/main.js', tsc: 'node_modules/typescript/bin/tsc' };
  for (const [name, file] of Object.entries(programs)) {
    writeFileSync(
      join(project, 'node_modules/.bin', name),
      `#!/bin/sh\nexec "${process.execPath}" "${join(packageRoot, file)}" "$@"\n`,
      { mode: 0o755 },
    );
  }
}

/** Copies a project without its build output, and links its dependencies. */
export function copyProject(from: string, to: string): void {
  cpSync(from, to, { recursive: true, filter: (path) => !/[\\/](node_modules|build|dist)$/.test(path) });
  linkDependencies(to);
}

/** Runs a Node program in the project. Throws an Error with its output if it fails. */
export function runNode(project: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, [...args], { cwd: project, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${args.join(' ')} exited with ${status}:\n${stdout}${stderr}`);
  return stdout;
}

/** Compiles a project strictly and runs its tests, the compiled `files`. Returns the number of passed tests. */
export function testProject(project: string, files: readonly string[] = ['build/index.test.js']): number {
  runNode(project, join(packageRoot, 'node_modules/typescript/bin/tsc'));
  const report = runNode(project, '--test', '--test-reporter=tap', ...files);
  return Number(/^# pass (\d+)$/m.exec(report)?.[1] ?? 0);
}

/** Returns the `devDependencies` of a project. */
export function devDependenciesOf(project: string): Record<string, string> {
  const { devDependencies } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as {
    devDependencies: Record<string, string>;
  };
  return devDependencies;
}
