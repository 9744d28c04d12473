// The program of a page: it draws the pictures from their data, and makes them interactive. A page's texts are in its HTML, so
// that they are there before this runs, and without it.

import { read } from './data';
import { button, copier } from './dom';
import { Figure } from './figure';
import { equip } from './tables';

/** Widths of a picture on paper (A4), in pixels. */
const PAPER_WIDE = 880;
const PAPER_HALF = 430;

function figures(): void {
  const page = read();
  if (!page) return;
  const all = new Map<Element, Figure>();
  page.pictures.forEach((picture, at) => {
    const home = document.getElementById(`figure-${at + 1}`);
    if (home) all.set(home, new Figure(home, picture, page));
  });
  const seen = new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) {
        const figure = all.get(target);
        if (isIntersecting && figure && !figure.isDrawn) figure.draw();
      }
    },
    { rootMargin: '600px' },
  );
  const room = new ResizeObserver((entries) => {
    for (const { target } of entries) {
      const figure = all.get(target);
      if (figure?.isDrawn) figure.fit();
    }
  });
  for (const home of all.keys()) {
    seen.observe(home);
    room.observe(home);
  }
  // Printing needs every picture, whether it was scrolled to or not.
  window.addEventListener('beforeprint', () => {
    for (const [home, figure] of all) {
      if (home.closest('details:not([open])')) continue;
      figure.draw(home.closest('.panels') ? PAPER_HALF : PAPER_WIDE);
      figure.stretch(true);
    }
  });
  window.addEventListener('afterprint', () => {
    for (const figure of all.values()) {
      figure.stretch(false);
      if (figure.isDrawn) figure.draw();
    }
  });
}

function theme(): void {
  const root = document.documentElement;
  const dark = window.matchMedia('(prefers-color-scheme: dark)');
  const now = (): string => root.dataset['theme'] ?? (dark.matches ? 'dark' : 'light');
  const made = button('', '', () => {
    root.dataset['theme'] = now() === 'dark' ? 'light' : 'dark';
    tell();
  });
  const tell = (): void => {
    const other = now() === 'dark' ? 'light' : 'dark';
    made.textContent = other === 'dark' ? '☾ dark' : '☀ light';
    made.setAttribute('aria-label', `Show the page in ${other} colours`);
    made.title = `Show the page in ${other} colours`;
  };
  made.className = 'theme';
  tell();
  dark.addEventListener('change', tell);
  document.querySelector('header')?.prepend(made);
}

function tables(): void {
  let at = 0;
  for (const table of document.querySelectorAll<HTMLTableElement>('.scroll > table')) {
    at += 1;
    equip(table, `table-${at}`);
  }
}

function commands(): void {
  for (const code of document.querySelectorAll('code.command')) {
    code.after(' ', copier('copy', 'Copy the command', () => code.textContent));
  }
}

/** Opens the target of a link, and shows the notes of a cell at its place. */
function links(): void {
  const open = (): void => {
    const id = decodeURIComponent(window.location.hash.slice(1));
    const target = id === '' ? null : document.getElementById(id);
    for (let at = target?.closest('details'); at; at = at.parentElement?.closest('details')) at.open = true;
    target?.scrollIntoView();
  };
  window.addEventListener('hashchange', open);
  if (window.location.hash !== '') open();
  for (const link of document.querySelectorAll<HTMLAnchorElement>('sup > a')) {
    const note = document.getElementById(decodeURIComponent(link.hash.slice(1)));
    if (note) link.title = note.textContent;
    link.addEventListener('click', () => {
      window.setTimeout(open);
    });
  }
}

theme();
tables();
commands();
links();
figures();
document.documentElement.classList.add('ready');
