import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { pascalCase, SchemaComponents } from './schema-components.ts';

const Components = suite('schemas as components');

function collected(): { schemas: SchemaComponents; all: Record<string, unknown> } {
  const all: Record<string, unknown> = {};
  return { all, schemas: new SchemaComponents((name, schema) => void (all[name] = schema)) };
}

const shade = { type: 'object', properties: { name: { type: 'string' } } };
const using = (definition: object): object => ({
  $schema: 'x',
  type: 'object',
  properties: { shade: { $ref: '#/$defs/Shade' } },
  $defs: { Shade: definition },
});

Components('definitions become components of their own names, which references lead to', () => {
  const { all, schemas } = collected();
  assert.equal(schemas.add('MixRequest', using({ id: 'Shade', ...shade })), {
    $ref: '#/components/schemas/MixRequest',
  });
  assert.equal(all, {
    MixRequest: { type: 'object', properties: { shade: { $ref: '#/components/schemas/Shade' } } },
    Shade: shade,
  });
});

Components('the same definition appears once, and another one of the same name gets a longer name', () => {
  const { all, schemas } = collected();
  schemas.add('A', using(shade));
  schemas.add('B', using(shade));
  schemas.add('C', using({ type: 'string' }));
  assert.equal(Object.keys(all), ['A', 'Shade', 'B', 'C', 'CShade']);
  assert.equal((all['C'] as { properties: unknown }).properties, { shade: { $ref: '#/components/schemas/CShade' } });
});

Components('endpoints whose names differ only in punctuation have models of their own', () => {
  const { all, schemas } = collected();
  schemas.add(`${pascalCase('a_b')}Request`, { type: 'string' });
  assert.equal(schemas.add(`${pascalCase('a-b')}Request`, { type: 'number' }), {
    $ref: '#/components/schemas/ABRequest2',
  });
  assert.equal(all, { ABRequest: { type: 'string' }, ABRequest2: { type: 'number' } });
});

Components('schemas that contain themselves lead back to their component', () => {
  const { all, schemas } = collected();
  schemas.add('Tree', {
    type: 'object',
    properties: { left: { $ref: '#' }, right: { $ref: '#/properties/left' }, other: { $ref: '#/$defs/__schema0' } },
    $defs: { __schema0: { items: { $ref: '#/$defs/__schema0' } } },
  });
  assert.equal(all, {
    Tree: {
      type: 'object',
      properties: {
        left: { $ref: '#/components/schemas/Tree' },
        right: { $ref: '#/components/schemas/Tree/properties/left' },
        other: { $ref: '#/components/schemas/TreePart0' },
      },
    },
    TreePart0: { items: { $ref: '#/components/schemas/TreePart0' } },
  });
});

Components.run();
