import { withDeadline } from '../../base/core/abort.ts';
import { fail } from '../../base/core/errors.ts';
import { type RequestContext, requestContextOf } from '../../base/core/request-context.ts';
import type { ValidationEntry } from '../../base/schemas/index.ts';
import type { AnswerSink } from './bytes-answers.ts';
import { type ServedEndpoint, type UploadedFile, validationError } from './endpoint.ts';
import { checkExactlyOne } from './exactly-one.ts';
import { findFileReferences } from './file-references.ts';

export interface InvokeOptions extends RequestContext {
  readonly requestId: string;
  /** The run ends after this time. Its deadline is the earlier one of this time and `deadlineAt`. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly files?: ReadonlyMap<string, UploadedFile>;
  /** Takes each streamed JSON text. Required for streaming endpoints. */
  readonly write?: (chunk: string) => Promise<void>;
  /** Takes an answer that is bytes while it is made. The output is then `null`. Default: it is a part of the output. */
  readonly answer?: AnswerSink;
  /** Called with the progress of the run, from 0 to 1. */
  readonly onProgress?: (fraction: number) => void;
}

const NO_FILES: ReadonlyMap<string, UploadedFile> = new Map();

/**
 * Runs an endpoint: checks the input, checks the file parts that the input names, and starts the run. Returns the
 * output as JSON. A streaming endpoint has written all values when this resolves. Rejects with `ValidationError` or
 * `UploadedFileNotFound` before the run starts, and with `TimeoutError` when the time is up.
 */
export async function invoke(endpoint: ServedEndpoint, input: unknown, options: InvokeOptions): Promise<string> {
  const files = options.files ?? NO_FILES;
  const accepted = checkInput(endpoint, input, files);
  const { write } = options;
  if (endpoint.streaming && !write)
    throw new TypeError(`endpoint ${endpoint.name} streams, but no function takes its output`);
  const { signal, timeoutMs } = options;
  const timedOut = (): Error =>
    fail('TimeoutError', `endpoint ${endpoint.name} was ended after ${timeoutMs / 1000} seconds`);
  return withDeadline({ signal, timeoutMs, timedOut }, (ending) =>
    endpoint.run(
      Object.assign(requestContextOf(options), {
        input: accepted,
        requestId: options.requestId,
        userId: options.userId ?? null,
        deadlineAt: Math.min(options.deadlineAt ?? Infinity, ending.deadlineAt),
        timeoutMs,
        signal: ending.signal,
        files,
        answer: options.answer,
        onProgress: options.onProgress,
        write: write ?? (() => Promise.reject(new TypeError(`endpoint ${endpoint.name} does not stream`))),
      }),
    ),
  );
}

/** Returns the input for a run. Throws `ValidationError` or `UploadedFileNotFound`. */
export function checkInput(
  endpoint: ServedEndpoint,
  input: unknown,
  files: ReadonlyMap<string, UploadedFile> = NO_FILES,
): unknown {
  const accepted = endpoint.validate(input);
  checkExactlyOne(endpoint.inputSchema, input);
  checkFiles(endpoint, input, files);
  return accepted;
}

/** Throws unless every file that the input names was uploaded, and the input names every uploaded file. */
function checkFiles(endpoint: ServedEndpoint, input: unknown, files: ReadonlyMap<string, UploadedFile>): void {
  const references = findFileReferences(endpoint.inputSchema, input);
  const absent = references.filter(({ name }) => !files.has(name));
  if (absent.length > 0) {
    const names = [...new Set(absent.map(({ name }) => JSON.stringify(name)))].join(', ');
    const there =
      files.size === 0
        ? 'no file was uploaded'
        : `the uploaded file parts are ${[...files.keys()].map((name) => JSON.stringify(name)).join(', ')}`;
    throw fail('UploadedFileNotFound', `the input names the file part ${names}, but ${there}`, {
      data: absent.map(({ name, loc }): ValidationEntry => ({
        type: 'file_not_found',
        loc,
        msg: 'No uploaded file part has this name',
        input: name,
      })),
    });
  }
  const named = new Set(references.map(({ name }) => name));
  const unused = [...files.keys()].filter((name) => !named.has(name));
  if (unused.length > 0)
    throw validationError(
      unused.map((name) => ({ type: 'extra_file', loc: [name], msg: 'No input names this file part', input: name })),
    );
}
