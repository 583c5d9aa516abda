// Inputs of custom tools in arguments that come in pieces.
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { CallDeltas, functionCall, toolCall } from './call-shapes.ts';
import { customArguments, customInput, CustomInput } from './custom-calls.ts';

const Calls = suite('inputs of custom tools');

/** Returns the input of arguments that come in pieces of `length` characters. */
function inPieces(text: string, length: number): readonly string[] {
  const input = new CustomInput();
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += length) pieces.push(input.read(text.slice(at, at + length)));
  return pieces;
}

const INPUTS = [
  '',
  'ls -l',
  'say "hi"\n\\ and \\u0041',
  'é日😀"',
  '{"input":"x"}',
  '\t\u0001/',
  '\ud83d\ude00'.repeat(3),
];

Calls('are the same however the arguments are cut', () => {
  for (const input of INPUTS)
    for (const text of [customArguments(input), escaped(input), ` {\n "input" : ${JSON.stringify(input)} }\n`])
      for (const length of [1, 2, 3, 5, 7, 1000]) {
        const pieces = inPieces(text, length);
        assert.is(pieces.join(''), input, text);
        for (const piece of pieces) assert.ok(isWhole(piece), 'half of a character');
      }
});

/** Returns arguments whose input has only escapes of four digits. */
const escaped = (input: string): string =>
  `{"input":"${input.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)}"}`;

const isWhole = (text: string): boolean =>
  !/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/.test(text);

Calls('of arguments that were cut off are what is there', () => {
  assert.equal(
    ['', '{"inp', '{"input": "ab', '{"input":"ab\\', '{"input":"ab\\u00', '{"input":"ab\\ud83d'].map(customInput),
    ['', '', 'ab', 'ab', 'ab', 'ab'],
  );
});

Calls('of arguments of another form are the arguments', () => {
  for (const text of ['ls -l', '{"command":"ls"}', '[]', '{"input":5}', '{"inputs":"a"}'])
    for (const length of [1, 3, 1000]) assert.is(inPieces(text, length).join(''), text);
  assert.is(customInput('{"input":"a\\uzzzzb"}'), 'a\\uzzzzb"}');
  assert.is(customInput(`{"input":"${'a'.repeat(1_000_000)}"}`).length, 1_000_000);
});

Calls('are translated in both directions', () => {
  for (const input of INPUTS) {
    const call = { id: 'call_1', type: 'custom' as const, custom: { name: 'shell', input } };
    const asked = functionCall(call);
    assert.equal(asked.function, { name: 'shell', arguments: customArguments(input) });
    assert.equal(toolCall(asked, new Set(['shell'])), call);
    assert.equal(toolCall(asked, new Set(['other'])), asked);
  }
});

Calls('of several calls are told apart in pieces', () => {
  const deltas = new CallDeltas(new Set(['shell']));
  const piece = (index: number, text: string, name?: string) =>
    name === undefined
      ? { index, function: { arguments: text } }
      : { index, id: `call_${index}`, type: 'function' as const, function: { name, arguments: text } };
  const given = [
    piece(0, '{"input":"l', 'shell'),
    piece(0, 's"'),
    piece(0, '}'),
    piece(1, '{}', 'other'),
    piece(1, ' '),
  ];
  assert.equal(
    given.flatMap((one) => deltas.of([one])),
    [
      { index: 0, id: 'call_0', type: 'custom', custom: { name: 'shell', input: 'l' } },
      { index: 0, custom: { input: 's' } },
      { index: 1, id: 'call_1', type: 'function', function: { name: 'other', arguments: '{}' } },
      { index: 1, function: { arguments: ' ' } },
    ],
  );
});

Calls.run();
