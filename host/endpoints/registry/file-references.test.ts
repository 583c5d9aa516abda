import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { fileKeys, findFileReferences } from './file-references.ts';

const References = suite('names of files in an input');
const FILE = { type: 'string', 'x-aana-file': true };

References('are found through references, branches, lists and keys of any name', () => {
  const schema = {
    type: 'object',
    properties: {
      clip: { $ref: '#/$defs/Media' },
      list: { type: 'array', prefixItems: [{ type: 'string' }], items: { anyOf: [{ type: 'null' }, FILE] } },
      map: { additionalProperties: { allOf: [{ $ref: '#/$defs/Media' }] } },
      note: { type: 'string' },
    },
    $defs: {
      Media: {
        type: 'object',
        properties: { content: { oneOf: [FILE, { type: 'null' }] }, part: { $ref: '#/$defs/Media' } },
      },
    },
  };
  const input = {
    clip: { content: 'a', part: { content: 'b' } },
    list: ['no', 'c', null, 'd'],
    map: { x: { content: 'e' } },
    note: 'no',
  };
  assert.equal(findFileReferences(schema, input), [
    { name: 'a', loc: ['clip', 'content'] },
    { name: 'b', loc: ['clip', 'part', 'content'] },
    { name: 'c', loc: ['list', 1] },
    { name: 'd', loc: ['list', 3] },
    { name: 'e', loc: ['map', 'x', 'content'] },
  ]);
  assert.equal(fileKeys(schema), ['clip', 'list', 'map']);
});

References('are looked for in no more steps than the schema and the input have places', () => {
  const twice = (to: string): object => ({
    anyOf: [{ $ref: to }, { $ref: to }],
    properties: { a: { anyOf: [{ $ref: to }, { $ref: to }] } },
  });
  const chain = Object.fromEntries(Array.from({ length: 200 }, (_, i) => [`s${i}`, twice(`#/$defs/s${i + 1}`)]));
  const schemas = [
    { properties: { a: { $ref: '#' }, b: { type: 'string' } }, anyOf: [{ $ref: '#' }, { $ref: '#' }] }, // itself, twice
    // 2 to the power of 200 ways.
    { properties: { a: { $ref: '#/$defs/s0' } }, $defs: { ...chain, s200: { type: 'string' } } },
  ];
  const deep = JSON.parse(`${'{"a":'.repeat(60)}"x"${'}'.repeat(60)}`) as object;
  for (const schema of schemas) assert.equal([findFileReferences(schema, deep), fileKeys(schema)], [[], []]);
});

References('do not fail for a reference that cannot be read', () => {
  assert.equal(findFileReferences({ properties: { a: { $ref: '#/$defs/%' } }, $defs: { '%': FILE } }, { a: 'x' }), [
    { name: 'x', loc: ['a'] },
  ]);
});

References.run();
