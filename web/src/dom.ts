// Elements without markup: the contents of a results file stay text.

type Attributes = Record<string, string>;

/** An element with its attributes and contents. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...inside: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...inside);
  return made;
}

/** A button with an action. */
export function button(label: string, about: string, act: () => void): HTMLButtonElement {
  const made = element('button', { type: 'button', title: about, 'aria-label': about }, label);
  made.addEventListener('click', act);
  return made;
}

/** Puts text on the clipboard; a page opened from disk may have to use the older way. */
export async function copy(text: string): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = element('textarea', { class: 'unseen', 'aria-hidden': 'true' });
    area.value = text;
    document.body.append(area);
    area.select();
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- the only way where the page has no secure context
    document.execCommand('copy');
    area.remove();
  }
}

/** A button that copies the result of `text`, and confirms it. */
export function copier(label: string, about: string, text: () => string): HTMLButtonElement {
  const made = button(label, about, () => {
    void copy(text()).then(() => {
      made.textContent = 'copied';
      window.setTimeout(() => {
        made.textContent = label;
      }, 1200);
    });
  });
  return made;
}

/** Downloads a file. */
export function save(name: string, content: Blob): void {
  const url = URL.createObjectURL(content);
  const link = element('a', { href: url, download: name });
  link.click();
  window.setTimeout(() => {
    URL.revokeObjectURL(url);
  }, 10_000);
}

/** Rows as CSV (RFC 4180), such that a spreadsheet takes no text for a formula. */
export function csv(rows: (string | number)[][]): string {
  const cell = (value: string | number): string => {
    if (typeof value === 'number') return String(value);
    const text = /^[=+\-@\t]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
  };
  return rows.map((row) => row.map(cell).join(',')).join('\r\n') + '\r\n';
}
