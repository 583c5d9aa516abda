import type { Passage } from './api.ts';
import { byId, element } from './elements.ts';

/** A file of the person that the page plays, with what is said in it. */
export class Recording {
  readonly player: HTMLMediaElement;
  readonly passages: Passage[] = [];
  readonly #url: string;

  constructor(file: File) {
    this.#url = URL.createObjectURL(file);
    this.player = element(file.type.startsWith('video/') ? 'video' : 'audio', 'player');
    this.player.controls = true;
    this.player.preload = 'metadata';
    this.player.src = this.#url;
    this.player.setAttribute('aria-label', file.name);
  }

  /** Returns a link that plays from `start` to `end`, in seconds. */
  momentLink({ start, end }: Passage): HTMLAnchorElement {
    const link = element('a', 'moment', `${clock(start)}–${clock(end)}`);
    link.href = `${this.#url}#t=${start},${end}`;
    link.setAttribute('aria-label', `Play from ${clock(start)} to ${clock(end)}`);
    link.addEventListener('click', (event) => {
      event.preventDefault();
      this.player.src = link.href;
      this.player.scrollIntoView({ block: 'nearest' });
      void this.player.play().catch(() => {}); // the player says what it cannot play
    });
    return link;
  }

  close(): void {
    URL.revokeObjectURL(this.#url);
  }
}

const toggle = byId<HTMLInputElement>('cite');
let recordings: readonly Recording[] = [];

/** Adds a recording whose words are known. From then on, answers can quote it. */
export function addRecording(recording: Recording): void {
  recordings = [...recordings, recording];
  byId('cite-box').hidden = false;
}

/** Returns the recordings that the next answer quotes; none if the person does not ask for quotations. */
export function quotedRecordings(): readonly Recording[] {
  return toggle.checked ? recordings : [];
}

export function forgetRecordings(): void {
  for (const recording of recordings) recording.close();
  recordings = [];
  byId('cite-box').hidden = true;
}

const clock = (seconds: number): string => {
  const whole = Math.floor(seconds);
  const two = (n: number): string => String(n).padStart(2, '0');
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor(whole / 60) % 60;
  return `${hours > 0 ? `${hours}:${two(minutes)}` : minutes}:${two(whole % 60)}`;
};
