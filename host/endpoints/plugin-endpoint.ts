import * as z from 'zod';
import { AanaError } from '../core/errors.ts';
import { type ServedEndpoint, type EndpointDescription, parseInput, type UploadedFile } from './endpoint.ts';

/** What is used of a loaded plugin. */
export interface EndpointSource {
  readonly name: string;
  readonly endpoints: readonly EndpointDescription[];
  run(invocation: {
    readonly endpoint: string;
    readonly input: string;
    readonly requestId: string;
    readonly deadlineMs: number;
    readonly signal: AbortSignal;
    readonly files: ReadonlyMap<string, UploadedFile>;
    readonly write?: (chunk: string) => Promise<void>;
    readonly onProgress?: (fraction: number) => void;
  }): Promise<string>;
}

/** One endpoint of a component, under a name and a path that the application gives it. */
export interface ChosenEndpoint extends Pick<ServedEndpoint, 'name' | 'path' | 'admit' | 'deferOption' | 'executionTimeoutS' | 'tags' | 'openapiExtra'> {
  /** The plugin's folder or component file. */
  readonly source: string;
  /** Its name in the component. Default: the same name, or the only one that there is. */
  readonly endpoint?: string | undefined;
  /** Default: what the component says. */
  readonly summary?: string | undefined;
  readonly description?: string | undefined;
}

/** The endpoints of a loaded plugin; their input is checked here, before an instance of the component is taken. */
export function pluginEndpoints(plugin: EndpointSource): ServedEndpoint[] {
  return plugin.endpoints.map((info) => ({
    name: info.name,
    path: info.path,
    summary: info.summary,
    description: info.description,
    inputSchema: info.inputSchema,
    outputSchema: info.outputSchema,
    streaming: info.streaming,
    plugin: plugin.name,
    validate: jsonSchemaValidator(info.name, info.inputSchema),
    run: ({ input, requestId, timeoutMs, signal, files, write, onProgress }) =>
      plugin.run({ endpoint: info.name, input: JSON.stringify(input), requestId, deadlineMs: timeoutMs, signal, files, ...(info.streaming ? { write } : {}), ...(onProgress && { onProgress }) }),
  }));
}

/** The one of a plugin's endpoints that was chosen. Throws `EndpointError`, naming those that there are. */
export function chosenFrom(endpoints: readonly ServedEndpoint[], { name, endpoint: wanted, source }: ChosenEndpoint): ServedEndpoint {
  const found = endpoints.find((one) => one.name === (wanted ?? name)) ?? (wanted === undefined && endpoints.length === 1 ? endpoints[0] : undefined);
  if (found) return found;
  const known = endpoints.map((one) => one.name).join(', ');
  throw new AanaError('EndpointError', 'conflict', `endpoint ${name}: ${source} has no endpoint ${wanted ?? name}; name one of its own with \`endpoint\`: ${known}`);
}

/** Gives the input unchanged when it matches; the component fills its own defaults. Throws when the schema itself cannot be used. */
function jsonSchemaValidator(endpoint: string, schema: object): (input: unknown) => unknown {
  let compiled: z.ZodType;
  try {
    compiled = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0]);
  } catch (cause) {
    throw new AanaError('EndpointError', 'internal', `endpoint ${endpoint}: its input schema cannot be used: ${(cause as Error).message}`, { cause });
  }
  return (input) => {
    parseInput(compiled, input);
    return input;
  };
}
