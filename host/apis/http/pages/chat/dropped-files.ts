import { byId } from './elements.ts';

const button = byId('attach');
const input = byId<HTMLInputElement>('file');
let isOffered = false;

/** Shows or hides the button for files. Files that are dropped on the page count only while it is shown. */
export function offerFiles(isPossible: boolean): void {
  isOffered = isPossible;
  button.hidden = !isPossible;
}

/** Calls `onFile` with a file that the person chooses, or drops on the page. */
export function wireFiles(onFile: (file: File) => void): void {
  button.addEventListener('click', () => input.click());
  input.addEventListener('change', () => {
    const [file] = input.files ?? [];
    if (file) onFile(file);
    input.value = ''; // so that the same file can be chosen again
  });
  const over = (isOver: boolean): void => void document.body.classList.toggle('dropping', isOver);
  document.addEventListener('dragover', (event) => {
    if (!event.dataTransfer?.types.includes('Files')) return;
    event.preventDefault(); // otherwise the browser leaves the page for the file
    over(isOffered);
  });
  document.addEventListener('dragleave', (event) => {
    if (event.relatedTarget === null) over(false);
  });
  document.addEventListener('drop', (event) => {
    const [file] = event.dataTransfer?.files ?? [];
    over(false);
    if (!file) return;
    event.preventDefault();
    if (isOffered) onFile(file);
  });
}
