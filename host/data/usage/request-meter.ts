import { createHash } from 'node:crypto';
import { canonicalUuid, newId } from '../../base/core/ids.ts';
import type {
  CallFigures,
  CallMeter,
  MeteredPart,
  PartMeter,
  TokenAllowance,
  UsageOutcome,
} from '../../base/core/usage/usage-meter.ts';
import type { UsageRecord, UsageSource } from './record.ts';

/** Facts of a request that are known when it begins. */
export interface MeteredRequest {
  readonly source: UsageSource;
  readonly requestId: string;
  /** Names the work, so that records of the same attempt have the same ids in every host. Default: ids are random. */
  readonly attempt?: string | undefined;
}

/** Facts of a request that are known when it has ended. */
export interface MeteredEnd {
  /** Default: that of the beginning. */
  readonly source?: UsageSource | undefined;
  readonly userId: string | null;
  readonly keyId?: string | null | undefined;
  readonly route: string | null;
  readonly outcome: UsageOutcome;
  readonly status?: number | undefined;
}

/** The end with the whole time in milliseconds, and the moment in milliseconds since 1970. */
type TimedEnd = MeteredEnd & { readonly ms: number; readonly at: number };

/** Takes the records of a request, together. */
export type TakeRecords = (records: readonly UsageRecord[]) => void;

interface Sums {
  calls: number;
  promptTokens: number;
  cachedTokens: number;
  completionTokens: number;
  audioSeconds: number;
  computeSeconds: number;
  isPartial: boolean;
}

/** Measures one request. Its records are written when it and all of its calls have ended. */
export class RequestMeter implements PartMeter {
  readonly #request: MeteredRequest;
  readonly #take: TakeRecords | undefined;
  readonly #startedAt = performance.now();
  readonly #sums = new Map<string, Sums>();
  readonly #partEnd: Omit<MeteredEnd, 'outcome'> | undefined;
  #hasRun = false;
  #pluginCpuMs = 0;
  /** Calls that have not ended. */
  #open = 0;
  #end: TimedEnd | undefined;
  #isWritten = false;
  #allowance: TokenAllowance | undefined;
  #owner: (() => Pick<MeteredEnd, 'userId' | 'keyId'>) | undefined;

  /** Without `take` nobody wants the records, and none are made. */
  constructor(request: MeteredRequest, take: TakeRecords | undefined, partEnd?: Omit<MeteredEnd, 'outcome'>) {
    this.#request = request;
    this.#take = take;
    this.#partEnd = partEnd;
  }

  /** Sets who the request belongs to, for its parts. */
  belongsTo(owner: () => Pick<MeteredEnd, 'userId' | 'keyId'>): this {
    this.#owner = owner;
    return this;
  }

  /** Sets what the request and its parts may use. Default: there is no limit. */
  limit(allowance: TokenAllowance): this {
    this.#allowance = allowance;
    return this;
  }

  get maxOutputTokens(): number | undefined {
    return this.#allowance?.maxOutputTokens;
  }

  ran(): void {
    this.#hasRun = true;
  }

  call(deployment: string, isGeneration: boolean): CallMeter {
    this.#hasRun = true;
    if (isGeneration) this.#allowance?.admit();
    this.#open += 1;
    const sums = this.#sumsOf(deployment);
    sums.calls += 1;
    let values = 0;
    let hasEnded = false;
    return {
      computed: (seconds) => void (sums.computeSeconds += seconds),
      values: (count) => {
        values += count;
        if (isGeneration) this.#allowance?.spend(count);
      },
      heard: (seconds) => void (sums.audioSeconds += seconds),
      end: (figures) => {
        if (hasEnded) return;
        hasEnded = true;
        if (figures) {
          add(sums, figures);
          const counted = isGeneration ? values : 0;
          const { promptTokens = 0, completionTokens = 0 } = figures;
          this.#allowance?.spend(promptTokens + Math.max(0, completionTokens - counted));
        } else if (isGeneration && values > 0) {
          sums.completionTokens += values;
          sums.isPartial = true;
        }
        this.#open -= 1;
        this.#write();
      },
    };
  }

  plugin(cpuMs: number): void {
    this.#pluginCpuMs += cpuMs;
  }

  part({ id, requestId, route }: MeteredPart): PartMeter {
    const owner = this.#owner?.() ?? { userId: null };
    const request = { source: 'batch', requestId, attempt: id } as const;
    const part = new RequestMeter(request, this.#take, { ...owner, route });
    return this.#allowance ? part.limit(this.#allowance) : part;
  }

  end(outcome: UsageOutcome): void {
    this.finish({ userId: null, route: null, ...this.#partEnd, outcome });
  }

  /** Called once, when the request has ended. */
  finish(end: MeteredEnd): void {
    this.#end ??= { ms: performance.now() - this.#startedAt, at: Date.now(), ...end };
    this.#write();
  }

  #sumsOf(deployment: string): Sums {
    const found = this.#sums.get(deployment);
    if (found) return found;
    const made = {
      ...{ calls: 0, promptTokens: 0, cachedTokens: 0, completionTokens: 0, audioSeconds: 0, computeSeconds: 0 },
      isPartial: false,
    };
    this.#sums.set(deployment, made);
    return made;
  }

  #write(): void {
    if (!this.#take || !this.#end || this.#open > 0 || this.#isWritten || !this.#hasRun) return;
    this.#isWritten = true;
    const used: [string | null, Sums | undefined][] = [...this.#sums];
    if (used.length === 0) used.push([null, undefined]);
    const end = this.#end;
    this.#take(used.map(([deployment, sums], index) => this.#record(end, deployment, sums, index === 0)));
  }

  #record(
    { userId, keyId, route, outcome, status, ms, at, source = this.#request.source }: TimedEnd,
    deployment: string | null,
    sums: Sums | undefined,
    isFirst: boolean,
  ): UsageRecord {
    const { requestId, attempt } = this.#request;
    return {
      id: attempt === undefined ? newId() : idOf(attempt, deployment),
      time: new Date(at).toISOString(),
      source,
      request_id: requestId,
      user_id: userId,
      key_id: keyId ?? null,
      route,
      deployment,
      requests: isFirst ? 1 : 0,
      calls: sums?.calls ?? 0,
      prompt_tokens: sums?.promptTokens ?? 0,
      cached_tokens: sums?.cachedTokens ?? 0,
      completion_tokens: sums?.completionTokens ?? 0,
      is_partial: sums?.isPartial ?? false,
      audio_seconds: rounded(sums?.audioSeconds ?? 0),
      compute_seconds: rounded(sums?.computeSeconds ?? 0),
      plugin_cpu_seconds: isFirst ? rounded(this.#pluginCpuMs / 1000) : 0,
      duration_seconds: rounded(ms / 1000),
      outcome,
      status: status ?? null,
    };
  }
}

function add(sums: Sums, { promptTokens, cachedTokens, completionTokens, audioSeconds }: CallFigures): void {
  sums.promptTokens += promptTokens ?? 0;
  sums.cachedTokens += cachedTokens ?? 0;
  sums.completionTokens += completionTokens ?? 0;
  sums.audioSeconds += audioSeconds ?? 0;
}

/** Microseconds are exact enough, and shorter. */
const rounded = (seconds: number): number => Math.round(seconds * 1e6) / 1e6;

function idOf(attempt: string, deployment: string | null): string {
  return canonicalUuid(
    createHash('sha256')
      .update(`${attempt}\0${deployment ?? ''}`)
      .digest('hex')
      .slice(0, 32),
  );
}
