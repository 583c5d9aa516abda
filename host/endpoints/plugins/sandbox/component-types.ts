import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../../base/core/package-root.ts';
import { type CborValue, MalformedError, readCbor } from './cbor.ts';

/** What a component imports or exports: its interfaces with the types of their functions. */
export interface ComponentTypes {
  readonly imports: readonly InterfaceTypes[];
  readonly exports: readonly InterfaceTypes[];
}

export interface InterfaceTypes {
  /** With its version: `wasi:io/streams@0.2.3`. */
  readonly name: string;
  /** By name: the text of a function's type, `resource` or `type`. Undefined for what is no interface. */
  readonly members: ReadonlyMap<string, string> | undefined;
  /** What it is, when it is no interface: `a core module`. */
  readonly what?: string | undefined;
}

/** The types of what this host offers. `npm run build:sandbox` writes it. */
export const typesFile: string = join(packageRoot, 'wit', 'generated', 'types.json');

/** What a host offers, in the form of {@link typesFile}. Names of interfaces of WASI have no version. */
export interface OfferedTypes {
  readonly imports: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly exports: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

let offered: OfferedTypes | undefined;
/** Returns what this host offers. */
export const offeredTypes = (): OfferedTypes =>
  (offered ??= JSON.parse(readFileSync(typesFile, 'utf8')) as OfferedTypes);

/** Reads the description that the sandbox makes of a component. Throws `MalformedError`. */
export function readDescription(bytes: Buffer): ComponentTypes {
  const described = readCbor(bytes);
  if (typeof described !== 'object' || described === null || !('imports' in described) || !('exports' in described))
    throw new MalformedError('a description has another form');
  return { imports: interfaces(described['imports']), exports: interfaces(described['exports']) };
}

/**
 * Returns what hinders a component from running on this host, for its author. Undefined when all of its imports are
 * offered, and it exports what the host calls, with the same types.
 */
export function typeProblem(component: ComponentTypes, offered: OfferedTypes): string | undefined {
  for (const { name, members, what } of component.imports) {
    if (!members) return `it imports ${cut(name)}, which is ${what}, and not an interface`;
    const known = membersOf(offered.imports, name);
    if (!known) return `it imports ${cut(name)}, which the host does not offer${versionHint(offered.imports, name)}`;
    const problem = memberProblem(`it imports ${cut(name)}`, members, known);
    if (problem !== undefined) return problem;
  }
  for (const [name, known] of Object.entries(offered.exports)) {
    const found = component.exports.find((item) => item.name === name)?.members;
    if (!found) return `it does not export ${name}`;
    for (const [member, type] of Object.entries(known)) {
      if (!type.startsWith('func(')) continue; // a name for a type of its functions
      if (!found.has(member)) return `it exports ${name} without ${member}`;
      if (found.get(member) !== type) return difference(`it exports ${name} ${member}`, found.get(member)!, type);
    }
  }
  return undefined;
}

/** WASI 0.2 only adds in its patch versions. */
export const versionless = (name: string): string => name.replace(/^(wasi:[^@]+)@0\.2\.\d+$/, '$1');

function membersOf(offered: OfferedTypes['imports'], name: string): Readonly<Record<string, string>> | undefined {
  const plain = versionless(name);
  return Object.hasOwn(offered, plain) ? offered[plain] : undefined;
}

function versionHint(offered: OfferedTypes['imports'], name: string): string {
  const bare = name.split('@')[0]!;
  const other = Object.keys(offered).find((known) => known.split('@')[0] === bare);
  return other === undefined ? '' : `: it offers ${other.includes('@') ? other : `${other} in version 0.2`}`;
}

function memberProblem(
  what: string,
  members: ReadonlyMap<string, string>,
  known: Readonly<Record<string, string>>,
): string | undefined {
  for (const [name, type] of members) {
    const expected = Object.hasOwn(known, name) ? known[name] : undefined;
    if (expected === undefined) return `${what} ${cut(name)}, which the host does not have`;
    if (type !== expected) return difference(`${what} ${cut(name)}`, type, expected);
  }
  return undefined;
}

const around = 60;

/** Says where two types begin to differ. */
function difference(what: string, found: string, expected: string): string {
  let at = 0;
  while (at < found.length && found[at] === expected[at]) at++;
  const start = Math.max(0, at - around);
  const part = (text: string): string => {
    const shown = text.slice(start, at + around);
    return `${start > 0 ? '…' : ''}${shown}${at + around < text.length ? '…' : ''}`;
  };
  return `${what} with the type "${part(found)}", and the host has "${part(expected)}"`;
}

const cut = (name: string): string => (name.length > 128 ? `${name.slice(0, 128)}…` : name);

function interfaces(value: CborValue | undefined): InterfaceTypes[] {
  return list(value).map((item) => {
    const [name, members] = pair(item);
    if (typeof members === 'string') return { name, members: undefined, what: members };
    const map = new Map<string, string>();
    for (const member of list(members)) {
      const [memberName, type] = pair(member);
      if (typeof type !== 'string') throw new MalformedError('a description has another form');
      map.set(memberName, type);
    }
    return { name, members: map };
  });
}

function list(value: CborValue | undefined): readonly CborValue[] {
  if (!Array.isArray(value)) throw new MalformedError('a description has another form');
  return value as readonly CborValue[];
}

function pair(value: CborValue): [string, CborValue] {
  const [name, of, ...more] = list(value);
  if (typeof name !== 'string' || of === undefined || more.length > 0)
    throw new MalformedError('a description has another form');
  return [name, of];
}
