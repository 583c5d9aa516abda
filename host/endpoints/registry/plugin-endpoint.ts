import type { EndpointDescription } from '../../base/core/endpoint-description.ts';
import { fail } from '../../base/core/errors.ts';
import { type RequestContext, requestContextOf } from '../../base/core/request-context.ts';
import { textTypesOf } from './answers.ts';
import { type AnswerSink, bytesTypesOf, CheckedAnswer } from './bytes-answers.ts';
import type { EndpointRun, ServedEndpoint, ServedOptions, UploadedFile } from './endpoint.ts';
import { checkComponentInput, compileSchema, fromComponent, outputCheck } from './output-check.ts';

/** The part of a loaded plugin that its endpoints use. */
export interface EndpointSource {
  readonly name: string;
  readonly endpoints: readonly EndpointDescription[];
  /** Names of the deployments that it calls. Default: none. */
  readonly deployments?: readonly string[];
  run(
    invocation: RequestContext & {
      readonly endpoint: string;
      readonly input: string;
      readonly requestId: string;
      readonly deadlineMs: number;
      readonly signal: AbortSignal;
      readonly files: ReadonlyMap<string, UploadedFile>;
      readonly write?: ((chunk: string) => Promise<void>) | undefined;
      readonly answer?: AnswerSink | undefined;
      readonly onProgress?: ((fraction: number) => void) | undefined;
    },
  ): Promise<string>;
}

/** One endpoint of a component, under a name and a path that the application gives it. */
export interface ChosenEndpoint extends ServedOptions {
  /** The plugin's folder or component file. */
  readonly source: string;
  /** Its name in the component. Default: the same name, or the only endpoint of the component. */
  readonly endpoint?: string | undefined;
  /** Default: the summary in the component. */
  readonly summary?: string | undefined;
  readonly description?: string | undefined;
}

/**
 * Returns the endpoints of a loaded plugin. Their inputs are checked before an instance of the component is taken, and
 * their outputs before a client gets them.
 */
export function pluginEndpoints(plugin: EndpointSource): ServedEndpoint[] {
  return plugin.endpoints.map((info) => pluginEndpoint(plugin, info));
}

function pluginEndpoint(plugin: EndpointSource, info: EndpointDescription): ServedEndpoint {
  textTypesOf(info); // throws if the schema names a wrong media type
  const mayBeBytes = bytesTypesOf(info).length > 0;
  const check = outputCheck(info.name, info.outputSchema);
  const checked = (write: EndpointRun['write']): EndpointRun['write'] =>
    check
      ? (chunk) => {
          try {
            check(chunk);
          } catch (error) {
            return Promise.reject(error); // an async function costs two turns of the event loop for each chunk
          }
          return write(chunk);
        }
      : write;
  return {
    ...info,
    plugin: plugin.name,
    ...(plugin.deployments && { deployments: plugin.deployments }),
    validate: jsonSchemaValidator(info.name, info.inputSchema),
    run: async ({ input, requestId, timeoutMs, signal, files, write, answer: sink, onProgress, ...run }) => {
      run.meter?.ran();
      const bytes = mayBeBytes ? new CheckedAnswer(info, sink) : undefined;
      const invocation = Object.assign(requestContextOf(run), {
        endpoint: info.name,
        input: JSON.stringify(input),
        requestId,
        deadlineMs: timeoutMs,
        signal,
        files,
        write: info.streaming ? checked(write) : undefined,
        answer: bytes,
        onProgress,
      });
      try {
        const answer = await plugin.run(invocation);
        if (bytes?.output !== undefined) return bytes.output;
        if (!info.streaming) check?.(answer);
        return answer;
      } catch (error) {
        throw fromComponent(info.name, error);
      }
    },
  };
}

/** Returns the chosen endpoint of a plugin. Throws `EndpointConflict`, which names all endpoints of the plugin. */
export function chosenFrom(
  endpoints: readonly ServedEndpoint[],
  { name, endpoint: wanted, source }: ChosenEndpoint,
): ServedEndpoint {
  const found =
    endpoints.find((one) => one.name === (wanted ?? name)) ??
    (wanted === undefined && endpoints.length === 1 ? endpoints[0] : undefined);
  if (found) return found;
  const known = endpoints.map((one) => one.name).join(', ');
  throw fail(
    'EndpointConflict',
    `endpoint ${name}: ${source} has no endpoint ${wanted ?? name}; choose one with \`endpoint\`: ${known}`,
  );
}

/**
 * Returns a check of inputs, which returns an input unchanged if it matches. The component fills in its own defaults.
 * Throws `EndpointError` if the schema itself cannot be used.
 */
function jsonSchemaValidator(endpoint: string, schema: object): (input: unknown) => unknown {
  const compiled = compileSchema(endpoint, 'input', schema);
  return (input) => {
    checkComponentInput(compiled, input);
    return input;
  };
}
