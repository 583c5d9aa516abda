import { isAsyncIterable } from '../../../base/core/async/async-values.ts';
import { fail } from '../../../base/core/errors.ts';
import type { Feed } from '../../rpc/index.ts';
import { check } from '../class/check.ts';
import type { FeedDefinition } from '../class/method.ts';

/** The feed of one call. Checks each value before it is sent. */
export class CheckedFeed implements Feed {
  readonly name: string;
  readonly values: AsyncIterable<unknown>;
  #isStarted = false;

  /**
   * `what` is the beginning of messages. `onValue` is called with each checked value. Throws `ValidationError` when
   * `source` is not an async iterable, which is the case when it came from another process as JSON.
   */
  constructor(
    { name, value: schema }: FeedDefinition,
    source: unknown,
    what: string,
    onValue: (value: unknown) => void = () => {},
  ) {
    if (!isAsyncIterable(source)) {
      const expected = "an async iterable of values, which only the host's process and deployments can pass";
      const problem = `${name}: Input should be ${expected}`;
      const data = [{ type: 'value_error', loc: [name], msg: problem }];
      throw fail('ValidationError', `${what}: ${problem}`, { data });
    }
    this.name = name;
    this.values = {
      [Symbol.asyncIterator]: () => {
        const iterator = source[Symbol.asyncIterator]();
        return {
          next: async () => {
            this.#isStarted = true;
            const step = await iterator.next();
            if (step.done === true) return step;
            const value: unknown = check(schema, step.value, `${what}: ${name}`);
            onValue(value);
            return { done: false, value };
          },
          return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
        };
      },
    };
  }

  /** Whether a value was asked for. The call cannot be repeated then, because the values cannot be read twice. */
  get isStarted(): boolean {
    return this.#isStarted;
  }
}
