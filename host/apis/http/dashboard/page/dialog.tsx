import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';

/**
 * A dialog over the page. The keyboard stays in it, Escape closes it, and the focus returns to the button that opened
 * it.
 */
export function Dialog({
  title,
  step = '',
  close,
  children,
}: {
  readonly title: string;
  /** Names what the dialog shows, if that changes. The keyboard goes on from the title then. */
  readonly step?: string;
  /** Called when the person closed it. */
  readonly close: () => void;
  readonly children: ComponentChildren;
}): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const isFirst = useRef(true);
  const id = useId();
  useEffect(() => {
    const opener = document.activeElement;
    dialog.current?.showModal();
    return () => {
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus();
    };
  }, []);
  useEffect(() => {
    if (!isFirst.current) heading.current?.focus(); // what had the focus may be gone
    isFirst.current = false;
  }, [step]);
  return (
    <dialog ref={dialog} aria-labelledby={id} onClose={close}>
      <div class="head">
        <h2 id={id} ref={heading} tabIndex={-1}>
          {title}
        </h2>
        <button type="button" class="close" aria-label="Close" onClick={() => dialog.current?.close()}>
          ✕
        </button>
      </div>
      {children}
    </dialog>
  );
}
