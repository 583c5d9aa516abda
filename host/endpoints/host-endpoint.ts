import * as z from 'zod';
import { type Endpoint, parseInput, type UploadedFile } from './endpoint.ts';

/** What a host function gets besides its input. */
export interface HostEndpointContext {
  readonly requestId: string;
  /** Aborts when the client goes away or the time is up. */
  readonly signal: AbortSignal;
  /** Uploaded file parts by field name; they go with the request. */
  readonly files: ReadonlyMap<string, UploadedFile>;
}

interface HostEndpointBase<I extends z.ZodType> {
  readonly name: string;
  readonly path: string;
  readonly summary: string;
  readonly description?: string;
  /** An object schema: its keys are the parameters. A string marked with `.meta({ 'x-aana-file': true })` names an uploaded file. */
  readonly input: I;
  /** Schema of the output, or of one streamed value. */
  readonly output: z.ZodType;
}

/** An endpoint made of a function of the embedding program. An async generator streams what it yields. */
export interface HostEndpointDefinition<I extends z.ZodType = z.ZodType> extends HostEndpointBase<I> {
  readonly run: (input: z.output<I>, context: HostEndpointContext) => Promise<unknown> | AsyncGenerator<unknown, void>;
}

const AsyncGeneratorFunction = (async function* () {}).constructor;

export function hostEndpoint<I extends z.ZodType>(definition: HostEndpointDefinition<I>): Endpoint {
  const streaming = definition.run instanceof AsyncGeneratorFunction;
  return {
    name: definition.name,
    path: definition.path,
    summary: definition.summary,
    description: definition.description ?? '',
    inputSchema: z.toJSONSchema(definition.input, { io: 'input', unrepresentable: 'any' }),
    outputSchema: z.toJSONSchema(definition.output, { unrepresentable: 'any' }),
    streaming,
    validate: (input) => parseInput(definition.input, input),
    run: async ({ input, requestId, signal, files, write }) => {
      const output = definition.run(input as z.output<I>, { requestId, signal, files });
      if (!(Symbol.asyncIterator in output)) return JSON.stringify(await output) ?? 'null';
      for await (const value of output) await write(JSON.stringify(value));
      return 'null';
    },
  };
}
