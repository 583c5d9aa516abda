/** Reports progress: the bytes so far, the total if it is known, and the current stage if the work has several. */
export type ReportProgress = (bytes: number, totalBytes?: number, stage?: string) => void;

export interface ProgressStream {
  readonly isTTY?: boolean | undefined;
  readonly columns?: number | undefined;
  write(text: string): unknown;
}

export interface ProgressOptions {
  /** Stream for the progress. Default: the process's standard error. */
  readonly stream?: ProgressStream | undefined;
  /** Milliseconds before anything is written. Default: 2000. */
  readonly quietMs?: number | undefined;
  /** Milliseconds between checks whether to write. Default: 200 on a terminal, else 2000. */
  readonly stepMs?: number | undefined;
}

const TERMINAL_STEP_MS = 200;
/** Time between checks whether to write a line without a terminal. */
const LOG_STEP_MS = 2_000;
/** Time before a line for the same stage is repeated without a terminal. */
const SAME_LINE_MS = 10_000;

/**
 * Runs `fn` and shows its progress: on a terminal one line that is overwritten, otherwise a line for each new stage and
 * every ten seconds. If anything was shown, a last line has the total size and time.
 */
export async function withProgress<T>(
  label: string,
  totalBytes: number | undefined,
  fn: (report: ReportProgress) => Promise<T>,
  options: ProgressOptions = {},
): Promise<T> {
  const stream: ProgressStream = options.stream ?? process.stderr;
  const quietMs = options.quietMs ?? 2_000;
  const terminal = stream.isTTY === true;
  const startedMs = performance.now();
  let bytes = 0;
  let total = totalBytes;
  let stage: string | undefined;
  let stageStartedMs = startedMs;
  let shown = false;
  let written: { readonly doing: string; readonly ms: number } | undefined;
  const show = (): void => {
    const doing = withoutPercent(stage);
    const now = performance.now();
    if (!terminal && written?.doing === doing && now - written.ms < SAME_LINE_MS) return;
    written = { doing, ms: now };
    shown = true;
    const text = line(
      stage === undefined ? label : `${label}, ${stage}`,
      bytes,
      total,
      performance.now() - stageStartedMs,
    );
    stream.write(terminal ? `\r\u001b[2K${text.slice(0, (stream.columns ?? 80) - 1)}` : `${text}\n`);
  };
  let ticker: NodeJS.Timeout | undefined;
  const first = setTimeout(() => {
    show();
    ticker = setInterval(show, options.stepMs ?? (terminal ? TERMINAL_STEP_MS : LOG_STEP_MS));
  }, quietMs);
  const clear = (): void => {
    clearTimeout(first);
    clearInterval(ticker);
  };
  try {
    const result = await fn((now, all, doing) => {
      bytes = now;
      if (withoutPercent(doing) !== withoutPercent(stage)) {
        stageStartedMs = performance.now();
        total = all;
      } else if (all !== undefined) total = all;
      stage = doing;
    });
    clear();
    if (shown)
      stream.write(`${terminal ? '\r\u001b[2K' : ''}${endLine(label, bytes, performance.now() - startedMs)}\n`);
    return result;
  } catch (error) {
    clear();
    if (shown && terminal) stream.write('\n');
    throw error;
  }
}

/** The progress of one of several concurrent pieces of work. */
export interface ProgressPart {
  readonly report: ReportProgress;
  /** Called when the work has ended. */
  done(): void;
}

/**
 * Shares a progress among concurrent pieces of work. It shows the stage of each one that has not ended, in the order in
 * which they began.
 */
export function shareProgress(report: ReportProgress): () => ProgressPart {
  const running = new Set<{ bytes: number; total?: number | undefined; stage?: string | undefined }>();
  const tell = (): void => {
    const told = [...running].filter(({ stage }) => stage !== undefined);
    const [only] = told;
    if (only && told.length === 1) return report(only.bytes, only.total, only.stage);
    report(
      0,
      undefined,
      told
        .map(({ bytes, total, stage }) => `${stage}${total && bytes ? ` ${percentOf(bytes, total)} %` : ''}`)
        .join('; ') || undefined,
    );
  };
  return () => {
    const part: { bytes: number; total?: number | undefined; stage?: string | undefined } = { bytes: 0 };
    running.add(part);
    return {
      report: (bytes, total, stage) => {
        Object.assign(part, { bytes, total, stage });
        tell();
      },
      done: () => {
        running.delete(part);
        tell();
      },
    };
  };
}

/** Returns a report for a part of the work: its stages follow `stage`. */
export function reportWithin(report: ReportProgress, stage: string): ReportProgress {
  return (bytes, total, inner) => report(bytes, total, inner === undefined ? stage : `${stage}: ${inner}`);
}

function withoutPercent(stage: string | undefined): string {
  return (stage ?? '').replaceAll(/ \d+ %/g, '');
}

function percentOf(bytes: number, total: number): number {
  return Math.min(100, Math.floor((100 * bytes) / total));
}

/** Returns a size such as `12.3 MB`, in decimal units as usual for downloads. */
export function formatBytes(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = bytes / 1_000;
  let unit = 0;
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1_000;
    unit += 1;
  }
  return `${value.toFixed(value < 99.95 ? 1 : 0)} ${units[unit]}`;
}

function line(label: string, bytes: number, total: number | undefined, ms: number): string {
  const speed = bytes > 0 && ms > 500 ? `, ${formatBytes(Math.round((bytes * 1000) / ms))}/s` : '';
  if (bytes === 0) return `${label}: ${Math.round(ms / 1000)} s`;
  if (total === undefined || total <= 0) return `${label}: ${formatBytes(bytes)}${speed}`;
  return `${label}: ${percentOf(bytes, total)} % of ${formatBytes(total)}${speed}`;
}

function endLine(label: string, bytes: number, ms: number): string {
  return `${label}: done${bytes > 0 ? `, ${formatBytes(bytes)}` : ''} in ${(ms / 1000).toFixed(1)} s`;
}
