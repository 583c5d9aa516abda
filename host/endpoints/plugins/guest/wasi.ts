/** Maximum bytes of one write to standard output or error. The rest is dropped. */
const maxWrittenBytes = 8 * 1024;

/** Standard input, which is always at its end. C's runtime opens it together with standard output. */
class EmptyInputStream {
  read(): never {
    throw { tag: 'closed' }; // oxlint-disable-line no-throw-literal -- how the glue takes a WIT error
  }
  blockingRead(): never {
    return this.read();
  }
}

/**
 * Returns the `wasi:*` interfaces, which language runtimes import even if a guest does not use them. Clocks tell the
 * time. Standard output and error go to `onOutput`. Standard input, the environment, arguments and the file system are
 * empty. Everything else traps.
 */
export function denyAllWasi(onOutput: (text: string) => void): (name: string) => Record<string, unknown> {
  class OutputStream {
    readonly #decoder = new TextDecoder();
    checkWrite(): bigint {
      return 65_536n;
    }
    write(bytes: Uint8Array): void {
      if (bytes.length > 0) onOutput(this.#decoder.decode(bytes.subarray(0, maxWrittenBytes), { stream: true }));
    }
    blockingWriteAndFlush(bytes: Uint8Array): void {
      this.write(bytes);
    }
    flush(): void {}
    blockingFlush(): void {}
  }
  // One object for all handles of a stream, because a guest may ask for many.
  const [stdout, stderr] = [new OutputStream(), new OutputStream()];
  const given: Readonly<Record<string, Record<string, unknown>>> = {
    'wasi:cli/environment': { getEnvironment: () => [], getArguments: () => [], initialCwd: () => undefined },
    'wasi:cli/stdin': { getStdin: () => new EmptyInputStream() },
    'wasi:cli/stdout': { getStdout: () => stdout },
    'wasi:cli/stderr': { getStderr: () => stderr },
    'wasi:cli/terminal-stdin': { getTerminalStdin: () => undefined },
    'wasi:cli/terminal-stdout': { getTerminalStdout: () => undefined },
    'wasi:cli/terminal-stderr': { getTerminalStderr: () => undefined },
    'wasi:clocks/monotonic-clock': { now: () => process.hrtime.bigint(), resolution: () => 1n },
    'wasi:clocks/wall-clock': { now: wallClock, resolution: () => ({ seconds: 0n, nanoseconds: 1_000_000 }) },
    'wasi:filesystem/preopens': { getDirectories: () => [] },
    'wasi:io/streams': { OutputStream, InputStream: EmptyInputStream },
    // A fixed seed, because all instances begin with the same snapshot. Random bytes come from `aana:host/random`.
    'wasi:random/insecure-seed': { insecureSeed: () => [0n, 0n] },
  };
  return (name) => denyingTheRest(name, given[name] ?? {});
}

function denyingTheRest(interfaceName: string, given: Record<string, unknown>): Record<string, unknown> {
  return new Proxy(given, {
    get: (known, key) => {
      const name = String(key);
      if (Object.hasOwn(known, name)) return known[name];
      // Stands for the class of a resource that no guest gets.
      if (/^[A-Z]/.test(name)) return function unobtainable(): void {};
      return () => {
        throw new Error(`denied: ${interfaceName} ${name}`);
      };
    },
  });
}

function wallClock(): { seconds: bigint; nanoseconds: number } {
  const ms = Date.now();
  return { seconds: BigInt(Math.floor(ms / 1000)), nanoseconds: (ms % 1000) * 1_000_000 };
}
