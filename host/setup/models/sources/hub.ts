import { json } from 'node:stream/consumers';
import { fail } from '../../../base/core/errors.ts';
import type { Network } from '../../../io/outgoing/index.ts';
import type { ReportProgress } from '../../packages/index.ts';
import { answerWithin, describeStatus, httpDownload, type HttpDownloadResult } from './http-download.ts';
import { downloadError, UnreachableError } from './source-errors.ts';

export interface HubOptions {
  /** Default `https://huggingface.co`. */
  readonly endpoint?: string | undefined;
  readonly token?: string | undefined;
  readonly network?: Network | undefined;
}

export interface HubDownload {
  readonly repo: string;
  readonly file: string;
  readonly partial: string;
  readonly isPinned: boolean;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ReportProgress | undefined;
}

/** The content of a repository. */
export interface HubDescription {
  /** The length of each file, undefined if the hub does not tell it. */
  readonly bytesByFile: ReadonlyMap<string, number | undefined>;
  readonly licence: string | undefined;
}

/** A path that is absolute or has empty parts, `.` or `..`. */
const LEADS_OUT = /(^|[\\/])\.{0,2}([\\/]|$)/;
const ANSWER_TIMEOUT_MS = 5_000;
/** Statuses of a repository that does not exist, or that the token does not show. */
const HIDDEN: ReadonlySet<number> = new Set([401, 403, 404]);
/** A hub that gave no answer is not asked again for this long. */
const UNREACHABLE_FOR_MS = 60_000;

/** A Hugging Face hub, or a mirror of it. */
export class Hub {
  readonly endpoint: string;
  readonly #token: string | undefined;
  readonly #network: Network | undefined;
  #unreachable: { readonly error: UnreachableError; readonly untilMs: number } | undefined;

  constructor({ endpoint, token, network }: HubOptions) {
    this.endpoint = (endpoint || 'https://huggingface.co').replace(/\/+$/, '');
    this.#token = token || undefined;
    this.#network = network;
  }

  async download({ repo, file, ...options }: HubDownload): Promise<HttpDownloadResult> {
    const url = `${this.endpoint}/${repo}/resolve/main/${file.split('/').map(encodeURIComponent).join('/')}`;
    return this.#remember(() =>
      httpDownload({ ...options, url, token: this.#token, network: this.#network, answerTimeoutMs: ANSWER_TIMEOUT_MS }),
    );
  }

  /**
   * Returns the repository's files, and its licence if the model card has one. Throws `ModelNotFound` if the hub does
   * not show the repository, and `DownloadFailed`.
   */
  async describe(repo: string, signal?: AbortSignal): Promise<HubDescription> {
    try {
      return await this.#describe(repo, signal);
    } catch (error) {
      if (!(error instanceof UnreachableError)) throw error;
      throw fail('DownloadFailed', `the hub's repository ${repo} cannot be read: ${error.message}`, {
        data: { url: this.endpoint },
        cause: error,
      });
    }
  }

  async #describe(repo: string, signal: AbortSignal | undefined): Promise<HubDescription> {
    const url = `${this.endpoint}/api/models/${repo}?blobs=true`;
    return this.#remember(async () => {
      const headers = this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` };
      const { response, stop } = await answerWithin(url, headers, ANSWER_TIMEOUT_MS, {
        network: this.#network,
        signal,
      });
      try {
        const { statusCode: status = 0 } = response;
        if (HIDDEN.has(status))
          throw fail('ModelNotFound', `${url}: ${describeStatus(status)}`, { data: { id: repo } });
        if (status !== 200) throw downloadError(url, describeStatus(status));
        return parseDescription(await json(response));
      } finally {
        stop();
      }
    });
  }

  async #remember<T>(ask: () => Promise<T>): Promise<T> {
    if (this.#unreachable && performance.now() < this.#unreachable.untilMs) throw this.#unreachable.error;
    try {
      return await ask();
    } catch (error) {
      if (error instanceof UnreachableError)
        this.#unreachable = { error, untilMs: performance.now() + UNREACHABLE_FOR_MS };
      throw error;
    }
  }
}

function parseDescription(body: unknown): HubDescription {
  const record = asRecord(body);
  const siblings = Array.isArray(record.siblings) ? record.siblings : [];
  const bytesByFile = new Map<string, number | undefined>();
  for (const sibling of siblings) {
    const { rfilename: name, size } = asRecord(sibling);
    if (typeof name === 'string' && !LEADS_OUT.test(name))
      bytesByFile.set(name, typeof size === 'number' && Number.isSafeInteger(size) ? size : undefined);
  }
  const { license } = asRecord(record.cardData);
  return { bytesByFile, licence: typeof license === 'string' ? license : undefined };
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? { ...value } : {};
}
