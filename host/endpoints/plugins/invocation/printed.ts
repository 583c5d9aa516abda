/** Maximum characters that are kept of what a guest prints. */
export const maxPrinted = 4_096;
/** What Rust's runtime prints beside the reason of a panic. */
export const runtimeNoise = /RUST_BACKTRACE/;

/** Returns the last message that a guest has printed, because it says more than a trap. */
export function lastWords(printed: string): string | undefined {
  return /message: Some\("((?:[^"\\]|\\.)*)"\)/.exec(printed)?.[1] ?? (printed.trim().split('\n')[0] || undefined);
}
