import { AnswerView } from './answer-view.ts';
import { CHAT_PATH, type ChatMessage, type ChatRequest, listChatModels, streamChat } from './api.ts';
import { curlOf } from './curl.ts';
import { byId, element } from './elements.ts';
import { apiKey, sampling, systemMessages, wireSettings } from './settings.ts';

const model = byId<HTMLSelectElement>('model');
const log = byId('log');
const hint = byId('hint');
const error = byId('error');
const prompt = byId<HTMLTextAreaElement>('prompt');
const send = byId<HTMLButtonElement>('send');
const stop = byId<HTMLButtonElement>('stop');

/** The dialog so far, without the system prompt. */
let messages: readonly ChatMessage[] = [];
/** Ends the answer that is streamed. */
let answering: AbortController | undefined;

function showError(text: string): void {
  error.textContent = text;
  error.hidden = text === '';
}

function scrollToEnd(): void {
  log.parentElement?.scrollTo({ top: log.parentElement.scrollHeight });
}

async function loadModels(): Promise<void> {
  try {
    const names = await listChatModels(apiKey());
    const chosen = model.value;
    model.replaceChildren(...names.map((name) => new Option(name, name, false, name === chosen)));
    showError(names.length === 0 ? 'This server has no model that can chat.' : '');
  } catch (failure) {
    showError(messageOf(failure));
  }
}

async function ask(content: string): Promise<void> {
  const asked: readonly ChatMessage[] = [...messages, { role: 'user', content }];
  const request: ChatRequest = {
    model: model.value,
    messages: [...systemMessages(), ...asked],
    ...sampling(),
    stream: true,
    stream_options: { include_usage: true },
  };
  showRequest(request);
  const view = new AnswerView();
  log.append(element('article', 'turn user', content), view.root);
  const current = new AbortController();
  begin(current);
  try {
    for await (const chunk of streamChat(request, apiKey(), current.signal)) {
      view.add(chunk);
      scrollToEnd();
    }
  } catch (failure) {
    if (current.signal.aborted) view.addFact('Stopped.');
    else showError(messageOf(failure));
  } finally {
    end(current);
  }
  if (log.contains(view.root))
    messages = view.text === '' ? messages : [...asked, { role: 'assistant', content: view.text }];
}

function begin(current: AbortController): void {
  answering = current;
  showError('');
  hint.hidden = true;
  send.hidden = true;
  stop.hidden = false;
  scrollToEnd();
}

function end(current: AbortController): void {
  if (answering !== current) return;
  answering = undefined;
  send.hidden = false;
  stop.hidden = true;
  prompt.focus();
}

function showRequest(request: ChatRequest): void {
  byId('request').hidden = false;
  byId('curl').textContent = curlOf(new URL(CHAT_PATH, document.baseURI).href, request, apiKey() !== '');
}

const messageOf = (failure: unknown): string => (failure instanceof Error ? failure.message : String(failure));

function submit(): void {
  const content = prompt.value.trim();
  if (content === '' || answering) return;
  prompt.value = '';
  void ask(content);
}

byId('composer').addEventListener('submit', (event) => {
  event.preventDefault();
  submit();
});
prompt.addEventListener('keydown', (event) => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  submit();
});
document.addEventListener('keydown', (event) => {
  if (event.key === 'Escape') answering?.abort();
});
stop.addEventListener('click', () => answering?.abort());
byId('clear').addEventListener('click', () => {
  answering?.abort();
  messages = [];
  log.replaceChildren();
  hint.hidden = false;
  showError('');
  prompt.focus();
});
wireSettings(() => void loadModels());
void loadModels();
prompt.focus();
