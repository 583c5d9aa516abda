/** Returns the element of the page with this id. */
export function byId<E extends HTMLElement>(id: string): E {
  const found = document.querySelector<E>(`#${id}`);
  if (!found) throw new Error(`the page has no element ${id}`);
  return found;
}

/** Returns a new element. Texts among the children are never read as HTML. */
export function element<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  className = '',
  ...children: readonly (Node | string)[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  if (className !== '') made.className = className;
  made.append(...children);
  return made;
}
