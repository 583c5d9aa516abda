import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Command } from 'commander';
import { program } from '../../cli/program.ts';
import { SETTINGS } from '../../base/config/settings.ts';
import { packageRoot } from '../../base/core/package-root.ts';
import { startVariedApp } from '../helpers/varied-app.ts';

/** All names that users of the package write down: exports, commands, settings, routes and the world of guests. */
export interface PublicSurface {
  /** Names of values and of types, for each entry point. */
  readonly exports: Readonly<Record<string, { readonly values: readonly string[]; readonly types: readonly string[] }>>;
  /** Commands with their arguments and options. */
  readonly commands: readonly string[];
  /** Keys of the configuration with their variables and flags. */
  readonly settings: readonly string[];
  /** Operations with their parameters and statuses, and names of schemas. */
  readonly http: readonly string[];
  /** Lines of `wit/world.wit` without comments. */
  readonly world: readonly string[];
}

export const SURFACE_FILE: string = join(packageRoot, 'host/test/public-surface/surface.json');

export async function publicSurface(): Promise<PublicSurface> {
  return {
    exports: await exportsOf(),
    commands: await allCommands(),
    settings: settings(),
    http: await http(),
    world: world(),
  };
}

/** Only the group of the command that is asked for has flags. */
async function allCommands(): Promise<string[]> {
  const root = await program([], { exitCode: 0 });
  const [first = ''] = commandsOf(root, []);
  const asked = root.commands.map(async (stub) => {
    const { commands } = await program([stub.name()], { exitCode: 0 });
    return commands.filter((command) => command.name() === stub.name());
  });
  return [first, ...(await Promise.all(asked)).flat().flatMap((command) => commandsOf(command, [root.name()]))];
}

async function exportsOf(): Promise<PublicSurface['exports']> {
  const { exports } = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as {
    exports: Record<string, string | { types: string; node?: string; default: string }>;
  };
  const found: [string, PublicSurface['exports'][string]][] = [];
  for (const [entry, target] of Object.entries(exports)) {
    if (typeof target === 'string') continue;
    const module = (await import(pathToFileURL(join(packageRoot, target.node ?? target.default)).href)) as object;
    const values = Object.keys(module).sort();
    const types = [...declaredNames(join(packageRoot, target.types))].filter((name) => !values.includes(name)).sort();
    found.push([entry, { values, types }]);
  }
  return Object.fromEntries(found);
}

/** Returns the names that a declaration file exports, including names from files that it re-exports as a whole. */
function declaredNames(file: string): Set<string> {
  const text = readFileSync(file, 'utf8');
  const lists = [...text.matchAll(/^export (?:type )?\{([^}]*)\}/gm)].flatMap(([, list = '']) => list.split(','));
  const listed = lists.map(
    (item) =>
      item
        .trim()
        .replace(/^type /, '')
        .split(' as ')
        .at(-1) ?? '',
  );
  const declared = [
    ...text.matchAll(/^export (?:declare )?(?:abstract )?(?:class|function|const|interface|type) ([\w$]+)/gm),
  ].map(([, name = '']) => name);
  const spaces = [...text.matchAll(/^export \* as (\w+)/gm)].map(([, name = '']) => name);
  const whole = [...text.matchAll(/^export \* from '(\.[^']+)'/gm)].flatMap(([, path = '']) => [
    ...declaredNames(join(dirname(file), path.replace(/\.[jt]s$/, '.d.ts'))),
  ]);
  return new Set([...listed, ...declared, ...spaces, ...whole].filter((name) => name !== ''));
}

function commandsOf(command: Command, path: readonly string[]): string[] {
  const name = [...path, command.name()];
  const words = [
    ...command.registeredArguments.map((argument) =>
      argument.required ? `<${argument.name()}>` : `[${argument.name()}]`,
    ),
    ...command.options.map(({ flags }) => flags).sort(),
  ];
  return [[...name, ...words].join(' '), ...command.commands.flatMap((child) => commandsOf(child, name))];
}

const settings = (): string[] =>
  [
    ...SETTINGS.map(({ key, kind, env, alsoEnv, flag }) => [key, kind, env, alsoEnv, flag]),
    ...SETTINGS.flatMap(({ key, folders = [] }) => folders.map(({ env, within }) => [key, 'folder', env, within])),
  ].map((parts) => parts.filter((part) => part !== undefined).join(' '));

interface Parameter {
  readonly name: string;
  readonly in: string;
}

interface Operation {
  readonly parameters?: readonly Parameter[];
  readonly responses: Readonly<Record<string, unknown>>;
}

const METHODS = ['get', 'put', 'post', 'delete'] as const;
type PathItem = { readonly parameters?: readonly Parameter[] } & {
  readonly [method in (typeof METHODS)[number]]?: Operation;
};

async function http(): Promise<string[]> {
  await using app = await startVariedApp({ config: { api_service: { enabled: true }, mcp: { enabled: true } } });
  const response = await fetch(`${app.url}/openapi.json`);
  const document = (await response.json()) as { paths: Record<string, PathItem>; components: { schemas: object } };
  const operations = Object.entries(document.paths).flatMap(([path, item]) =>
    METHODS.flatMap((method) => (item[method] ? [operationLine(path, method, item, item[method])] : [])),
  );
  return [...operations.sort(), ...Object.keys(document.components.schemas).sort()];
}

function operationLine(
  path: string,
  method: string,
  item: PathItem,
  { parameters = [], responses }: Operation,
): string {
  const names = [...(item.parameters ?? []), ...parameters].map((parameter) => `${parameter.in} ${parameter.name}`);
  return `${method.toUpperCase()} ${path} (${names.join(', ')}): ${Object.keys(responses).join(' ')}`;
}

function world(): string[] {
  const text = readFileSync(join(packageRoot, 'wit/world.wit'), 'utf8');
  return text
    .split('\n')
    .map((line) => line.replace(/\/\/.*$/, '').trim())
    .filter((line) => line !== '');
}
