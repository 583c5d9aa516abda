// Grammars of whole texts, made into patterns, read by the engine's own code.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { skip } from '../../test/skip.ts';
import { cannotCheck, GrammarCheck } from './fixtures/grammar-check.ts';
import { structuredGrammar, textPattern, UnusableStructure } from './index.ts';

const Patterns = suite('patterns of texts');
let check: GrammarCheck | undefined;

Patterns.after(() => check?.close());

const regex = (definition: string): string => textPattern({ syntax: 'regex', definition });
const lark = (definition: string): string => textPattern({ syntax: 'lark', definition });

/** Asserts which texts a pattern of a schema takes, for JavaScript and for the engine. */
async function expectTexts(pattern: string, good: readonly string[], bad: readonly string[]): Promise<void> {
  const grammar = structuredGrammar({ json: { type: 'string', pattern }, strict: true }).text;
  if (cannotCheck === undefined) check ??= new GrammarCheck();
  for (const [texts, isGood] of [
    [good, true],
    [bad, false],
  ] as const)
    for (const text of texts) {
      assert.is(new RegExp(pattern).test(text), isGood, `${JSON.stringify(text)} of ${pattern}`);
      if (check) assert.is(await check.takes(grammar, JSON.stringify(text)), isGood, `${text}\n${grammar}`);
    }
}

function refusal(make: () => string): string {
  try {
    return `none: ${make()}`;
  } catch (error) {
    assert.instance(error, UnusableStructure);
    return (error as Error).message;
  }
}

Patterns('of a regular expression take whole texts', async () => {
  assert.is(regex('[a-z]+'), '^(?:[a-z]+)$');
  for (const definition of ['a|bc', '^a|bc$', '(a|bc)', '^(?:a|bc)$'])
    await expectTexts(regex(definition), ['a', 'bc'], ['', 'ab', 'ac', 'abc', 'a\n']);
  await expectTexts(regex(String.raw`\$\d+\$`), ['$5$'], ['5', '$5']);
  await expectTexts(regex(String.raw`a\\$`), ['a\\'], ['a\\$', 'a']);
});

Patterns('of a regular expression that cannot bind are refused', () => {
  for (const [definition, reason] of [
    ['(', /^regex: Invalid regular expression/],
    ['(?=a)b', /^regex: .*lookahead/],
    [String.raw`(a)\1`, /^regex: .*back reference/],
    ['^a$|^b$', /^regex: .*inside/],
    ['(a|', /^regex: /],
    ['a'.repeat(20_000), /^regex: .*16384 characters/],
    ['\\'.repeat(1_000_001), /^regex: /],
  ] as const)
    assert.match(
      refusal(() => regex(definition)),
      reason,
    );
});

/** The example of OpenAI's guide, and the grammar with which its program for code writes patches. */
const SUM = `
start: expr
expr: term (SP ADD SP term)* -> add
    | term
term: factor (SP MUL SP factor)* -> mul
    | factor
factor: INT   // a number
SP: " "
ADD: "+"
MUL: "*"
%import common.INT
`;
const PATCH = `
start: begin hunk+ end
begin: "*** Begin Patch" LF
end: "*** End Patch" LF?
hunk: add_hunk | delete_hunk
add_hunk: "*** Add File: " filename LF add_line+
delete_hunk: "*** Delete File: " filename LF
filename: /(.+)/
add_line: "+" /(.*)/ LF -> line
%import common.LF
`;

Patterns('of a grammar of Lark take its texts', async () => {
  await expectTexts(lark(SUM), ['1', '1 + 2', '1 * 2 + 3 * 45'], ['', '1+2', '1 + ', '+', 'a', '1 1']);
  await expectTexts(
    lark(PATCH),
    [
      '*** Begin Patch\n*** Delete File: a.ts\n*** End Patch',
      '*** Begin Patch\n*** Add File: a (1).ts\n+\n+let a = "b";\n*** End Patch\n',
    ],
    ['*** Begin Patch\n*** End Patch', '*** Begin Patch\n*** Add File: \n+\n*** End Patch'],
  );
});

Patterns('of a grammar of Lark have all its operators', async () => {
  const operators = String.raw`
    ?start.2: [A] (B | "c"i)~2 C~1..3 D+ # comment
    !A: "a"
    B: "b" | /[xy]/
    C: "0".."3" | "]".."^"
    D: "." | "\n" | "\x41" | "\u0042" | "\\"
    %import common (LETTER, DIGIT)
    %import common.WORD -> TEXT
    unused: unused
  `;
  await expectTexts(
    lark(operators),
    ['abb0.', 'bC3].', 'xc000...', 'aCy1\n', 'bb1A', 'bb2B\\'],
    ['', 'ab0.', 'bbb0.', 'bb4.', 'bb.', 'bb0000.', 'bb0', 'BB0.', 'bb0a'],
  );
  await expectTexts(
    lark('start: DIGIT+ | TEXT\n%import common.DIGIT\n%import common (WORD)\nTEXT: WORD'),
    ['1', 'ab'],
    ['a1', ''],
  );
  await expectTexts(lark('start:'), [''], ['a']);
});

Patterns('of a grammar of Lark that cannot be made are refused', () => {
  const doubled = Array.from({ length: 20 }, (_, n) => `r${n}: r${n + 1} r${n + 1}`).join('\n');
  const chained = Array.from({ length: 200 }, (_, n) => `r${n}: r${n + 1}`).join('\n');
  for (const [definition, reason] of [
    ['', /^lark: .*it has no rule start/],
    ['start: expr\nexpr: "(" expr ")" | "a"', /the rule expr contains itself/],
    ['start: missing', /it has no rule missing/],
    ['start: "a"\nstart: "b"', /two rules start/],
    ['start: "a"\n%ignore WS', /%ignore is not supported/],
    ['start: A\n%import python.A', /%import python \. A is not supported/],
    ['start: A\n%import common.MAGIC', /%import common.MAGIC is not supported/],
    ['start: /a/i', /has flags/],
    ['start: /(?=a)b/', /^lark: .*lookahead/],
    ['start: "ab".."c"', /a range/],
    ['start: "c".."a"', /^lark: /],
    ['start: "a"~x', /a number is missing/],
    ['start: ("a"', /\) is missing/],
    ['start: "a")', /"\)" is unexpected/],
    ['start: | * "a"', /"\*" is unexpected/],
    ['start: sep{"a"}', /line 1 of the grammar is not understood at "\{"/],
    ['start: "\\q"', /is not a text/],
    [`start: r0\n${doubled}\nr20: "abc"`, /more than 16384 characters/],
    [`start: r0\n${chained}\nr200: "abc"`, /more than 50 names/],
    [`start: ${'('.repeat(8000)}"a"${')'.repeat(8000)}`, /more than 50 deep/],
    [`start: "${'a'.repeat(20_000)}"`, /more than 16384 characters/],
  ] as const)
    assert.match(
      refusal(() => lark(definition)),
      reason,
    );
});

if (cannotCheck !== undefined) skip('grammars of patterns of texts', cannotCheck);
Patterns.run();
