// Tables that a reader sorts by a column, and copies into a spreadsheet.

import { button, copier, csv, element, save } from './dom';

/** The number at the start of a cell; null for text. */
function value(text: string): number | null {
  const plain = text.replace(/[\u00a0\u202f\s]/g, '').replace('−', '-');
  const found = /^[<>≤≥~]?([+-]?\d+(?:\.\d+)?)/.exec(plain);
  return found ? Number(found[1]) : null;
}

function words(cell: Element): string {
  const copy = cell.cloneNode(true) as Element;
  // Numbers of notes, and units below a head, are not part of a figure.
  copy.querySelectorAll('sup').forEach((of) => {
    of.remove();
  });
  copy.querySelectorAll('small').forEach((of) => {
    of.prepend(' ');
  });
  return copy.textContent.replace(/\s+/g, ' ').trim();
}

function order(a: string, b: string): number {
  const [x, y] = [value(a), value(b)];
  if (x !== null && y !== null) return x - y;
  // Absent values sort last.
  if (x !== null) return -1;
  if (y !== null) return 1;
  return a.localeCompare(b, 'en', { numeric: true });
}

function sort(table: HTMLTableElement, head: HTMLTableCellElement): void {
  const body = table.tBodies[0];
  if (!body) return;
  const down = head.getAttribute('aria-sort') === 'ascending';
  table.querySelectorAll('th[aria-sort]').forEach((other) => {
    other.removeAttribute('aria-sort');
  });
  head.setAttribute('aria-sort', down ? 'descending' : 'ascending');
  const at = head.cellIndex;
  const rows = [...body.rows].map((row) => ({ row, text: row.cells[at] ? words(row.cells[at]) : '' }));
  rows.sort((a, b) => {
    const by = order(a.text, b.text);
    const absent = (value(a.text) === null) !== (value(b.text) === null);
    return down && !absent ? -by : by;
  });
  body.append(...rows.map(({ row }) => row));
}

/** The table as rows of text; cells over several rows or columns repeat in each. */
function rows(table: HTMLTableElement): string[][] {
  const out: string[][] = [...table.rows].map(() => []);
  [...table.rows].forEach((row, r) => {
    let c = 0;
    for (const cell of row.cells) {
      while (out[r]?.[c] !== undefined) c += 1;
      const text = words(cell);
      for (let down = 0; down < cell.rowSpan; down += 1) {
        for (let across = 0; across < cell.colSpan; across += 1) {
          const line = out[r + down];
          if (line) line[c + across] = text;
        }
      }
      c += cell.colSpan;
    }
  });
  return out;
}

/** Gives a table its buttons. */
export function equip(table: HTMLTableElement, name: string): void {
  const spans = table.querySelector('tbody [rowspan]') !== null || table.tBodies.length > 1;
  const heads = table.tHead?.rows[table.tHead.rows.length - 1];
  if (!spans && heads && (table.tBodies[0]?.rows.length ?? 0) > 1) {
    for (const head of heads.cells) {
      const title = head.firstChild;
      if (!(title instanceof Text) || title.data.trim() === '') continue;
      const by = button(title.data, `Sort by ${title.data}`, () => {
        sort(table, head);
      });
      by.className = 'sort';
      title.replaceWith(by);
    }
  }
  const text = (): string => rows(table).map((row) => row.join('\t')).join('\n');
  const tools = element(
    'div',
    { class: 'tools table' },
    copier('copy', 'Copy the table for a spreadsheet', text),
    button('CSV', 'Save the table as CSV', () => {
      save(`${name}.csv`, new Blob([csv(rows(table))], { type: 'text/csv' }));
    }),
  );
  table.parentElement?.after(tools);
}
