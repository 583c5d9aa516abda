import type { ChatMessage, ChatRequest } from './api.ts';
import { byId } from './elements.ts';

const KEY = 'aana-api-key';
const SAMPLING = ['temperature', 'top_p', 'max_tokens'] as const;

const dialog = byId<HTMLDialogElement>('settings');
const system = byId<HTMLTextAreaElement>('system');
const keyField = byId<HTMLInputElement>('key');
keyField.value = sessionStorage.getItem(KEY) ?? '';

/** Returns the API key; empty if there is none. */
export const apiKey = (): string => keyField.value.trim();

/** Returns the messages that every request begins with. */
export function systemMessages(): ChatMessage[] {
  const content = system.value.trim();
  return content === '' ? [] : [{ role: 'system', content }];
}

/** Returns the sampling parameters that the person has set. */
export function sampling(): Pick<ChatRequest, (typeof SAMPLING)[number]> {
  const given = SAMPLING.map((name) => [name, byId<HTMLInputElement>(name).valueAsNumber] as const);
  return Object.fromEntries(given.filter(([, value]) => Number.isFinite(value)));
}

/** Lets the buttons of the page open and close the settings. `onClose` is called after each change. */
export function wireSettings(onClose: () => void): void {
  byId('open-settings').addEventListener('click', () => dialog.showModal());
  byId('close-settings').addEventListener('click', () => dialog.close());
  dialog.addEventListener('close', () => {
    sessionStorage.setItem(KEY, apiKey());
    onClose();
  });
}
