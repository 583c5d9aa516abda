import { spawnSync } from 'node:child_process';
import { type AanaError, fail } from '../../base/core/errors.ts';

export type ToolName = 'a C++ compiler' | 'cmake' | 'git';

interface Tool {
  readonly what: ToolName;
  readonly commands: readonly string[];
  readonly install: string;
}

const TOOLS: readonly Tool[] = [
  {
    what: 'a C++ compiler',
    commands: ['c++', 'g++', 'clang++'],
    install: 'Debian/Ubuntu: apt-get install g++; macOS: xcode-select --install',
  },
  { what: 'cmake', commands: ['cmake'], install: 'Debian/Ubuntu: apt-get install cmake; macOS: brew install cmake' },
  { what: 'git', commands: ['git'], install: 'Debian/Ubuntu: apt-get install git; macOS: xcode-select --install' },
];

const MINIMUM_CMAKE: readonly [number, number] = [3, 19];

/** Throws `MissingBuildTool`, which names every missing tool and how to install it. */
export function checkTools(env: NodeJS.ProcessEnv, needed: readonly ToolName[] = TOOLS.map(({ what }) => what)): void {
  const missing = TOOLS.filter(
    (tool) => needed.includes(tool.what) && !toolCommands(tool, env).some((command) => runs(command, env)),
  );
  if (missing.length > 0) {
    const sentences = missing.map((tool) => `${tool.what} is missing: install it (${tool.install})`);
    throw missingTool(sentences.join('. '));
  }
  const version = /(\d+)\.(\d+)/.exec(spawnSync('cmake', ['--version'], { env, encoding: 'utf8' }).stdout);
  const [major, minor] = [Number(version?.[1]), Number(version?.[2])];
  if (major < MINIMUM_CMAKE[0] || (major === MINIMUM_CMAKE[0] && minor < MINIMUM_CMAKE[1])) {
    throw missingTool(
      `cmake ${version?.[0]} is too old: install ${MINIMUM_CMAKE.join('.')} or newer (for example: pip install cmake)`,
    );
  }
}

/** Throws `MissingBuildTool` if a command cannot be run. `install` says how to install it. */
export function checkRuns(command: string, install: string): void {
  if (!runs(command, process.env)) throw missingTool(`${command} is missing: install it (${install})`);
}

export function missingTool(message: string): AanaError {
  return fail('MissingBuildTool', message);
}

function toolCommands(tool: Tool, env: NodeJS.ProcessEnv): readonly string[] {
  return tool.commands[0] === 'c++' && env['CXX'] ? [env['CXX']] : tool.commands;
}

function runs(command: string, env: NodeJS.ProcessEnv): boolean {
  return spawnSync(command, ['--version'], { stdio: 'ignore', env }).status === 0;
}
