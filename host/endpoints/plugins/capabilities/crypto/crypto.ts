import { Limiter } from '../../../../base/core/async/limiter.ts';
import type { CryptoCalls } from '../../../../../wit/generated/world/crypto.ts';
import type { CallsOf, CapabilityScope } from '../scope/scope.ts';
import { fromBase64 } from './bytes.ts';
import { Keys } from './keys.ts';
import { cryptoLimits, refuse } from './limits.ts';
import { type Arguments, methods } from './methods.ts';
import { standardError } from './standard-error.ts';

const all = new Limiter(cryptoLimits.atWorkInAll);
/** Plugins whose calls are at work, with the number of these calls. */
const atWork = new Map<string, { readonly limiter: Limiter; calls: number }>();

/** Cryptography by Node. Every plugin has it. */
export const cryptoCalls: CallsOf<keyof CryptoCalls> = {
  'crypto.perform': async (scope, name, args, data) => {
    try {
      const method = methods.get(name);
      if (!method) throw refuse('NotSupportedError', `${JSON.stringify(name.slice(0, 64))} is no method`);
      const given = argumentsIn(args);
      scope.charge(Math.max(0, method.cost(given, data.length)) || 0); // its numbers are the guest's
      const keys = new Keys((ms) => scope.charge(ms));
      return await inTurn(scope, () =>
        method.perform(given, fromBase64(data, 'the data', cryptoLimits.dataBytes), keys),
      );
    } catch (error) {
      throw standardError(error);
    }
  },
};

function argumentsIn(json: string): Arguments {
  if (json.length > cryptoLimits.argumentChars)
    throw refuse('OperationError', `the arguments are over the limit of ${cryptoLimits.argumentChars} characters`);
  const given: unknown = JSON.parse(json);
  if (typeof given !== 'object' || given === null) throw new TypeError('the arguments are no object');
  return given as Arguments;
}

/** Runs the work when the plugin has a place, and then one among all plugins, which take turns. */
async function inTurn<T>({ plugin, signal }: CapabilityScope, work: () => Promise<T>): Promise<T> {
  const mine = atWork.get(plugin) ?? { limiter: new Limiter(cryptoLimits.atWork), calls: 0 };
  atWork.set(plugin, mine);
  mine.calls++;
  try {
    return await mine.limiter.run(() => all.run(work, signal), signal);
  } finally {
    if (--mine.calls === 0) atWork.delete(plugin);
  }
}
