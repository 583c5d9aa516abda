import { givenIn } from '../core/secrets/given-settings.ts';
import { HIDDEN, mapTexts, textMask } from '../core/secrets/text-mask.ts';
import { isSecretName } from './describe.ts';
import type { Config } from './schema.ts';
import { isTree } from './values.ts';

/** Shorter values are not searched for if they only may be secret. */
const LEAST_CHARS_OF_POSSIBLE = 8;

/** Names of variables whose values are secret, besides those of the configuration. */
const SECRET_VARIABLE = /(key|token|secret|passw(or)?d|credential|authorization|cookie|dsn)/i;

/** Forms of secrets that can come from anywhere: keys of this host and of others, headers, and parts of URLs. */
const FORMS: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/(?<=\/\/)[^/@\s"']+@/g, `${HIDDEN}@`],
  [/([?&][\w.-]*(?:token|key|secret|password|signature|sig|auth)=)[^&#\s"']+/gi, `$1${HIDDEN}`],
  [/(#token=)[\w~-]+/g, `$1${HIDDEN}`],
  [/\b(bearer|basic) +[\w.~+/=-]{8,}/gi, `$1 ${HIDDEN}`],
  [/\b(aana_|hf_|sk-|ghp_|whsec_)[\w-]{8,}/g, HIDDEN],
];

/**
 * Returns a function that removes secrets from all texts of a value: the secrets of the configuration and of the
 * environment wherever they occur, `others`, and what has the form of a secret.
 */
export function redactorOf(
  config: Config | undefined,
  env: NodeJS.ProcessEnv,
  others: Iterable<string> = [],
): <T>(value: T) => T {
  const secrets = new Set<string>(others);
  const keep = (text: string): unknown => secrets.add(text);
  const keepPossible = (text: unknown): unknown =>
    typeof text === 'string' && text.length >= LEAST_CHARS_OF_POSSIBLE && keep(text);
  if (config) {
    collect(config, '', keep);
    // The configuration does not know which settings of plugins are secret.
    for (const { by, value } of givenIn(config.plugin_settings))
      if (by !== 'file') keepPossible(by === 'configuration' ? value : env[String(value)]);
  }
  for (const [name, text = ''] of Object.entries(env)) {
    if (SECRET_VARIABLE.test(name)) keepPossible(text);
    for (const password of passwordsIn(text)) keep(password);
    if (text.startsWith('{')) collect(parsed(text), '', keep); // such as DB_CONFIG
  }
  const hide = textMask(secrets);
  const redact = (text: string): string =>
    FORMS.reduce((clean, [pattern, replacement]) => clean.replaceAll(pattern, replacement), hide(text));
  return (value) => mapTexts(value, redact) as typeof value;
}

/** Calls `keep` with each secret text of a configuration. */
function collect(value: unknown, name: string, keep: (text: string) => unknown): void {
  if (typeof value === 'string') {
    if (isSecretName(name)) {
      keep(value);
      keep(value.slice(value.indexOf('=') + 1)); // a header as name=value
    }
    for (const password of passwordsIn(value)) keep(password);
  } else if (Array.isArray(value)) for (const item of value) collect(item, name, keep);
  else if (isTree(value)) for (const [key, inner] of Object.entries(value)) collect(inner, key, keep);
}

/** Returns the passwords of the URLs in a text. */
function passwordsIn(text: string): string[] {
  return [...text.matchAll(/\/\/[^/@\s:]*:([^/@\s]+)@/g)].map(([, password = '']) => password);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
