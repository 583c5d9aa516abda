import { AnswerView } from './answer-view.ts';
import {
  CHAT_PATH,
  type ChatMessage,
  type ChatRequest,
  listModels,
  streamChat,
  streamTranscription,
  TRANSCRIPTIONS_PATH,
} from './api.ts';
import { citing, claimsList, claimsText } from './cited-answer.ts';
import { curlOf, curlOfForm } from './curl.ts';
import { offerFiles, wireFiles } from './dropped-files.ts';
import { byId, element } from './elements.ts';
import { addRecording, forgetRecordings, quotedRecordings, Recording } from './recordings.ts';
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
/** The model that transcribes files; undefined if the server has none. */
let transcriber: string | undefined;

function showError(text: string): void {
  error.textContent = text;
  error.hidden = text === '';
}

function scrollToEnd(): void {
  log.parentElement?.scrollTo({ top: log.parentElement.scrollHeight });
}

async function loadModels(): Promise<void> {
  try {
    const { chat, transcriptions } = await listModels(apiKey());
    const chosen = model.value;
    model.replaceChildren(...chat.map((name) => new Option(name, name, false, name === chosen)));
    [transcriber] = transcriptions;
    offerFiles(transcriber !== undefined);
    byId('hint-files').hidden = transcriber === undefined;
    showError(chat.length === 0 && !transcriber ? 'This server has no model that can chat or transcribe.' : '');
  } catch (failure) {
    showError(messageOf(failure));
  }
}

async function ask(content: string): Promise<void> {
  const asked: readonly ChatMessage[] = [...messages, { role: 'user', content }];
  const quoted = quotedRecordings();
  const plain: ChatRequest = {
    model: model.value,
    messages: [...systemMessages(), ...asked],
    ...sampling(),
    stream: true,
    stream_options: { include_usage: true },
  };
  const request = quoted.length > 0 ? citing(plain, quoted) : plain;
  showCommand(curlOf(urlOf(CHAT_PATH), request, apiKey() !== ''));
  const text = await answer(content, async (view, signal) => {
    if (quoted.length > 0) view.readBy(claimsText);
    for await (const chunk of streamChat(request, apiKey(), signal)) {
      view.add(chunk);
      scrollToEnd();
    }
    if (quoted.length > 0) view.show(claimsList(view.written, view.quotations, quoted));
  });
  if (text !== '') messages = [...asked, { role: 'assistant', content: text }];
}

/**
 * Shows the words of a file, and plays it. The words become part of the dialog, so that questions about them can
 * follow, and answers can quote them.
 */
async function transcribe(file: File): Promise<void> {
  if (answering || transcriber === undefined) return;
  const used = transcriber;
  const content = `Transcribe ${file.name}.`;
  const fields = { model: used, stream: 'true' };
  showCommand(curlOfForm(urlOf(TRANSCRIPTIONS_PATH), file.name, fields, apiKey() !== ''));
  const recording = new Recording(file);
  const text = await answer(content, async (view, signal) => {
    for await (const passage of streamTranscription(file, used, apiKey(), signal)) {
      recording.passages.push(passage);
      view.append(passage.text);
      scrollToEnd();
    }
    if (view.text === '') view.addFact('The file has no speech.');
    else view.root.append(recording.player);
  });
  if (text === '') return recording.close();
  messages = [...messages, { role: 'user', content }, { role: 'assistant', content: text }];
  addRecording(recording);
}

/**
 * Shows a question, and its answer while `work` computes it. Returns the text; empty if it is not in the log any more.
 */
async function answer(
  question: string,
  work: (view: AnswerView, signal: AbortSignal) => Promise<void>,
): Promise<string> {
  const view = new AnswerView();
  log.append(element('article', 'turn user', question), view.root);
  const current = new AbortController();
  begin(current);
  try {
    await work(view, current.signal);
  } catch (failure) {
    view.addFact(current.signal.aborted ? 'Stopped.' : 'The answer failed.');
    if (!current.signal.aborted) showError(messageOf(failure));
  } finally {
    end(current);
  }
  return log.contains(view.root) ? view.text : '';
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

function showCommand(command: string): void {
  byId('request').hidden = false;
  byId('curl').textContent = command;
}

const urlOf = (path: string): string => new URL(path, document.baseURI).href;
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
  forgetRecordings();
  log.replaceChildren();
  hint.hidden = false;
  showError('');
  prompt.focus();
});
wireFiles((file) => void transcribe(file));
wireSettings(() => void loadModels());
void loadModels();
prompt.focus();
