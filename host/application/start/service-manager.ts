import { spawn } from 'node:child_process';
import type { ServiceManagerAddress } from '../../base/config/index.ts';
import type { Logger } from '../../base/core/log/logger.ts';

/** Time between two messages that ask for more time to start, and the time for which each asks. */
const EXTEND_EVERY_MS = 20_000;
const EXTEND_BY_MS = 90_000;

export interface ServiceManagerOptions {
  readonly log: Logger;
  /** Undefined: no service manager waits for messages, and none are sent. */
  readonly address: ServiceManagerAddress | undefined;
  /** Command that sends its arguments to the service manager. Default: `systemd-notify`. */
  readonly command?: string | undefined;
}

/**
 * Reports the states of this process to systemd (`Type=notify`). A failure is logged once, and the process continues.
 *
 * Messages are sent by `systemd-notify`, because Node cannot open Unix datagram sockets. The service therefore needs
 * `NotifyAccess=all`.
 */
export class ServiceManager {
  readonly #log: Logger;
  readonly #command: string;
  readonly #address: ServiceManagerAddress | undefined;
  #timer: NodeJS.Timeout | undefined;
  #sent: Promise<void> = Promise.resolve();
  #hasFailed = false;

  constructor({ log, address, command = 'systemd-notify' }: ServiceManagerOptions) {
    this.#log = log;
    this.#address = address;
    this.#command = command;
  }

  /** Called when the start begins. Until `ready()` it asks for more time, because a start may download models. */
  starting(): void {
    const extend = (): void => this.#send(`EXTEND_TIMEOUT_USEC=${EXTEND_BY_MS * 1000}`, 'STATUS=starting');
    extend();
    this.#every(EXTEND_EVERY_MS, extend);
  }

  /** Called when the application serves. From then on, a timer of the event loop feeds the watchdog. */
  ready(): void {
    this.#send('READY=1', 'STATUS=serving');
    const period = this.#address?.watchdogMs;
    if (period === undefined) this.#stopTimer();
    else this.#every(period, () => this.#send('WATCHDOG=1'));
  }

  /** Called when the application begins to stop. The watchdog is fed until `close()`. */
  stopping(): void {
    this.#send('STOPPING=1', 'STATUS=finishing running requests');
  }

  /** Ends the messages. Returns when the last one was sent. */
  async close(): Promise<void> {
    this.#stopTimer();
    await this.#sent;
  }

  #every(ms: number, work: () => void): void {
    if (this.#address === undefined) return;
    this.#stopTimer();
    this.#timer = setInterval(work, ms).unref();
  }

  #stopTimer(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** Sends one message after the previous one, so that they arrive in order. */
  #send(...assignments: string[]): void {
    const env = this.#address?.env;
    if (env === undefined) return;
    this.#sent = this.#sent.then(() => this.#notify(env, assignments));
  }

  #notify(env: NodeJS.ProcessEnv, assignments: readonly string[]): Promise<void> {
    return new Promise((resolve) => {
      const fail = (reason: string): void => {
        if (!this.#hasFailed) this.#log.warn('cannot notify the service manager', { command: this.#command, reason });
        this.#hasFailed = true;
        resolve();
      };
      const child = spawn(this.#command, assignments, { env, stdio: 'ignore' });
      child.on('error', (error) => fail(error.message));
      child.on('exit', (code, signal) => (code === 0 ? resolve() : fail(`it ended with ${code ?? signal}`)));
    });
  }
}
