import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { packageRoot, packageVersion } from '../../../base/core/package-root.ts';
import { answerCasesOf } from '../../../endpoints/registry/index.ts';
import { comment, printType, propertyName, quoted } from './print-types.ts';
import {
  type ApiDocument,
  type EndpointOperation,
  type Parameter,
  type PlainOperation,
  readDocument,
} from './read-document.ts';

/** Names that the runtime declares or uses. A schema with such a name gets another one. */
const RESERVED = new Set(
  [
    'Client Api ClientOptions CallOptions DeferOptions FileInput ValidationEntry ErrorBody ApiError TaskStatus',
    'TaskInfo TaskEvent TaskHandle ServerSentEvent Error Blob File Record Promise Set Map Array Object String Number',
    'Boolean Symbol Function Headers Response FormData URLSearchParams AbortSignal AsyncGenerator Readonly Partial',
    'TextDecoder TypeError JSON ENDED RECONNECT_MS RECONNECTS',
  ].flatMap((names) => names.split(' ')),
);
const RESERVED_METHODS = ['constructor', 'task', 'then'];

export interface GenerateOptions {
  /** Default address of the client. */
  readonly baseUrl: string;
}

/**
 * Returns one TypeScript file with a client of the server that an OpenAPI document of ours describes: a method for each
 * endpoint, with all declarations that they need. The same document gives the same text. Throws `DocumentError` for any
 * other document.
 */
export async function generateClient(document: unknown, { baseUrl }: GenerateOptions): Promise<string> {
  const api = readDocument(document);
  const names = typeNames(api);
  const nameOf = (reference: string): string => names.get(reference) ?? 'unknown';
  const used = usedSchemas(api);
  const types = api.schemas
    .filter(({ reference }) => used.has(reference))
    .map(({ reference, schema }) => declaration(nameOf(reference), schema, nameOf));
  const title =
    `A client of ${api.title} ${api.version}, made by aana-host ${packageVersion()}: \`aana-host ` +
    `client\` makes it anew.`;
  const parts = [`// ${oneLine(title)}`, clientClass(api, baseUrl, nameOf), ...types, ...(await runtime())];
  return `${parts.join('\n\n')}\n`;
}

/**
 * The part of a client that is the same for every server. These files import only each other, so they can be joined
 * into one.
 */
async function runtime(): Promise<string[]> {
  const files = ['api', 'errors', 'streams'].map((name) =>
    readFile(join(packageRoot, `host/apis/openapi/client-generator/runtime/${name}.ts`), 'utf8'),
  );
  return (await Promise.all(files)).map((text) => text.replace(/^import .*\n/gm, '').trim());
}

type NameOf = (reference: string) => string;

function clientClass(api: ApiDocument, baseUrl: string, nameOf: NameOf): string {
  const needsInput = (input: unknown): boolean => list(schemaOf(input, api), 'required').length > 0;
  const methods = namedMethods(api).map(([name, operation, isDeferred]) =>
    operation.kind === 'plain'
      ? plainMethod(name, operation, nameOf)
      : endpointMethod(name, operation, { isDeferred, nameOf, isOptional: !needsInput(operation.input) }),
  );
  return [
    ...comment(`The endpoints of ${oneLine(api.title)}.`),
    'export class Client {',
    '  readonly #api: Api;',
    '',
    '  constructor(options: ClientOptions = {}) {',
    `    this.#api = new Api({ ...options, baseUrl: options.baseUrl ?? ${quoted(baseUrl)} });`,
    '  }',
    '',
    methods.map((lines) => lines.join('\n')).join('\n\n'),
    '',
    '  /** A task that was made before, by its id. */',
    '  task<Result = unknown>(id: string): TaskHandle<Result> {',
    '    return this.#api.task(id);',
    '  }',
    '}',
  ].join('\n');
}

