import type { Context } from 'koa';
import { withDeadline } from '../../../base/core/abort.ts';
import { fail } from '../../../base/core/errors.ts';
import { headerName, MAX_IGNORED, readRequest, type RequestFields, unsupported } from '../fields.ts';
import type { RunContext } from '../run-context.ts';
import type { HttpAppOptions } from '../../http/options.ts';
import { type LargeParts, readBody } from '../../http/request/request-body.ts';
import { abortOnClose, noteDeployment } from '../../http/request/request-context.ts';
import { workContextOf } from '../../http/request/work-context.ts';
import type { OpenAiRoutesOptions } from './openai-options.ts';

/** What the routes below `/v1` need of the HTTP side. */
export type OpenAiHttpOptions = HttpAppOptions & { readonly openai: OpenAiRoutesOptions };

/** Header that names the parameters of a request that had no effect. */
export const IGNORED_HEADER = 'x-aana-ignored-parameters';

/** Header that names the deployment that answers a request. */
const DEPLOYMENT_HEADER = 'x-aana-deployment';

/**
 * Reads and checks the JSON of a request. The header {@link IGNORED_HEADER} of the answer names parameters that have no
 * effect; with the setting `strict` they are refused. `large` is what the request may have in addition to
 * `limits.max_json_bytes`.
 */
export async function readJsonRequest<Fields extends RequestFields>(
  ctx: Context,
  fields: Fields,
  options: OpenAiHttpOptions,
  large?: LargeParts,
): Promise<RequestOf<Fields>> {
  refuseUntilDeployed(options);
  const { limits, tempDir } = options;
  await using body = await readBody(ctx, { ...limits, max_files: 0 }, tempDir, undefined, large);
  return checkedRequest(ctx, fields, body.input, options);
}

/** A checked request. */
export type RequestOf<Fields extends RequestFields> = ReturnType<Fields['schema']['parse']>;

export function refuseUntilDeployed({ isDeployed }: HttpAppOptions): void {
  if (isDeployed()) return;
  throw fail('NotReady', 'the application is starting: try again when /api/ready answers 200');
}

/** Checks the input of a request. Parameters without effect are named in {@link IGNORED_HEADER}, or refused. */
export function checkedRequest<Fields extends RequestFields>(
  ctx: Context,
  fields: Fields,
  input: unknown,
  { openai }: OpenAiHttpOptions,
): RequestOf<Fields> {
  const { request, ignored } = readRequest(fields, input, openai);
  if (ignored.length > 0) ctx.set(IGNORED_HEADER, ignored.join(', '));
  return request as RequestOf<Fields>;
}

/** Adds a parameter that has no effect for the model of the request to {@link IGNORED_HEADER}. */
function addIgnored(ctx: Context, name: string): void {
  if (ctx.headerSent) return; // the stream has begun with silence
  const given = ctx.response.get(IGNORED_HEADER) as string | undefined;
  const names = given?.split(', ') ?? [];
  const shown = headerName(name);
  if (!names.includes(shown) && names.length < MAX_IGNORED) ctx.set(IGNORED_HEADER, [...names, shown].join(', '));
}

/**
 * Runs the work for a request within `limits.invocation_timeout_s`. The signal aborts when the client leaves or the
 * time is up.
 */
export async function withinTime<T>(
  ctx: Context,
  { limits: { invocation_timeout_s: timeoutS }, openai: { strict } }: OpenAiHttpOptions,
  work: (context: RunContext) => Promise<T>,
): Promise<T> {
  const timedOut = (): Error => fail('TimeoutError', `the request was ended after ${timeoutS} seconds`);
  return withDeadline({ signal: abortOnClose(ctx), timeoutMs: timeoutS * 1000, timedOut }, (ending) =>
    work({
      ...workContextOf(ctx),
      ...ending,
      tellDeployment: (name) => {
        noteDeployment(ctx, name);
        if (!ctx.headerSent) ctx.set(DEPLOYMENT_HEADER, encodeURI(name));
      },
      ignore: (param) => {
        if (strict) throw unsupported(param, 'no grammar can express it');
        addIgnored(ctx, param);
      },
    }),
  );
}
