const word = '[A-Za-z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*';
/** Names of WIT: `run`, `[method]video.info`, `aana:host/media@0.1.0`. */
const witName = new RegExp(
  `^(?:(?:\\[constructor\\])?${word}|\\[(?:method|static)\\]${word}\\.${word}|${word}(?::${word})+(?:/${word})?(?:@[0-9A-Za-z.+-]+)?)$`,
);
/**
 * Names in core modules as toolchains make them: names of C, C++ and Rust, such as `_ZN4core3fmt`, names of libraries,
 * such as `libc++.so`, and names of WIT with prefixes, such as `cabi_post_aana:host/endpoint@0.1.0#run`. The import of
 * a table has an empty module name.
 */
const coreName = /^[\w.$@:/#|[\]+~-]*$/;
/** What the host adds to core modules: `aana:hooks` and `aana:memory:0`. */
const ofHost = /^aana:(?!host\/)/;
/** The member of objects in JavaScript that is their prototype. */
const prototypeName = '__proto__';

const shownChars = 60;

export type Grammar = 'wit' | 'core';

/**
 * Throws a RangeError unless a name has the grammar. The translation writes names into a program that the host runs, so
 * nothing in a name may end a string or a comment of JavaScript.
 */
export function checkName(name: string, grammar: Grammar, where: string): void {
  const isRight = grammar === 'wit' ? witName.test(name) : coreName.test(name) && name !== prototypeName;
  if (!isRight)
    throw new RangeError(
      `the name ${shown(name)} (${where}) is not one that ${grammar === 'wit' ? 'WIT' : 'a compiler'} makes`,
    );
  if (grammar === 'core' && ofHost.test(name))
    throw new RangeError(`the name ${shown(name)} (${where}) is the host's own`);
}

/** Returns a name for an error: short, quoted and in ASCII. */
function shown(name: string): string {
  const start = [...name.slice(0, 2 * shownChars)].slice(0, shownChars).join('');
  const quoted = JSON.stringify(start).replaceAll(
    /[^\x20-\x7e]/gu,
    (char) => `\\u{${char.codePointAt(0)!.toString(16)}}`,
  );
  return start === name ? quoted : `${quoted}…`;
}