/** Returns a unique name for each method, in the order of the document. An endpoint that can be deferred has two. */
function namedMethods({
  operations,
}: ApiDocument): [name: string, operation: EndpointOperation | PlainOperation, isDeferred: boolean][] {
  const taken = new Set(RESERVED_METHODS);
  const free = (wanted: string): string => {
    let name = wanted;
    for (let n = 2; taken.has(name); n++) name = `${wanted}${n}`;
    taken.add(name);
    return name;
  };
  return operations.flatMap((operation): [string, EndpointOperation | PlainOperation, boolean][] => {
    const name = camelCase(operation.id);
    if (operation.kind === 'plain' || operation.defer === 'never') return [[free(name), operation, false]];
    if (operation.defer === 'always') return [[free(name), operation, true]];
    return [
      [free(name), operation, false],
      [free(camelCase(`defer_${operation.id}`)), operation, true],
    ];
  });
}

interface EndpointMethodOptions {
  readonly isDeferred: boolean;
  /** Whether every key of the input is optional. */
  readonly isOptional: boolean;
  readonly nameOf: NameOf;
}

function endpointMethod(
  name: string,
  { path, description, input, output, isStreaming, defer }: EndpointOperation,
  { isDeferred, isOptional, nameOf }: EndpointMethodOptions,
): string[] {
  const given = printType(input, { nameOf, indent: '  ' });
  const answerOf = (schema: unknown): string => {
    const value = printType(schema, { nameOf, indent: '  ' });
    if (!isDeferred) return isStreaming ? `AsyncGenerator<${value}, void, undefined>` : `Promise<${value}>`;
    return `Promise<TaskHandle<${isStreaming ? `Array<${value}>` : value}>>`;
  };
  const answer = answerOf(output);
  const overloads = overloadsOf(given, output, answerOf);
  const call = isDeferred ? 'defer' : isStreaming ? 'stream' : 'call';
  const options = isDeferred ? 'options?: DeferOptions' : 'options?: CallOptions';
  return [
    ...comment(
      isDeferred && defer === 'optional' ? `${description}\n\nIt is stored as a task and runs later.` : description,
      '  ',
    ),
    ...overloads.map((said) => `  ${name}(input${isOptional ? '?' : ''}: ${said.given}, ${options}): ${said.answer};`),
    `  ${name}(input: ${given}${isOptional ? ' = {}' : ''}, ${options}): ${answer} {`,
    `    return this.#api.${call}(${quoted(path)}, input, ` +
      `options${isDeferred && defer === 'always' ? ', false' : ''});`,
    '  }',
  ];
}

/**
 * Returns a signature for each case of an output that depends on a key of the input, and one for an input whose case
 * the compiler does not know.
 */
function overloadsOf(
  given: string,
  output: unknown,
  answerOf: (schema: unknown) => string,
): { readonly given: string; readonly answer: string }[] {
  const by = typeof output === 'object' && output !== null ? answerCasesOf(output) : undefined;
  if (!by) return [];
  const key = propertyName(by.key);
  const cases = by.cases.map(({ value, schema }, n) => ({
    given: `${given} & { ${n === 0 ? `${key}?: ${quoted(value)} | null` : `${key}: ${quoted(value)}`} }`,
    answer: answerOf(schema),
  }));
  return [...cases, { given, answer: answerOf(output) }];
}

function plainMethod(
  name: string,
  { method, path, description, parameters, body, answer }: PlainOperation,
  nameOf: NameOf,
): string[] {
  const isOptional = parameters.every(({ isRequired }) => !isRequired);
  const type = ['{', ...parameters.flatMap((parameter) => parameterLines(parameter, nameOf)), '  }'].join('\n');
  const taken = [
    ...(parameters.length === 0 || isOptional ? [] : [`parameters: ${type}`]),
    ...(body === undefined ? [] : [`body: ${printType(body, { nameOf, indent: '  ' })}`]),
    ...(parameters.length > 0 && isOptional ? [`parameters: ${type} = {}`] : []),
    'options?: CallOptions',
  ];
  const result = answer === undefined ? 'void' : printType(answer, { nameOf, indent: '  ' });
  const query = parameters
    .filter((one) => one.in === 'query')
    .map(({ name: key }) => `${propertyName(key)}: parameters[${quoted(key)}]`);
  return [
    ...comment(description, '  '),
    `  ${name}(${taken.join(', ')}): Promise<${result}> {`,
    `    return this.#api.request(${quoted(method)}, ` +
      `${pathText(path, parameters)}${query.length > 0 ? ` + queryOf({ ${query.join(', ')} })` : ''}, ` +
      `options${body === undefined ? '' : ', body'});`,
    '  }',
  ];
}

