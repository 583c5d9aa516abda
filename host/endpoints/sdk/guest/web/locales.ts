/**
 * Makes calls with a locale throw, because the interpreter has none and would return the same text for each. Every
 * component has it.
 */

type Method = (this: unknown, ...args: unknown[]) => unknown;

/** Languages whose letters change their case by rules of their own. */
const OWN_CASES = /^(az|el|hy|lt|tr)\b/i;
const number = 'write it with toFixed, or with a library that brings its own rules';
const date = 'write it with the parts of the Date, or with a library that brings its locales, such as date-fns';
const text = 'compare with < and >, or with a library that brings its own rules';
const letters = 'use toUpperCase or toLowerCase, or replace the letters that differ';

/** Replaces a method whose argument `at` names locales, and the next one has options. */
function refuseLocales(owner: object, name: string, instead: string, at = 0, refused = /^/): void {
  const original = (owner as Record<string, Method>)[name]!;
  const method: Method = function (...args) {
    const locales = ([] as unknown[]).concat(args[at] ?? []).map(String);
    const locale = locales.find((each) => refused.test(each));
    const asked = locale === undefined ? 'options' : `the locale ${JSON.stringify(locale)}`;
    if (locale !== undefined || (args[at + 1] !== undefined && refused !== OWN_CASES))
      throw new RangeError(`a plugin has no locales, so ${name} cannot follow ${asked}: ${instead}`);
    return original.apply(this, args);
  };
  Object.defineProperties(method, { name: { value: name }, length: { value: original.length } });
  Object.defineProperty(owner, name, { value: method, writable: true, configurable: true });
}

for (const { prototype } of [Number, BigInt, Array, Object.getPrototypeOf(Uint8Array) as ArrayConstructor])
  refuseLocales(prototype, 'toLocaleString', number);
for (const name of ['toLocaleString', 'toLocaleDateString', 'toLocaleTimeString'])
  refuseLocales(Date.prototype, name, date);
refuseLocales(String.prototype, 'localeCompare', text, 1);
for (const name of ['toLocaleLowerCase', 'toLocaleUpperCase'])
  refuseLocales(String.prototype, name, letters, 0, OWN_CASES);
