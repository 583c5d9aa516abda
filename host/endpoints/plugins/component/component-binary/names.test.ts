import { runInThisContext } from 'node:vm';
import * as fc from 'fast-check';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { checkName, type Grammar } from './names.ts';

const Names = suite('names in components');

const isRight = (name: string, grammar: Grammar): boolean => {
  try {
    checkName(name, grammar, 'here');
    return true;
  } catch {
    return false;
  }
};

/** Names that toolchains make. */
const made: Readonly<Record<Grammar, readonly string[]>> = {
  wit: [
    ...['run', 'error-kind', 'import-func-run', 'x1-y2', 'HTTP-get'],
    ...['[constructor]chunks', '[method]video.extract-audio', '[static]image.open'],
    ...['aana:host/types@0.1.0', 'wasi:io/streams@0.2.12', 'local:init/module-loader', 'a:b:c/d@1.0.0-rc.1+build.7'],
  ],
  core: [
    ...['', '0', '43', 'memory', '$imports', '$root', 'cabi_realloc', '__indirect_function_table', 'GOT.func'],
    ...['aana:host/endpoint@0.1.0#describe', 'cabi_post_aana:host/endpoint@0.1.0#run'],
    ...['[resource-drop]chunks', '[export]aana:host/x@0.1.0', 'cm32p2|local:init/module-loader|resolve'],
    ...['libc++.so', 'componentize_qjs_runtime.wasm', 'wit-dylib.wasm:memory_base', 'wasi_snapshot_preview1'],
    ...['_ZN4core3fmt5write17h0123456789abcdefE', '_ZN60_$LT$alloc..string..String$u20$as$u20$core..fmt..Write$GT$9E'],
    ...['assembly/index/Point#constructor', '~lib/builtins/abort'],
  ],
};
for (const [grammar, names] of Object.entries(made) as [Grammar, readonly string[]][])
  Names(`names of toolchains are accepted: ${grammar}`, () => {
    for (const name of names) assert.ok(isRight(name, grammar), name);
  });

/** Parts of names that end a string, a comment or a template in JavaScript, or mean something to its objects. */
const hostile = [
  ...["'", '"', '`', '\\', '${', '}', '*/', '/*', '//', '\n', '\r', '\u2028', '\u2029', '\0', '<!--', '-->'],
  ...['__proto__', 'aana:', 'aana:hooks', 'é', '\ud800', ' ', '(', ')', ',', ';'],
];
const harmless = ['a', 'b1', 'constructor', '-', '_', '.', ':', '/', '@', '#', '|', '$', '[', ']', '+', '~'];
/** Ways in which a program can hold a name. */
const programs: readonly ((name: string) => string)[] = [
  (name) => `'${name}'`,
  (name) => `"${name}"`,
  (name) => `\`${name}\``,
  (name) => `/* ${name} */ ${JSON.stringify(name)}`,
  (name) => `// ${name}\n${JSON.stringify(name)}`,
  (name) => `Object.keys({ '${name}': 1 })[0]`,
];

Names('an accepted name is itself in each kind of string, comment and object of JavaScript', () => {
  fc.assert(
    fc.property(
      fc
        .array(
          fc.oneof(
            { weight: 8, arbitrary: fc.constantFrom(...harmless) },
            fc.constantFrom(...hostile),
            fc.string({ unit: 'binary', maxLength: 2 }),
          ),
        )
        .map((parts) => parts.join('')),
      fc.constantFrom<Grammar>('wit', 'core'),
      (name, grammar) => {
        if (!isRight(name, grammar)) return;
        for (const program of programs) assert.is(runInThisContext(program(name)), name);
      },
    ),
    { numRuns: 1000 },
  );
});

Names('a refused name is told short and in ASCII, with its place', () => {
  const name = `a\u2028'${'b'.repeat(100_000)}`;
  assert.throws(
    () => checkName(name, 'core', 'an import of core module 2'),
    /^the name "a\\u\{2028\}'b{57}"… \(an import of core module 2\) is not one that a compiler makes$/,
  );
  assert.throws(
    () => checkName('aana:hooks', 'core', 'an export'),
    /^the name "aana:hooks" \(an export\) is the host's own$/,
  );
});

Names.run();