function parameterLines({ name, schema, description, isRequired }: Parameter, nameOf: NameOf): string[] {
  return [
    ...comment(description, '    '),
    `    ${propertyName(name)}${isRequired ? '' : '?'}: ${printType(schema, { nameOf, indent: '    ' })};`,
  ];
}

/** Returns an expression such as `'/tasks/' + encodeURIComponent(parameters['task_id'])`. */
function pathText(path: string, parameters: readonly Parameter[]): string {
  const isKnown = (name: string): boolean => parameters.some((one) => one.in === 'path' && one.name === name);
  const parts = path.split(/(\{[^}]*\})/).filter((part) => part !== '');
  return parts
    .map((part) =>
      part.startsWith('{') && isKnown(part.slice(1, -1))
        ? `encodeURIComponent(parameters[${quoted(part.slice(1, -1))}])`
        : quoted(part),
    )
    .join(' + ');
}

function declaration(name: string, schema: unknown, nameOf: NameOf): string {
  const type = printType(schema, { nameOf });
  const description = (schema as { description?: unknown } | null)?.description;
  const isInterface = type.startsWith('{\n') && type.endsWith('\n}') && !type.includes('\n} ');
  return [
    ...comment(typeof description === 'string' ? description : ''),
    isInterface ? `export interface ${name} ${type}` : `export type ${name} = ${type};`,
  ].join('\n');
}

/** Returns references to the schemas that methods use, and to the schemas inside of them. */
function usedSchemas({ operations, schemas }: ApiDocument): ReadonlySet<string> {
  const found = new Set<string>();
  const visit = (value: unknown): void => {
    for (const [, reference = ''] of JSON.stringify(value ?? null).matchAll(/"\$ref":"([^"]*)"/g)) {
      if (found.has(reference)) continue;
      found.add(reference);
      visit(schemas.find((one) => one.reference === reference)?.schema);
    }
  };
  for (const operation of operations)
    visit(
      operation.kind === 'endpoint'
        ? [operation.input, operation.output]
        : [operation.parameters, operation.body, operation.answer],
    );
  return found;
}

/** Returns a TypeScript name for each schema. */
function typeNames({ schemas }: ApiDocument): Map<string, string> {
  const taken = new Set<string>();
  return new Map(
    schemas.map(({ reference, name }) => {
      const plain = name.replace(/[^A-Za-z0-9_]+/g, '_').replace(/^(?=\d|$)/, '_');
      const wanted = RESERVED.has(plain) ? `${plain}Model` : plain;
      let free = wanted;
      for (let n = 2; taken.has(free); n++) free = `${wanted}${n}`;
      taken.add(free);
      return [reference, free];
    }),
  );
}

function camelCase(id: string): string {
  const text = id.replace(/[^A-Za-z0-9]+([A-Za-z0-9]?)/g, (_, next: string, at: number) =>
    at === 0 ? next : next.toUpperCase(),
  );
  return text.replace(/^[A-Z]/, (first) => first.toLowerCase()).replace(/^(?=\d|$)/, '_');
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ');
}

function schemaOf(schema: unknown, { schemas }: ApiDocument): unknown {
  const reference = (schema as { readonly $ref?: unknown } | null)?.$ref;
  return typeof reference === 'string' ? schemas.find((one) => one.reference === reference)?.schema : schema;
}

function list(schema: unknown, key: string): readonly unknown[] {
  const value = (schema as Readonly<Record<string, unknown>> | null | undefined)?.[key];
  return Array.isArray(value) ? value : [];
}
