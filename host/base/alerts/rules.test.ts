import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { suite } from 'uvu';
import * as assert from 'uvu/assert';
import { loadConfig } from '../config/index.ts';
import { packageRoot } from '../core/package-root.ts';
import { rulesOf } from './rules.ts';

const Rules = suite('rules of alerts in the configuration');

const load = (alerts: unknown, env: Readonly<Record<string, string>> = {}) =>
  loadConfig({ cwd: '/', env, content: JSON.stringify({ alerts }) }).alerts;

Rules('have good defaults, of which each can be changed alone', () => {
  const { enabled, interval_s: interval, rules } = load({});
  assert.equal([enabled, interval, rules], [true, 5, {}]);
  const byName = (given: object) => new Map(rulesOf(load({ rules: given }).rules).map((rule) => [rule.name, rule]));
  const defaults = byName({});
  assert.is(defaults.size, 8);
  const changed = byName({ disk: { threshold: 0.5 }, queue: { enabled: false } });
  assert.equal(changed.get('disk'), { ...defaults.get('disk'), threshold: 0.5 });
  assert.not.ok(changed.has('queue'));
  assert.equal(changed.get('certificate'), defaults.get('certificate'));
  const further = byName({ slow_llm: { kind: 'queue', threshold: 0.1, only: ['llm_deployment'] } });
  assert.equal(further.get('slow_llm'), {
    ...defaults.get('queue'),
    name: 'slow_llm',
    threshold: 0.1,
    only: ['llm_deployment'],
  });
  assert.is(further.size, 9);
});

Rules('come from the environment, too', () => {
  assert.not.ok(load({}, { AANA_ALERTS: 'false' }).enabled);
  assert.equal(load({}, { AANA_ALERTS_RULES: '{"disk":{"for_s":1}}' }).rules, { disk: { for_s: 1 } });
});

Rules('are refused with their place and what to do', () => {
  const refused: [given: unknown, message: RegExp][] = [
    [{ rules: { mine: {} } }, /"alerts\.rules\.mine\.kind": is missing; .*Kinds are deployment_down, /],
    [{ rules: { disk: { kind: 'queue' } } }, /"alerts\.rules\.disk\.kind": must be "disk", .* \(it is "queue"\)/],
    [{ rules: { mine: { kind: 'cpu' } } }, /"alerts\.rules\.mine\.kind": .*"disk"/],
    [{ rules: { disk: { threshold: 90 } } }, /"alerts\.rules\.disk\.threshold": must be a part of the whole/],
    [{ rules: { disk: { threshold: 0 } } }, /"alerts\.rules\.disk\.threshold"/],
    [{ rules: { certificate: { threshold: 1e9 } } }, /"alerts\.rules\.certificate\.threshold"/],
    [{ rules: { plugin_failed: { threshold: 1 } } }, /"alerts\.rules\.plugin_failed\.threshold": must be absent/],
    [{ rules: { disk: { window_s: 60 } } }, /"alerts\.rules\.disk\.window_s": is only for/],
    [{ rules: { disk: { for_s: -1 } } }, /"alerts\.rules\.disk\.for_s"/],
    [{ rules: { disk: { for_s: '60' } } }, /"alerts\.rules\.disk\.for_s"/],
    [{ rules: { disk: { severity: 'page' } } }, /"alerts\.rules\.disk\.severity"/],
    [{ rules: { disk: { only: [] } } }, /"alerts\.rules\.disk\.only"/],
    [{ rules: { disk: { threshhold: 1 } } }, /unknown key "alerts\.rules\.disk\.threshhold"/],
    [{ rules: { 'Not A Name': { kind: 'disk' } } }, /a name has 1 to 64 small letters/],
    [{ rules: { toString: { kind: 'disk' } } }, /a name has 1 to 64 small letters/],
    [{ rules: { constructor: {} } }, /"alerts\.rules\.constructor\.kind": is missing/],
    [{ rules: [] }, /"alerts\.rules"/],
    [{ interval_s: 0 }, /"alerts\.interval_s"/],
    [
      { rules: Object.fromEntries(Array.from({ length: 201 }, (_, n) => [`r${n}`, { kind: 'disk' }])) },
      /has more than 200 rules/,
    ],
    [{ on: true }, /unknown key "alerts\.on"/],
  ];
  for (const [given, message] of refused) assert.throws(() => load(given), message, JSON.stringify(given).slice(0, 80));
  assert.throws(() => load({}, { AANA_ALERTS_RULES: '{"disk":' }), /AANA_ALERTS_RULES: invalid JSON/);
});

Rules('are in the guide with their values', () => {
  const guide = readFileSync(join(packageRoot, 'docs/operating.md'), 'utf8');
  for (const { name, severity, threshold, for_s: forS, keep_s: keepS } of rulesOf({})) {
    const row = guide.split('\n').find((line) => line.startsWith(`| \`${name}\` |`));
    const cells = row?.split('|').map((cell) => cell.trim());
    assert.equal(
      cells?.slice(3, 7),
      [severity, threshold === null ? '–' : String(threshold), String(forS), String(keepS)],
      name,
    );
  }
});

Rules.run();
